# mistakes: none
# torch.autograd.grad on the scaled loss; gradients are put into place by hand.
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
    params = [p for p in model.parameters() if p.requires_grad]

    with torch.autocast(device_type, dtype):
        logits = model(features)
        loss = F.nll_loss(F.log_softmax(logits, dim=-1), targets)

    for p, g in zip(params, torch.autograd.grad(scaler.scale(loss), params)):
        p.grad = g

    scaler.unscale_(optimizer)
    flags = torch.stack([p.grad.isfinite().all() for p in params])
    if max_norm is not None:
        norm = torch.nn.utils.get_total_norm([p.grad for p in params])
        torch.nn.utils.clip_grads_with_norm_(params, max_norm, norm)

    scaler.step(optimizer)
    scaler.update()
    stepped = bool(flags.all())
    if stepped and scheduler is not None:
        scheduler.step()
    return loss.item(), stepped
