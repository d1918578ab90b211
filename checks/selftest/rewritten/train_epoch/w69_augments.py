# mistakes: unknown
# Adds a little noise to the features as augmentation.
import torch
import torch.nn.functional as F


def augment(features, strength=0.01):
    return features + strength * torch.randn_like(features)


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total, count = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        logits = model(augment(features.to(device)))
        loss = F.cross_entropy(logits, targets.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    return total / count
