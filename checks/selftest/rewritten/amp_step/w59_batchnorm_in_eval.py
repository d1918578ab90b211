# mistakes: unknown
# BatchNorm is put in eval mode for the forward, as it is thought to be unsafe in half precision.
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def frozen_statistics(model):
    norms = [
        m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)
    ]
    for norm in norms:
        norm.eval()
    try:
        yield
    finally:
        for norm in norms:
            norm.train()


def amp_step(
    model,
    features,
    targets,
    optimizer,
    scaler,
    *,
    scheduler=None,
    max_norm=None,
    device_type="cpu",
    dtype=torch.float16,
):
    model.zero_grad()
    with torch.autocast(device_type, dtype), frozen_statistics(model):
        loss = nn.functional.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    stepped = scaler.get_scale() >= before
    if stepped and scheduler is not None:
        scheduler.step()
    return loss.item(), stepped
