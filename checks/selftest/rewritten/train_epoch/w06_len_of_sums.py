# mistakes: divides-by-batches
# Adds up sums over samples and divides by how many sums there are.
import torch.nn.functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    sums = []
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        logits = model(features.to(device))
        each = F.cross_entropy(logits, targets.to(device), reduction="none")
        each.mean().backward()
        optimizer.step()
        sums.append(each.sum().item())
    if not sums:
        raise ValueError("no samples")
    return sum(sums) / len(sums)
