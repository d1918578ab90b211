# mistakes: leaves-eval-mode, no-empty-guard
# Ends in eval mode, and an empty batch is trained on like any other.
from torch.nn import functional as F


def train_epoch(model, batches, optimizer, device="cpu"):
    total, count = 0.0, 0
    model.train()
    for x, y in batches:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        per_sample = F.cross_entropy(model(x), y, reduction="none")
        (per_sample.sum() / max(1, len(y))).backward()
        optimizer.step()
        total += per_sample.sum().item()
        count += len(y)
    model.eval()
    if count == 0:
        raise ValueError("no samples")
    return total / count
