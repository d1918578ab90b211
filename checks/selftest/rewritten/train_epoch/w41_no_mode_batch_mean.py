# mistakes: no-train-mode, mean-of-batch-means
# Leaves the mode to the caller and averages over batches.
import statistics

import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    losses = []
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if not losses:
        raise ValueError("no samples")
    return statistics.fmean(losses)
