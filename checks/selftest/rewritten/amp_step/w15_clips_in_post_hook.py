# mistakes: clip-after-step
# A post hook of the optimizer clips, when the parameters have moved already.
import torch
import torch.nn.functional as F


def clipper(model, max_norm):
    def clip(optimizer, args, kwargs):
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    return clip


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
    handle = optimizer.register_step_post_hook(clipper(model, max_norm))
    try:
        model.zero_grad()
        with torch.autocast(device_type, dtype):
            loss = F.cross_entropy(model(features), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scale = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
    finally:
        handle.remove()
    stepped = scaler.get_scale() >= scale
    if stepped and scheduler is not None:
        scheduler.step()
    return loss.item(), stepped
