# mistakes: second-pass-loss
# Remembers the batches and measures them all once training is over.
import torch
import torch.nn.functional as F


def measure(model, batches):
    model.eval()
    with torch.no_grad():
        sums = [
            F.cross_entropy(model(x), y, reduction="sum").item() for x, y in batches
        ]
    model.train()
    return sum(sums) / sum(len(y) for _, y in batches)


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    seen = []
    for features, targets in batches:
        if len(targets) == 0:
            continue
        features, targets = features.to(device), targets.to(device)
        optimizer.zero_grad()
        F.cross_entropy(model(features), targets).backward()
        optimizer.step()
        seen.append((features, targets))
    if not seen:
        raise ValueError("no samples")
    return measure(model, seen)
