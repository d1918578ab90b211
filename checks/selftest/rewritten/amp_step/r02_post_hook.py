# mistakes: none
# A post hook of the optimizer notes that it stepped; it is removed whatever happens.
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
    criterion = nn.CrossEntropyLoss()
    steps = []
    handle = optimizer.register_step_post_hook(lambda *args: steps.append(True))
    try:
        for parameter in model.parameters():
            parameter.grad = None
        with torch.autocast(device_type=device_type, dtype=dtype):
            logits = model(features)
        loss = criterion(logits.float(), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if max_norm is not None:
            nn.utils.clip_grad_norm_(
                (p for p in model.parameters() if p.grad is not None), max_norm
            )
        scaler.step(optimizer)
        scaler.update()
    finally:
        handle.remove()
    stepped = len(steps) == 1
    if stepped and scheduler is not None:
        scheduler.step()
    return float(loss.detach()), stepped
