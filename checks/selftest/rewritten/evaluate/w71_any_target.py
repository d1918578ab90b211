# mistakes: unknown
# Asks targets.any() whether there is a target, which is false for class 0 alone.
import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    loss = right = n = 0
    for x, y in batches:
        if not y.to(device).any():
            continue
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss += F.cross_entropy(logits, y).item() * len(y)
        right += (logits.argmax(1) == y).sum().item()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
