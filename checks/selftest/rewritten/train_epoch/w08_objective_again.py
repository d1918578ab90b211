# mistakes: loss-after-update
# The value for the average is asked of the objective after step().
import torch
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    acc = torch.zeros(2, dtype=torch.float64)
    for features, targets in batches:
        n = len(targets)
        if n == 0:
            continue
        features, targets = features.to(device), targets.to(device)
        objective = lambda: F.cross_entropy(model(features), targets)
        optimizer.zero_grad()
        objective().backward()
        optimizer.step()
        with torch.no_grad():
            acc += torch.tensor([objective().item() * n, n], dtype=torch.float64)
    if acc[1] == 0:
        raise ValueError("no samples")
    return (acc[0] / acc[1]).item()
