# mistakes: none
# A generator trains as it is drained; math.fsum adds up at the end.
import math

import torch.nn.functional as F


def _steps(model, batches, optimizer, device):
    for features, targets in batches:
        size = len(targets)
        if size == 0:
            continue
        logits = model(features.to(device))
        optimizer.zero_grad()
        loss = F.cross_entropy(logits, targets.to(device))
        loss.backward()
        optimizer.step()
        yield loss.item(), size


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    done = list(_steps(model, batches, optimizer, device))
    if not done:
        raise ValueError("no samples")
    return math.fsum(loss * size for loss, size in done) / sum(s for _, s in done)
