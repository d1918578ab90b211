# mistakes: grad-mode-forced-on
# A pair of helpers: gradients off before, on afterwards, in a finally clause.
import torch
import torch.nn.functional as F


def gradients_off():
    torch.set_grad_enabled(False)


def gradients_on():
    torch.set_grad_enabled(True)


def evaluate(model, batches, device="cpu"):
    model.eval()
    gradients_off()
    try:
        numbers = []
        for x, y in batches:
            if len(y) == 0:
                continue
            x, y = x.to(device), y.to(device)
            z = model(x)
            loss = F.cross_entropy(z, y, reduction="sum").item()
            numbers.append((loss, (z.argmax(1) == y).sum().item(), len(y)))
    finally:
        gradients_on()
    if not numbers:
        raise ValueError("no samples")
    loss, right, n = map(sum, zip(*numbers))
    return loss / n, right / n
