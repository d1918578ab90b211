# mistakes: unknown
# The scale of the call before is kept in the module, whichever scaler it belonged to.
import torch
import torch.nn.functional as F

last_scale = 0.0


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
    global last_scale
    model.zero_grad()
    with torch.autocast(device_type, dtype):
        loss = F.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    scale = scaler.get_scale()
    stepped, last_scale = scale >= last_scale, scale
    if stepped and scheduler is not None:
        scheduler.step()
    return loss.item(), stepped
