# mistakes: none
# Callables are bound first and run in a row; the gradients are cleared after the step too.
from functools import partial

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
    clear = model.zero_grad
    unscale = partial(scaler.unscale_, optimizer)
    clip = (
        partial(torch.nn.utils.clip_grad_norm_, tuple(model.parameters()), max_norm)
        if max_norm is not None
        else lambda: None
    )
    logits = torch.autocast(device_type, dtype=dtype)(lambda: model(features))

    clear()
    one_hot = F.one_hot(targets, (out := logits()).shape[1])
    loss = -(F.log_softmax(out.float(), 1) * one_hot).sum() / one_hot.sum()
    value = loss.detach().clone()
    scaler.scale(loss).backward()
    before = scaler.get_scale()
    for action in (
        unscale,
        clip,
        partial(scaler.step, optimizer),
        scaler.update,
        clear,
    ):
        action()
    stepped = min(before, scaler.get_scale()) == before
    if stepped and scheduler is not None:
        scheduler.step()
    return value.item(), stepped
