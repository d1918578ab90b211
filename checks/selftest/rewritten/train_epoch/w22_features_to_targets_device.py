# mistakes: features-not-moved
# Features go to where the targets are, before the targets have moved.
import torch.nn.functional as F


def place(features, targets, device):
    return features.to(targets.device), targets.to(device)


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total, count = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        features, targets = place(features, targets, device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    return total / count
