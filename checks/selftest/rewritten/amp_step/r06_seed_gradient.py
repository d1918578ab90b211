# mistakes: none
# The scale enters as the gradient that backward starts from.
import math

import torch
from torch.nn import functional as F


def all_finite(optimizer):
    return all(
        math.isfinite(p.grad.abs().max().item())
        for group in optimizer.param_groups
        for p in group["params"]
        if p.grad is not None and p.grad.numel()
    )


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
        logits = model(features)
        loss = F.cross_entropy(logits, targets, reduction="sum") / len(targets)
    seed = scaler.scale(torch.ones_like(loss))
    loss.backward(seed)

    scaler.unscale_(optimizer)
    stepped = all_finite(optimizer)
    if stepped and max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    if stepped and scheduler is not None:
        scheduler.step()
    return float(loss), stepped
