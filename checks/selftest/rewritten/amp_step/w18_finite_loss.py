# mistakes: stepped-by-finite-loss
# A finite loss stands for a step that was made.
import math

import torch
from torch.nn.functional import cross_entropy


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
    with torch.autocast(device_type, dtype):
        loss = cross_entropy(model(features), targets)
    value = loss.item()
    scaler.scale(loss).backward()
    if max_norm is not None:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    if not math.isfinite(value):
        return value, False
    if scheduler is not None:
        scheduler.step()
    return value, True
