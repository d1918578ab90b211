# mistakes: toggles-requires-grad
# Freezes the parameters for the time of the loop and thaws all of them.
from contextlib import contextmanager

import torch
import torch.nn.functional as F


@contextmanager
def frozen(model):
    model.requires_grad_(False)
    try:
        yield model
    finally:
        model.requires_grad_(True)


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n = 0.0, 0, 0
    with frozen(model) as net:
        for x, y in batches:
            if len(y) == 0:
                continue
            logits = net(x.to(device))
            y = y.to(device)
            loss += F.cross_entropy(logits, y).item() * len(y)
            right += (logits.argmax(1) == y).sum().item()
            n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
