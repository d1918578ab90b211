# mistakes: none
# unittest.mock watches optimizer.step for the length of scaler.step.
from unittest import mock

import torch


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
    with torch.autocast(device_type=device_type, dtype=dtype):
        loss = torch.nn.CrossEntropyLoss()(model(features), targets)
    scaler.scale(loss).backward()
    if max_norm is not None:
        scaler.unscale_(optimizer)
        owned = [p for group in optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(owned, max_norm)
    with mock.patch.object(optimizer, "step", wraps=optimizer.step) as step:
        scaler.step(optimizer)
    scaler.update()
    if step.called and scheduler is not None:
        scheduler.step()
    return loss.item(), step.called
