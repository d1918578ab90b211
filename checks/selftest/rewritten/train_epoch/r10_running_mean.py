# mistakes: none
# An incremental mean, clearing once up front and then after every step.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    optimizer.zero_grad()
    mean, seen = 0.0, 0
    for features, targets in batches:
        n = len(targets)
        if n == 0:
            continue
        features = features.to(device)
        targets = targets.to(device)
        loss = F.cross_entropy(model(features), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seen += n
        mean += (loss.item() - mean) * n / seen
    if seen == 0:
        raise ValueError("empty epoch")
    return mean
