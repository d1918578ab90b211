# mistakes: none
# The step is a generator of phases that is driven by hand with next().
import torch
from torch import nn


def phases(model, features, targets, optimizer, scaler, max_norm, autocast):
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad = None
    autocast.__enter__()
    try:
        loss = nn.functional.cross_entropy(model(features), targets)
    finally:
        autocast.__exit__(None, None, None)
    yield loss.detach()

    torch.autograd.backward([scaler.scale(loss)])
    scaler.unscale_(optimizer)
    if max_norm is not None:
        total = (
            sum(
                p.grad.double().square().sum()
                for p in model.parameters()
                if p.grad is not None
            )
            ** 0.5
        )
        factor = (max_norm / total).clamp(max=1.0).float()
        for p in model.parameters():
            if p.grad is not None:
                p.grad *= factor
    yield scaler.get_scale()

    scaler.step(optimizer)
    scaler.update()
    yield scaler.get_scale()


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
    autocast = torch.autocast(device_type, dtype=dtype)
    run = phases(model, features, targets, optimizer, scaler, max_norm, autocast)
    loss, before, after = next(run), next(run), next(run)
    run.close()
    if after < before:
        return loss.item(), False
    if scheduler is not None:
        scheduler.step()
    return loss.item(), True
