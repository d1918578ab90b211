# mistakes: counts-in-eight-bits
# Counts the hits in a uint8 tensor, which starts again after 255.
import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, n = 0.0, 0
    right = torch.zeros((), dtype=torch.uint8, device=device)
    for x, y in batches:
        if len(y) == 0:
            continue
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss += F.cross_entropy(logits, y).item() * len(y)
        right += (logits.argmax(1) == y).sum()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right.item() / n
