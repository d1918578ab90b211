# mistakes: none
# Two context managers: one for gradients that are clean on both sides, one for the scale.
from contextlib import contextmanager
from types import SimpleNamespace

import torch
from torch.nn.functional import cross_entropy


@contextmanager
def clean_gradients(model):
    model.zero_grad()
    try:
        yield
    finally:
        model.zero_grad()


@contextmanager
def scaling(scaler):
    verdict = SimpleNamespace(skipped=None)
    before = scaler.get_scale()
    yield verdict
    scaler.update()
    verdict.skipped = scaler.get_scale() < before


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
    with clean_gradients(model), scaling(scaler) as verdict:
        with torch.autocast(device_type, dtype):
            loss = cross_entropy(model(features), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
    if not verdict.skipped and scheduler is not None:
        scheduler.step()
    return loss.item(), not verdict.skipped
