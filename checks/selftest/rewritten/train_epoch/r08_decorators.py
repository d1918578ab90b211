# mistakes: none
# Two decorators: one skips what is empty, one moves tensors.
import functools

import torch.nn.functional as F


def skip_empty(step):
    @functools.wraps(step)
    def wrapper(features, targets):
        return step(features, targets) if len(targets) else (0.0, 0)

    return wrapper


def on(device):
    def decorate(step):
        @functools.wraps(step)
        def wrapper(*tensors):
            return step(*(t.to(device) for t in tensors))

        return wrapper

    return decorate


def train_epoch(model, batches, optimizer, device="cpu"):
    @skip_empty
    @on(device)
    def step(features, targets):
        model.zero_grad()
        loss = F.cross_entropy(model(features), targets, reduction="none").mean()
        loss.backward()
        optimizer.step()
        return loss.item() * len(targets), len(targets)

    model.train()
    total, samples = 0.0, 0
    for batch in batches:
        part, size = step(*batch)
        total += part
        samples += size
    if samples == 0:
        raise ValueError("there was not a single sample")
    return total / samples
