# mistakes: casts-model-to-half
# The model goes to the low type for the forward and back to float32 before the update.
from contextlib import contextmanager

import torch
import torch.nn.functional as F


@contextmanager
def low_precision(model, device_type, dtype):
    model.to(dtype)
    try:
        with torch.autocast(device_type, dtype):
            yield
    finally:
        model.float()


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
    with low_precision(model, device_type, dtype):
        logits = model(features)
    loss = F.cross_entropy(logits.float(), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    stepped = scaler.get_scale() >= before
    if stepped and scheduler is not None:
        scheduler.step()
    return loss.item(), stepped
