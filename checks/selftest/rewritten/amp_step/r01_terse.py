# mistakes: none
# As few lines as may be; a scale that fell tells of a skip.
import torch as t


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
    dtype=t.float16,
):
    model.zero_grad()
    with t.autocast(device_type, dtype):
        loss = t.nn.functional.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    if max_norm is not None:
        (
            scaler.unscale_(optimizer),
            t.nn.utils.clip_grad_norm_(model.parameters(), max_norm),
        )
    old = scaler.get_scale()
    scaler.step(optimizer), scaler.update()
    stepped = not scaler.get_scale() < old
    stepped and scheduler and scheduler.step()
    return loss.item(), stepped
