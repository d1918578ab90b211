# mistakes: entry-grad-leaks
# Clears only after each step, in the class that steps.
import torch
import torch.nn.functional as F


class Accumulator:
    def __init__(self, optimizer, every):
        if not isinstance(every, int):
            raise ValueError("accumulation_steps must be an int")
        if every < 1:
            raise ValueError("accumulation_steps must be at least 1")
        self.optimizer, self.every = optimizer, every
        self.batches = self.samples = 0

    def add(self, loss_sum, samples):
        loss_sum.backward()
        self.batches += 1
        self.samples += samples
        if self.batches == self.every:
            self.flush()

    @torch.no_grad()
    def flush(self):
        if self.batches == 0:
            return
        for group in self.optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= self.samples
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.batches = self.samples = 0


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    accumulator = Accumulator(optimizer, accumulation_steps)
    model.train()
    total = 0.0
    samples = 0
    for x, y in batches:
        if len(y) == 0:
            continue
        loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
        accumulator.add(loss, len(y))
        total += float(loss)
        samples += len(y)
    accumulator.flush()
    if samples == 0:
        raise ValueError("cannot train on no samples")
    return total / samples
