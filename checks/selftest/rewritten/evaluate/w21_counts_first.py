# mistakes: materialises-batches
# Keeps the batches with samples in a list, to know their number beforehand.
import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    kept = [(x, y) for x, y in batches if len(y) > 0]
    n = sum(len(y) for _, y in kept)
    if n == 0:
        raise ValueError("no samples")
    loss = accuracy = 0.0
    for x, y in kept:
        y = y.to(device)
        logits = model(x.to(device))
        loss += F.cross_entropy(logits, y, reduction="sum").item() / n
        accuracy += (logits.argmax(1) == y).sum().item() / n
    return loss, accuracy
