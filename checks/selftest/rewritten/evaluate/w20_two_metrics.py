# mistakes: extra-forward
# Each metric is a function of model and batch, so each runs the model.
import torch
import torch.nn.functional as F


def loss_sum(model, x, y):
    return F.cross_entropy(model(x), y, reduction="sum").item()


def right_sum(model, x, y):
    return (model(x).argmax(1) == y).sum().item()


METRICS = (loss_sum, right_sum)


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    sums, n = [0.0] * len(METRICS), 0
    for x, y in batches:
        if len(y) == 0:
            continue
        x, y = x.to(device), y.to(device)
        for i, metric in enumerate(METRICS):
            sums[i] += metric(model, x, y)
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    loss, accuracy = (s / n for s in sums)
    return loss, accuracy
