# mistakes: none
# The work is done in a thread of its own, whose grad mode is its own too.
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F


@torch.no_grad()
def work(model, batches, device):
    model.eval()
    loss, right, n = 0.0, 0, 0
    for x, y in batches:
        if len(y) == 0:
            continue
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        right += (logits.argmax(1) == y).sum().item()
        n += len(y)
    if n == 0:
        raise ValueError("no samples")
    return loss / n, right / n


def evaluate(model, batches, device="cpu"):
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(work, model, batches, device).result()
