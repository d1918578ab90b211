# mistakes: clips-some-parameters
# Clips the parameters of the first group alone.
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
    optimizer.zero_grad()
    with torch.autocast(device_type, dtype):
        loss = F.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        params = optimizer.param_groups[0]["params"]
        torch.nn.utils.clip_grad_norm_(params, max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    stepped = scaler.get_scale() >= before
    if stepped and scheduler is not None:
        scheduler.step()
    return loss.item(), stepped
