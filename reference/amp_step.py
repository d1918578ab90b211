"""amp_step: one mixed-precision step, as one would write it on the whiteboard."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def amp_step(
    model: nn.Module,
    features: Tensor,
    targets: Tensor,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    *,
    scheduler: torch.optim.lr_scheduler.LRScheduler | None = None,
    max_norm: float | None = None,
    device_type: str = "cpu",
    dtype: torch.dtype = torch.float16,
) -> tuple[float, bool]:
    """Make one step; return the loss before it, and whether the optimizer stepped."""
    optimizer.zero_grad()
    with torch.autocast(device_type, dtype=dtype):
        loss = F.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    if max_norm is not None:
        scaler.unscale_(optimizer)  # else the limit would hold for scaled gradients
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    old_scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    # A skip makes the scale smaller; a larger one has grown after good steps.
    stepped = scaler.get_scale() >= old_scale
    if stepped and scheduler is not None:
        scheduler.step()
    return loss.item(), stepped
