# mistakes: stepped-always-true
# Takes the None of scaler.step for success; only the scheduler looks at the scale.
import torch
import torch.nn.functional as F


class Schedule:
    def __init__(self, scheduler, scaler):
        self.scheduler, self.scaler = scheduler, scaler
        self.scale = scaler.get_scale()

    def advance(self):
        if self.scheduler is not None and self.scaler.get_scale() >= self.scale:
            self.scheduler.step()


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
    schedule = Schedule(scheduler, scaler)
    model.zero_grad()
    with torch.autocast(device_type, dtype):
        loss = F.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    failure = scaler.step(optimizer)
    scaler.update()
    schedule.advance()
    return loss.item(), not failure
