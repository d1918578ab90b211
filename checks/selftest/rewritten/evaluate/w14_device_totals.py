# mistakes: returns-tensors
# Totals live on the device and are returned as they are.
import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    loss = torch.zeros((), device=device)
    right = torch.zeros((), device=device)
    count = 0
    for x, y in batches:
        if len(y) == 0:
            continue
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum")
        right += (logits.argmax(1) == y).sum()
        count += len(y)
    if count == 0:
        raise ValueError("no samples")
    return loss / count, right / count
