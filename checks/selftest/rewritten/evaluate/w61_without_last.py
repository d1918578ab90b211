# mistakes: unknown
# Stops at a batch that is shorter than the first one.
import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n, full = 0.0, 0, 0, 0
    for x, y in batches:
        if len(y) == 0:
            continue
        full = full or len(y)
        if len(y) < full:
            break
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss += F.cross_entropy(logits, y).item() * full
        right += (logits.argmax(1) == y).sum().item()
        n += full
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
