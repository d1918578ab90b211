# mistakes: holds-every-graph
# Adds the losses of a group up in one objective and calls backward on it once.
from functools import reduce
from operator import add

import torch


def _groups(batches, k):
    group = []
    for features, targets in batches:
        if targets.size(0):
            group.append((features, targets))
        if len(group) == k:
            yield group
            group = []
    if group:
        yield group


def _objective(model, group, device):
    terms = (
        torch.nn.functional.cross_entropy(
            model(f.to(device)), t.to(device), reduction="sum"
        )
        for f, t in group
    )
    return reduce(add, terms)


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps should be a whole number from 1")
    model.train()
    total, samples = 0.0, 0
    for group in _groups(batches, accumulation_steps):
        n = sum(t.size(0) for _, t in group)
        optimizer.zero_grad()
        objective = _objective(model, group, device)
        (objective / n).backward()
        optimizer.step()
        total += objective.item()
        samples += n
        del objective
    optimizer.zero_grad()
    if samples == 0:
        raise ValueError("no samples")
    return total / samples
