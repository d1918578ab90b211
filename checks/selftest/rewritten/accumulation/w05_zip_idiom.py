# mistakes: drops-last-group
# Groups with the zip(*[iterator] * k) idiom, which ends before an incomplete group.
import torch
from torch import nn


def grouped(iterable, k):
    iterator = iter(iterable)
    return zip(*[iterator] * k)


def train_epoch_accumulated(
    model: nn.Module,
    batches,
    optimizer: torch.optim.Optimizer,
    accumulation_steps: int,
    device="cpu",
) -> float:
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int >= 1")
    ce = nn.CrossEntropyLoss(reduction="sum")
    model.train()
    total, seen = 0.0, 0
    for group in grouped((b for b in batches if len(b[1]) > 0), accumulation_steps):
        group_size = sum(len(y) for _, y in group)
        optimizer.zero_grad()
        for x, y in group:
            loss = ce(model(x.to(device)), y.to(device))
            (loss / group_size).backward()
            total += loss.item()
        optimizer.step()
        seen += group_size
    optimizer.zero_grad()
    if seen == 0:
        raise ValueError("no samples to train on")
    return total / seen
