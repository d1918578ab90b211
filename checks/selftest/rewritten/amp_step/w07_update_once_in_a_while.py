# mistakes: no-update
# The scaler is updated only when there is a limit to clip to.
import torch
import torch.nn.functional as F


def clipped_step(model, optimizer, scaler, max_norm):
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()


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
    taken = []
    watch = optimizer.register_step_post_hook(lambda *a: taken.append(a))
    model.zero_grad()
    with torch.autocast(device_type, dtype):
        loss = F.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    if max_norm is None:
        scaler.step(optimizer)
    else:
        clipped_step(model, optimizer, scaler, max_norm)
    watch.remove()
    if taken and scheduler is not None:
        scheduler.step()
    return loss.item(), bool(taken)
