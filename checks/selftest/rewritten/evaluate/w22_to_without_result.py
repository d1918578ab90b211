# mistakes: targets-not-moved
# Calls targets.to and drops what it gives.
import torch
import torch.nn.functional as F


def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n = 0.0, 0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        features = features.to(device)
        targets.to(device)
        with torch.no_grad():
            logits = model(features)
            loss += F.cross_entropy(logits, targets).item() * len(targets)
            right += (logits.argmax(1) == targets).sum().item()
        n += len(targets)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
