# mistakes: batchnorm-statistics-held
# Lets BatchNorm update its running statistics in the first batch of a group only.
import contextlib

import torch.nn.functional as F
from torch.nn.modules.batchnorm import _BatchNorm


@contextlib.contextmanager
def running_statistics(model, enabled):
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    before = [m.track_running_stats for m in norms]
    for m, was in zip(norms, before):
        m.track_running_stats = was and enabled
    try:
        yield
    finally:
        for m, was in zip(norms, before):
            m.track_running_stats = was


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int >= 1")
    model.train()
    optimizer.zero_grad()
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    position = group_samples = samples = 0
    total = 0.0

    def update():
        for p in parameters:
            if p.grad is not None:
                p.grad.div_(group_samples)
        optimizer.step()
        optimizer.zero_grad()

    for features, targets in batches:
        if not len(targets):
            continue
        features, targets = features.to(device), targets.to(device)
        with running_statistics(model, enabled=position == 0):
            logits = model(features)
        loss = F.cross_entropy(logits, targets, reduction="sum")
        loss.backward()
        total += loss.item()
        samples += len(targets)
        group_samples += len(targets)
        position += 1
        if position == accumulation_steps:
            update()
            position = group_samples = 0
    if position:
        update()
    if not samples:
        raise ValueError("no samples")
    return total / samples
