# mistakes: unknown
# Uses the criterion of the training, label smoothing included.
import torch
from torch import nn

CRITERION = nn.CrossEntropyLoss(label_smoothing=0.1, reduction="sum")


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    loss, right, n = 0.0, 0, 0
    for x, y in batches:
        if len(y) == 0:
            continue
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss += CRITERION(logits, y).item()
        right += (logits.argmax(1) == y).sum().item()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n
