# mistakes: none
# Hands the optimizer a closure that clears, forwards the whole group batch by batch, and returns its loss.
import torch
from torch import nn


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if isinstance(accumulation_steps, int) is False or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int of 1 or more")

    criterion = nn.CrossEntropyLoss(reduction="sum")
    total, num_samples = 0.0, 0
    group = []

    def closure():
        optimizer.zero_grad()
        size = sum(t.shape[0] for _, t in group)
        group_loss = torch.zeros((), dtype=torch.float64)
        for features, targets in group:
            loss = criterion(model(features.to(device)), targets.to(device))
            loss.div(size).backward()
            group_loss += loss.detach().cpu()
        return group_loss

    def step():
        nonlocal total, num_samples
        total += optimizer.step(closure).item()
        num_samples += sum(t.shape[0] for _, t in group)
        group.clear()

    model.train()
    for features, targets in batches:
        if targets.shape[0] == 0:
            continue
        group.append((features, targets))
        if len(group) == accumulation_steps:
            step()
    if group:
        step()
    if num_samples == 0:
        raise ValueError("there is no sample in batches")
    return total / num_samples
