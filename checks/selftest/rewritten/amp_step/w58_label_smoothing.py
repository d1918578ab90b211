# mistakes: unknown
# The criterion smooths the labels.
import torch
from torch import nn

criterion = nn.CrossEntropyLoss(label_smoothing=0.1)


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
        loss = criterion(model(features), targets)
    scaler.scale(loss).backward()
    if max_norm is not None:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    stepped = not scaler.get_scale() < before
    if stepped and scheduler is not None:
        scheduler.step()
    return loss.item(), stepped
