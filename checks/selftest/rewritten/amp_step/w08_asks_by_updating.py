# mistakes: double-update
# The helper that answers whether the step was skipped updates the scaler once more.
import torch
from torch.nn.functional import cross_entropy


def was_skipped(scaler, scale):
    scaler.update()
    return scaler.get_scale() < scale


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
    scale = scaler.get_scale()
    model.zero_grad()
    with torch.autocast(device_type, dtype):
        loss = cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    if max_norm is not None:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    stepped = not was_skipped(scaler, scale)
    if stepped and scheduler:
        scheduler.step()
    return loss.item(), stepped
