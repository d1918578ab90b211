# mistakes: none
# Groups by groupby with a counting key; clears in place; divides at the step.
from itertools import count, groupby

import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError
    s, n, c = 0.0, 0, count()
    model.train()
    for _, g in groupby(
        (b for b in batches if len(b[1])), lambda _: next(c) // accumulation_steps
    ):
        optimizer.zero_grad()
        m = 0
        for x, y in g:
            l = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
            l.backward()
            s, m = s + l.item(), m + len(y)
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= m
        optimizer.step()
        n += m
    optimizer.zero_grad()
    if not n:
        raise ValueError("no samples")
    return s / n
