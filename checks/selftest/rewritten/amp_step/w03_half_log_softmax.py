# mistakes: loss-outside-autocast
# Leaves the block with half logits and goes on with log_softmax and a mean of its own.
import torch


def negative_log_likelihood(logits, targets):
    log_probs = logits - logits.logsumexp(dim=1, keepdim=True)
    rows = torch.arange(len(targets), device=targets.device)
    return -log_probs[rows, targets].mean()


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
    with torch.autocast(device_type, dtype=dtype):
        logits = model(features)
    loss = negative_log_likelihood(logits, targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    if scaler.get_scale() < scale:
        return loss.item(), False
    if scheduler is not None:
        scheduler.step()
    return loss.item(), True
