# mistakes: reports-scaled-loss
# The scaled loss is divided by the scale that holds after the update.
import torch
import torch.nn.functional as F


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
    with torch.autocast(device_type, dtype=dtype):
        scaled = scaler.scale(F.cross_entropy(model(features), targets))
    scaled.backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    old_scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    new_scale = scaler.get_scale()
    stepped = new_scale >= old_scale
    if stepped and scheduler is not None:
        scheduler.step()
    return scaled.item() / new_scale, stepped
