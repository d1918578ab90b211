# mistakes: no-step
# optimizer.step is bound to a name for speed and never called.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    clear, update, loss_fn = optimizer.zero_grad, optimizer.step, F.cross_entropy
    total, count = 0.0, 0
    for features, targets in batches:
        n = len(targets)
        if n == 0:
            continue
        clear()
        loss = loss_fn(model(features.to(device)), targets.to(device))
        loss.backward()
        update
        total += loss.item() * n
        count += n
    if count == 0:
        raise ValueError("no samples")
    return total / count
