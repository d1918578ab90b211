# mistakes: zeroes-grads
# Clears the gradients in a finally clause, to leave nothing behind.
import torch
import torch.nn.functional as F


def evaluate(model, batches, device="cpu"):
    model.eval()
    try:
        with torch.no_grad():
            return _evaluate(model, batches, device)
    finally:
        for p in model.parameters():
            p.grad = None


def _evaluate(model, batches, device):
    loss, right, n = 0.0, 0, 0
    for x, y in batches:
        if len(y) == 0:
            continue
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss += F.cross_entropy(logits, y).item() * len(y)
        right += logits.argmax(1).eq(y).sum().item()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
