# mistakes: leaves-eval-mode
# Puts the mode of each module back as it was on entry.
from contextlib import contextmanager

import torch.nn.functional as F


@contextmanager
def training(model):
    modes = [(m, m.training) for m in model.modules()]
    model.train()
    try:
        yield model
    finally:
        for module, mode in modes:
            module.training = mode


def train_epoch(model, batches, optimizer, device="cpu"):
    total, count = 0.0, 0
    with training(model):
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
