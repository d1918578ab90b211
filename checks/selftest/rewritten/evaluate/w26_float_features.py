# mistakes: casts-features
# Moves with a dtype, as floats are what a model eats.
import torch
import torch.nn.functional as F


def to_device(batch, device):
    x, y = batch
    return x.to(device, torch.float32), y.to(device, torch.long)


def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n = 0.0, 0, 0
    with torch.no_grad():
        for batch in batches:
            x, y = to_device(batch, device)
            if len(y) == 0:
                continue
            logits = model(x)
            loss += F.cross_entropy(logits, y).item() * len(y)
            right += (logits.argmax(1) == y).sum().item()
            n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
