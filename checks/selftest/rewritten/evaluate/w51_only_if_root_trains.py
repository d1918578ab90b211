# mistakes: eval-only-if-training
# Calls eval() only if the root says that it trains; its children may differ.
import torch
import torch.nn.functional as F


def evaluate(model, batches, device="cpu"):
    if model.training:
        model.eval()
    loss, right, n = 0.0, 0, 0
    with torch.no_grad():
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
    return loss / n, right / n
