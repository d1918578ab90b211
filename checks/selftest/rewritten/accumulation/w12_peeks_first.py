# mistakes: argument-check-too-late
# Looks at the first batch with samples before it validates the argument.
from itertools import chain, islice

import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    full = (pair for pair in batches if len(pair[1]))
    first = next(full, None)
    if first is None:
        raise ValueError("batches hold no samples")
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int and at least 1")
    full = chain([first], full)
    del first

    model.train()
    loss_sum = 0.0
    samples = 0
    while True:
        group = list(islice(full, accumulation_steps))
        if not group:
            break
        n = sum(len(y) for _, y in group)
        optimizer.zero_grad()
        for x, y in group:
            mean = F.cross_entropy(model(x.to(device)), y.to(device))
            (mean * (len(y) / n)).backward()
            loss_sum += mean.item() * len(y)
        optimizer.step()
        samples += n
    optimizer.zero_grad()
    return loss_sum / samples
