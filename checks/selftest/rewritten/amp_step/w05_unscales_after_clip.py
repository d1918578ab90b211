# mistakes: clips-scaled-gradients
# unscale_ is called, but one line too late.
import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


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
    trainable = [p for group in optimizer.param_groups for p in group["params"]]
    if max_norm is not None:
        clip_grad_norm_(trainable, max_norm)
    scaler.unscale_(optimizer)
    stepped = all(
        p.grad.isfinite().all().item() for p in trainable if p.grad is not None
    )
    scaler.step(optimizer)
    scaler.update()
    if scheduler is not None and stepped:
        scheduler.step()
    return loss.item(), stepped
