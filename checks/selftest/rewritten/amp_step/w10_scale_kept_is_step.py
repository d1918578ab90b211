# mistakes: skip-detected-by-scale-change
# math.isclose of the scale before and after says that the step was made.
import math

import torch


class ScaleWatch:
    def __init__(self, scaler):
        self.scaler = scaler

    def __enter__(self):
        self.start = self.scaler.get_scale()
        return self

    def __exit__(self, *exc):
        self.stable = math.isclose(self.start, self.scaler.get_scale())


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
    loss_fn = torch.nn.CrossEntropyLoss()
    model.zero_grad()
    with torch.autocast(device_type, dtype):
        loss = loss_fn(model(features), targets)
    with ScaleWatch(scaler) as watch:
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
    if watch.stable and scheduler is not None:
        scheduler.step()
    return loss.item(), watch.stable
