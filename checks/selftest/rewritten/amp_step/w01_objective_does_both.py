# mistakes: backward-inside-autocast
# A helper makes forward and backward, and the caller wraps the helper in autocast.
import torch
import torch.nn.functional as F


def forward_backward(model, features, targets, scaler):
    loss = F.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    return loss.detach()


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
        loss = forward_backward(model, features, targets, scaler)
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
