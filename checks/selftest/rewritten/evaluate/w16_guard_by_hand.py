# mistakes: grad-mode-lost-on-error
# Enters and exits no_grad by hand, the exit after the loop.
import torch
from torch import nn


def evaluate(model, batches, device="cpu"):
    model.eval()
    criterion = nn.CrossEntropyLoss()
    loss = right = count = 0
    guard = torch.no_grad()
    guard.__enter__()
    for x, y in batches:
        size = y.shape[0]
        if size == 0:
            continue
        y = y.to(device)
        out = model(x.to(device))
        loss += criterion(out, y).item() * size
        right += (out.argmax(1) == y).sum().item()
        count += size
    guard.__exit__(None, None, None)
    if count == 0:
        raise ValueError("no samples")
    return loss / count, right / count
