# mistakes: returns-tensor
# The total is a detached tensor and the quotient stays one.
import torch
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    total = torch.tensor(0.0, dtype=torch.float64, device=device)
    count = 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(targets)
        count += len(targets)
    if count == 0:
        raise ValueError("no samples")
    return total / count
