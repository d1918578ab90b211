# mistakes: none
# autocast decorates a closure, and mean cross entropy is a logsumexp minus the picked logit.
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
    def low_precision():
        return model(features)

    def mean_cross_entropy(logits):
        picked = logits.gather(1, targets[:, None]).squeeze(1)
        return (logits.logsumexp(1) - picked).mean()

    def limit():
        if max_norm is None:
            return
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.stack([g.norm() for g in grads]).norm().item()
        if norm > max_norm:
            torch._foreach_mul_(grads, max_norm / norm)

    model.zero_grad()
    loss = mean_cross_entropy(low_precision().float())
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    limit()
    was = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    skipped = scaler.get_scale() < was
    if scheduler is not None and not skipped:
        scheduler.step()
    return loss.tolist(), not skipped
