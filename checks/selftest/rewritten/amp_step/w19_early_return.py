# mistakes: no-update-on-skip
# Looks at the unscaled gradients and returns at once when one is not finite.
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
    model.zero_grad()
    with torch.autocast(device_type, dtype):
        loss = F.cross_entropy(model(features), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(grads)
    if not norm.isfinite():
        return loss.item(), False
    if max_norm is not None:
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), max_norm, norm)
    scaler.step(optimizer)
    scaler.update()
    if scheduler is not None:
        scheduler.step()
    return loss.item(), True
