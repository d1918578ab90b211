# mistakes: none
# One context manager sets modes of module and autograd, and cares for errors.
from contextlib import contextmanager

import torch
import torch.nn.functional as F


@contextmanager
def evaluating(model):
    before = torch.is_grad_enabled()
    for module in model.modules():
        module.training = False
    torch.set_grad_enabled(False)
    try:
        yield model
    finally:
        torch.set_grad_enabled(before)


def evaluate(model, batches, device="cpu"):
    with evaluating(model) as frozen:
        losses, rights, sizes = [], [], []
        for x, y in batches:
            if len(y) == 0:
                continue
            y = y.to(device)
            logits = frozen(x.to(device))
            losses.append(F.cross_entropy(logits, y, reduction="none").sum())
            rights.append(logits.max(1)[1].eq(y).sum())
            sizes.append(len(y))
        if not sizes:
            raise ValueError("no data")
        n = sum(sizes)
        return sum(losses).item() / n, sum(rights).item() / n
