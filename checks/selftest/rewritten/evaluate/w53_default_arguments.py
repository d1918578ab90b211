# mistakes: keeps-totals-between-calls
# The totals are a default argument, and live on from call to call.
import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, batches, device="cpu", *, totals={"loss": 0.0, "right": 0, "n": 0}):
    model.eval()
    for x, y in batches:
        if len(y) == 0:
            continue
        x, y = x.to(device), y.to(device)
        logits = model(x)
        totals["loss"] += F.cross_entropy(logits, y).item() * len(y)
        totals["right"] += (logits.argmax(1) == y).sum().item()
        totals["n"] += len(y)
    if totals["n"] == 0:
        raise ValueError("no samples")
    return totals["loss"] / totals["n"], totals["right"] / totals["n"]
