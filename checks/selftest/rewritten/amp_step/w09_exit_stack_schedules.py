# mistakes: scheduler-always-steps
# The scheduler's step is a callback of an ExitStack, so it runs in any case.
from contextlib import ExitStack

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
    with ExitStack() as at_end:
        if scheduler is not None:
            at_end.callback(scheduler.step)
        optimizer.zero_grad()
        with torch.autocast(device_type, dtype):
            loss = F.cross_entropy(model(features), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(
                [p for g in optimizer.param_groups for p in g["params"]], max_norm
            )
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        return loss.item(), scaler.get_scale() >= before
