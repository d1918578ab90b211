# mistakes: none
# statistics.fmean with weights for the loss, an exact fraction for the accuracy.
from fractions import Fraction
from statistics import fmean

import torch
from torch import nn


def evaluate(model, batches, device="cpu"):
    criterion = nn.CrossEntropyLoss()
    losses, sizes, right = [], [], Fraction(0)
    with torch.no_grad():
        model.eval()
        for x, y in batches:
            if len(y) == 0:
                continue
            x, y = x.to(device), y.to(device)
            z = model(x)
            losses.append(criterion(z, y).item())
            sizes.append(len(y))
            right += Fraction(int((z.argmax(1) == y).sum()))
    if not sizes:
        raise ValueError("no samples")
    return fmean(losses, sizes), float(right / sum(sizes))
