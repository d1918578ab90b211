# mistakes: none
# Decorators for the mode and the argument; a look-ahead of one batch tells which is the last.
import functools

import torch.nn.functional as F


def checks_steps(train):
    @functools.wraps(train)
    def wrapped(model, batches, optimizer, accumulation_steps, device="cpu"):
        if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
            raise ValueError("accumulation_steps must be an int >= 1")
        return train(model, batches, optimizer, accumulation_steps, device)

    return wrapped


def in_train_mode(train):
    @functools.wraps(train)
    def wrapped(model, *args, **kwargs):
        return train(model.train(), *args, **kwargs)

    return wrapped


def with_last(pairs):
    missing = object()
    current = next(pairs, missing)
    while current is not missing:
        following = next(pairs, missing)
        yield current, following is missing
        current = following


@checks_steps
@in_train_mode
def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    pairs = ((x, y) for x, y in batches if len(y))
    total = samples = in_group = 0
    for index, ((x, y), last) in enumerate(with_last(pairs), start=1):
        if in_group == 0:
            optimizer.zero_grad()
        loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
        loss.backward()
        total += loss.item()
        samples += len(y)
        in_group += len(y)
        if last or index % accumulation_steps == 0:
            for p in model.parameters():
                p.grad = p.grad / in_group if p.grad is not None else None
            optimizer.step()
            in_group = 0
    optimizer.zero_grad()
    if samples == 0:
        raise ValueError("no samples")
    return float(total / samples)
