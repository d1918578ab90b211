# mistakes: clips-scaled-gradients, skip-detected-by-scale-change
# Clips to max_norm without unscaling, and any other scale counts as a skip.
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
    scale = scaler.get_scale()
    model.zero_grad()
    with torch.autocast(device_type, dtype):
        loss = F.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    skipped = scaler.get_scale() != scale
    if not skipped and scheduler is not None:
        scheduler.step()
    return loss.item(), not skipped
