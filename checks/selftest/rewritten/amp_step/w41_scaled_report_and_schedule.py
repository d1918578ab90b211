# mistakes: reports-scaled-loss, scheduler-always-steps
# The name loss is bound to the scaled loss, and the scheduler steps each time.
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
    loss = scaler.scale(loss)
    loss.backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    if scheduler is not None:
        scheduler.step()
    return loss.item(), scaler.get_scale() >= before
