# mistakes: backward-inside-autocast, stepped-always-true
# A decorated closure makes forward and backward, and the answer is always True.
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
    @torch.autocast(device_type, dtype=dtype)
    def closure():
        model.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(features), targets)
        scaler.scale(loss).backward()
        return loss.item()

    value = closure()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    if scheduler is not None and scaler.get_scale() >= before:
        scheduler.step()
    return value, True
