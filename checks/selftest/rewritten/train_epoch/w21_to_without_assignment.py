# mistakes: targets-not-moved
# targets.to(device) is not assigned.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total, count = 0.0, 0
    for features, targets in batches:
        size = len(targets)
        if size == 0:
            continue
        features = features.to(device)
        targets.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * size
        count += size
    if count == 0:
        raise ValueError("no samples")
    return total / count
