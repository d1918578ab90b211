# mistakes: none
# Looks for the first batch with samples, then chains it in front of the rest.
from itertools import chain

import torch
import torch.nn.functional as F


def _nonempty(batches):
    return (batch for batch in batches if len(batch[1]))


@torch.no_grad()
def evaluate(model, batches, device="cpu"):
    model.eval()
    stream = _nonempty(batches)
    first = next(stream, None)
    if first is None:
        raise ValueError("evaluate was given no samples")
    loss, right, n = 0.0, 0, 0
    for x, y in chain([first], stream):
        y = y.to(device)
        logits = model(x.to(device))
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        right += (logits.argmax(1) == y).sum().item()
        n += y.shape[0]
    return loss / n, right / n
