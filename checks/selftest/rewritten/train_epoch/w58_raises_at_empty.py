# mistakes: empty-batch-is-an-error
# Raises at the first empty batch instead of passing over it.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total, count = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            raise ValueError("empty batch")
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    return total / count
