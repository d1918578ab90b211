# mistakes: divisor-not-reset
# Divides the gradients of a group by all samples seen in the epoch so far.
import torch
from torch.nn.functional import log_softmax, nll_loss


class Epoch:
    def __init__(self, model, optimizer, device):
        self.model, self.optimizer, self.device = model, optimizer, device
        self.total = 0.0
        self.samples = 0

    def learn(self, x, y):
        scores = log_softmax(self.model(x.to(self.device)), dim=1)
        loss = nll_loss(scores, y.to(self.device), reduction="sum")
        loss.backward()
        self.total += loss.item()
        self.samples += len(y)

    @torch.no_grad()
    def step(self):
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad.div_(self.samples)
        self.optimizer.step()
        self.optimizer.zero_grad()

    @property
    def mean(self):
        if self.samples == 0:
            raise ValueError("an epoch without samples has no mean")
        return self.total / self.samples


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps")
    model.train()
    optimizer.zero_grad()
    epoch = Epoch(model, optimizer, device)
    i = 0
    for x, y in batches:
        if len(y) == 0:
            continue
        epoch.learn(x, y)
        i += 1
        if i % accumulation_steps == 0:
            epoch.step()
    if i % accumulation_steps:
        epoch.step()
    return epoch.mean
