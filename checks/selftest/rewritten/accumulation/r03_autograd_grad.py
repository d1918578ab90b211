# mistakes: none
# Takes gradients with torch.autograd.grad into its own buffers and assigns them for the step.
import torch
import torch.nn.functional as F


class GradientSum:
    def __init__(self, parameters):
        self.parameters = [p for p in parameters if p.requires_grad]
        self.reset()

    def reset(self):
        self.sums = [None] * len(self.parameters)
        self.samples = self.batches = 0

    def add(self, loss_sum, samples):
        gradients = torch.autograd.grad(loss_sum, self.parameters, allow_unused=True)
        self.sums = [
            old if new is None else new if old is None else old + new
            for old, new in zip(self.sums, gradients, strict=True)
        ]
        self.samples += samples
        self.batches += 1

    def assign(self):
        for p, g in zip(self.parameters, self.sums, strict=True):
            p.grad = None if g is None else g / self.samples


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be a positive int")
    model.train()
    buffer = GradientSum(model.parameters())
    loss_sum, samples = 0.0, 0

    def apply():
        buffer.assign()
        optimizer.step()
        buffer.reset()

    for x, y in batches:
        if not len(y):
            continue
        loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
        buffer.add(loss, len(y))
        loss_sum += loss.item()
        samples += len(y)
        if buffer.batches == accumulation_steps:
            apply()
    if buffer.batches:
        apply()
    if not samples:
        raise ValueError("no samples")
    return loss_sum / samples
