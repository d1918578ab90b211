# mistakes: unknown
# Clips the gradient norm to 1 out of habit.
import torch
from torch import nn


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    criterion = nn.CrossEntropyLoss()
    total, count = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        loss = criterion(model(features.to(device)), targets.to(device))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    return total / count
