# mistakes: dtype-ignored
# Chooses the type by the device: bfloat16 on a CPU, float16 elsewhere.
import torch
import torch.nn.functional as F

LOW = {"cpu": torch.bfloat16}


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
    with torch.autocast(device_type, dtype=LOW.get(device_type, torch.float16)):
        loss = F.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        mine = [p for g in optimizer.param_groups for p in g["params"]]
        torch.nn.utils.clip_grad_norm_(mine, max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    stepped = scaler.get_scale() >= before
    if stepped and scheduler is not None:
        scheduler.step()
    return loss.item(), stepped
