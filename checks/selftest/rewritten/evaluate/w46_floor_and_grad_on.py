# mistakes: integer-division, grad-mode-forced-on
# Floor division of two counts, and the grad mode set to True at the end.
import torch
import torch.nn.functional as F


def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n = 0.0, 0, 0
    try:
        torch.set_grad_enabled(False)
        for x, y in batches:
            if y.size(0) == 0:
                continue
            x, y = x.to(device), y.to(device)
            logits = model(x)
            loss += F.cross_entropy(logits, y).item() * y.size(0)
            right += (logits.argmax(1) == y).sum().item()
            n += y.size(0)
    finally:
        torch.set_grad_enabled(True)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, float(right // n)
