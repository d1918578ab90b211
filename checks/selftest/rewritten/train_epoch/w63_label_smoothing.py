# mistakes: unknown
# Smooths the labels.
from torch import nn


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    total, count = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        loss = criterion(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    return total / count
