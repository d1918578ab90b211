# mistakes: none
# A generator yields one record a batch; grad mode is off only around each forward.
import torch
import torch.nn.functional as F


def records(model, batches, device):
    for x, y in batches:
        n = len(y)
        if n == 0:
            continue
        x, y = x.to(device), y.to(device)
        with torch.no_grad():
            z = model(x)
            record = n, F.cross_entropy(z, y) * n, (z.argmax(1) == y).sum()
        yield record


def evaluate(model, batches, device="cpu"):
    model.eval()
    n, loss, right = 0, 0.0, 0
    for size, batch_loss, batch_right in records(model, batches, device):
        n += size
        loss += batch_loss
        right += batch_right
    if n == 0:
        raise ValueError("no samples")
    return float(loss) / n, float(right) / n
