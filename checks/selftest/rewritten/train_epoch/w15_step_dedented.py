# mistakes: steps-once-per-epoch
# The step stands after the loop, on gradients of the last batch.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total, count = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        total += loss.item() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    optimizer.step()
    return total / count
