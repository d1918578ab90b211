# mistakes: unknown
# Sets eval mode on the layers that are known to differ by it.
import torch
import torch.nn.functional as F
from torch import nn

DIFFERENT = (nn.Dropout, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    for layer in model.modules():
        if isinstance(layer, DIFFERENT):
            layer.eval()
    loss, right, n = 0.0, 0, 0
    try:
        for x, y in batches:
            if len(y) == 0:
                continue
            x, y = x.to(device), y.to(device)
            logits = model(x)
            loss += F.cross_entropy(logits, y).item() * len(y)
            right += (logits.argmax(1) == y).sum().item()
            n += len(y)
    finally:
        model.eval()
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
