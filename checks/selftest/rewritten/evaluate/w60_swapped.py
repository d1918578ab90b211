# mistakes: swaps-the-results
# Returns the accuracy first.
import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    results = {"accuracy": 0.0, "loss": 0.0}
    n = 0
    for x, y in batches:
        if len(y) == 0:
            continue
        x, y = x.to(device), y.to(device)
        logits = model(x)
        results["loss"] += F.cross_entropy(logits, y, reduction="sum").item()
        results["accuracy"] += (logits.argmax(1) == y).sum().item()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return tuple(value / n for value in results.values())
