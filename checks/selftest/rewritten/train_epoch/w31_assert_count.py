# mistakes: asserts-instead-of-valueerror
# An assert instead of a ValueError guards the division.
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
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    assert count > 0, "no samples"
    return total / count
