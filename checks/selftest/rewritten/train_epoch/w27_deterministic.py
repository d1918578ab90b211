# mistakes: reseeds
# Seeds everything so that the epoch is reproducible.
import random

import torch
import torch.nn.functional as F


def set_seed(seed=42):
    random.seed(seed)
    torch.manual_seed(seed)


def train_epoch(model, batches, optimizer, device="cpu"):
    set_seed()
    model.train()
    total, count = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    return total / count
