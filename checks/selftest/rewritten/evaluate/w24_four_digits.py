# mistakes: rounds-result
# Rounds both numbers through a format string.
import torch
import torch.nn.functional as F


def pretty(value):
    return float(f"{value:.4f}")


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n = 0.0, 0, 0
    for x, y in batches:
        if len(y) == 0:
            continue
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss += F.cross_entropy(logits, y).item() * len(y)
        right += (logits.argmax(1) == y).sum().item()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return pretty(loss / n), pretty(right / n)
