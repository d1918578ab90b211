# mistakes: casts-features
# Moves and casts in the same .to call.
import torch
from torch import nn


def train_epoch(model, batches, optimizer, device="cpu"):
    criterion = nn.CrossEntropyLoss()
    model.train()
    total, count = 0.0, 0
    for inputs, labels in batches:
        if labels.shape[0] == 0:
            continue
        inputs = inputs.to(device, dtype=torch.float32)
        labels = labels.to(device, dtype=torch.long)
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * labels.shape[0]
        count += labels.shape[0]
    if count == 0:
        raise ValueError("no samples")
    return total / count
