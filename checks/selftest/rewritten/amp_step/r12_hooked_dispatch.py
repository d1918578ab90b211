# mistakes: none
# The loss is taken in a forward hook that lives for one call; the last lines are a match.
import torch
from torch import nn


def amp_step(
    model: nn.Module,
    features: torch.Tensor,
    targets: torch.Tensor,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    *,
    scheduler=None,
    max_norm=None,
    device_type="cpu",
    dtype=torch.float16,
) -> tuple[float, bool]:
    losses = []
    hook = model.register_forward_hook(
        lambda module, args, logits: losses.append(
            nn.functional.cross_entropy(logits, targets)
        )
    )
    model.zero_grad(set_to_none=True)
    try:
        with torch.amp.autocast(device_type, dtype):
            model(features)
    finally:
        hook.remove()
    (loss,) = losses
    with torch.autocast(device_type, enabled=False):
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        match max_norm:
            case None:
                pass
            case limit:
                nn.utils.clip_grad_norm_(model.parameters(), limit, norm_type=2)
        scale = scaler.get_scale()
        scaler.step(optimizer)
    scaler.update()
    match scaler.get_scale() < scale, scheduler:
        case True, _:
            return loss.item(), False
        case False, None:
            return loss.item(), True
        case _:
            scheduler.step()
            return loss.item(), True
