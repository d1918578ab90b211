# mistakes: unscales-and-steps-directly
# The gradients are unscaled, so the optimizer is stepped like any other.
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
    model.zero_grad()
    with torch.autocast(device_type=device_type, dtype=dtype):
        loss = torch.nn.functional.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()

    # gradients are in true units from here on
    scaler.unscale_(optimizer)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()

    before = scaler.get_scale()
    scaler.update()
    stepped = not (scaler.get_scale() < before)
    if stepped and scheduler is not None:
        scheduler.step()
    return loss.item(), stepped
