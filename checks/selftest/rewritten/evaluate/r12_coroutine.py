# mistakes: none
# A primed coroutine takes one batch at a time and answers with the means so far.
import torch
from torch.nn import functional as F


def judge(model, device):
    means, loss, correct, count = None, 0.0, 0.0, 0
    while True:
        x, y = yield means
        logits = model(x.to(device))
        y = y.to(device)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        correct += float((logits.argmax(dim=1) == y).float().sum())
        count += len(y)
        means = loss / count, correct / count


def evaluate(model, batches, device="cpu"):
    model.eval()
    means = None
    with torch.no_grad():
        judging = judge(model, device)
        next(judging)
        for batch in batches:
            if len(batch[1]):
                means = judging.send(batch)
        judging.close()
    if means is None:
        raise ValueError("no sample was seen")
    return means
