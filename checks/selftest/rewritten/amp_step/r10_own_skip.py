# mistakes: none
# unscale_ looks for overflow and update() reads what it found; the step itself is by hand.
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
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device_type, dtype=dtype):
        loss = torch.nn.functional.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    mine = [
        p for g in optimizer.param_groups for p in g["params"] if p.grad is not None
    ]
    stepped = all(bool(p.grad.isfinite().all()) for p in mine)
    if stepped:
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(mine, max_norm)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    scaler.update()
    return loss.item(), stepped
