# mistakes: scheduler-before-optimizer
# A pre hook of the optimizer drives the scheduler: it fires only for real steps, but before them.
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
    stepped = False

    def on_step(*_):
        nonlocal stepped
        stepped = True
        if scheduler is not None:
            scheduler.step()

    hook = optimizer.register_step_pre_hook(on_step)
    model.zero_grad()
    with torch.autocast(device_type, dtype):
        loss = nn.functional.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    hook.remove()
    return loss.item(), stepped
