# mistakes: restores-train-mode
# A context manager notes the mode of every module and puts it back.
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def eval_mode(model):
    flags = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, flag in flags.items():
            module.training = flag


def evaluate(model, batches, device="cpu"):
    criterion = nn.CrossEntropyLoss(reduction="sum")
    loss_sum, hits, samples = 0.0, 0, 0
    with eval_mode(model):
        for features, targets in batches:
            if not len(targets):
                continue
            features, targets = features.to(device), targets.to(device)
            logits = model(features)
            loss_sum += criterion(logits, targets).item()
            hits += logits.argmax(dim=1).eq(targets).sum().item()
            samples += len(targets)
    if not samples:
        raise ValueError("no samples to evaluate")
    return loss_sum / samples, hits / samples
