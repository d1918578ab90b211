# mistakes: counts-empty-as-batch
# An empty batch adds one to the divisor.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total, weight, trained = 0.0, 0, False
    for features, targets in batches:
        n = len(targets) or 1
        if len(targets):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(features.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
            total += loss.item() * n
            trained = True
        weight += n
    if not trained:
        raise ValueError("no samples")
    return total / weight
