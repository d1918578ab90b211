# mistakes: changes-inputs
# Compares by taking the predictions from the targets in place.
import torch
import torch.nn.functional as F


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
        y -= logits.argmax(1)
        right += len(y) - torch.count_nonzero(y).item()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
