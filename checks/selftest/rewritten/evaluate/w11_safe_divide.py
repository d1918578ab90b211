# mistakes: no-samples-returns-zero
# A helper divides by at least one.
import torch
from torch.nn import functional as F


def safe_divide(a, b):
    return a / max(b, 1)


def evaluate(model, batches, device="cpu"):
    loss, correct, seen = 0.0, 0, 0
    model.eval()
    with torch.no_grad():
        for features, targets in batches:
            n = len(targets)
            if n == 0:
                continue
            logits = model(features.to(device))
            targets = targets.to(device)
            loss += F.cross_entropy(logits, targets).item() * n
            correct += (logits.argmax(-1) == targets).sum().item()
            seen += n
    return safe_divide(loss, seen), safe_divide(correct, seen)
