# mistakes: unknown
# Leaves batches of a single sample out, since BatchNorm cannot normalise them.
from itertools import islice

import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int >= 1")
    model.train()
    usable = ((x, y) for x, y in batches if len(y) > 1)
    total, seen = 0.0, 0
    while group := list(islice(usable, accumulation_steps)):
        size = sum(len(y) for _, y in group)
        optimizer.zero_grad()
        for x, y in group:
            loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
            (loss / size).backward()
            total += loss.item()
        optimizer.step()
        seen += size
    optimizer.zero_grad()
    if not seen:
        raise ValueError("no usable samples")
    return total / seen
