# mistakes: autocast-follows-scaler
# Autocast is enabled only when the scaler is, so the bfloat16 way runs in float32.
import torch
from torch import nn


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
    use_amp = scaler.is_enabled()
    model.zero_grad(set_to_none=True)

    with torch.autocast(device_type=device_type, dtype=dtype, enabled=use_amp):
        logits = model(features)
        loss = nn.functional.cross_entropy(logits, targets)

    scaler.scale(loss).backward()
    if max_norm is not None:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    previous_scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    skipped = scaler.get_scale() < previous_scale

    if scheduler is not None and not skipped:
        scheduler.step()
    return loss.item(), not skipped
