# mistakes: unknown
# Keeps BatchNorm in eval mode while it trains.
import torch.nn.functional as F
from torch import nn


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.eval()
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
    model.train()
    return total / count
