# mistakes: zero-limit-is-no-limit
# A limit of 0.0 is taken for no limit.
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
    with torch.autocast(device_type, dtype):
        loss = F.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    if max_norm:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    if (stepped := scaler.get_scale() >= before) and scheduler:
        scheduler.step()
    return loss.item(), stepped
