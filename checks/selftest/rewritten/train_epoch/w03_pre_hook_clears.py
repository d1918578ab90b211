# mistakes: zero-grad-after-backward
# A step pre-hook clears, so it runs between backward and the update.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    handle = optimizer.register_step_pre_hook(lambda opt, args, kwargs: opt.zero_grad())
    try:
        return _run(model, batches, optimizer, device)
    finally:
        handle.remove()


def _run(model, batches, optimizer, device):
    model.train()
    sums = [0.0, 0]
    for features, targets in batches:
        if targets.numel():
            loss = F.cross_entropy(model(features.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
            sums[0] += loss.item() * targets.numel()
            sums[1] += targets.numel()
    if not sums[1]:
        raise ValueError("no samples")
    return sums[0] / sums[1]
