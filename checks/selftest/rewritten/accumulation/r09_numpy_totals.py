# mistakes: none
# Per-sample losses into NumPy arrays; a deque as the group; recursion-free flush by sentinel.
from collections import deque
from itertools import chain

import numpy as np
import torch.nn.functional as F

_END = (None, None)


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps <= 0:
        raise ValueError("accumulation_steps must be >= 1")
    waiting = deque()
    pieces = [np.empty(0)]

    def train_waiting():
        n = sum(len(y) for _, y in waiting)
        while waiting:
            x, y = waiting.popleft()
            losses = F.cross_entropy(
                model(x.to(device)), y.to(device), reduction="none"
            )
            (losses.sum() / n).backward()
            pieces.append(losses.detach().cpu().numpy().astype(np.float64))
        optimizer.step()
        optimizer.zero_grad()

    model.train()
    optimizer.zero_grad()
    for x, y in chain(batches, [_END]):
        if y is not None and len(y) > 0:
            waiting.append((x, y))
        if len(waiting) == accumulation_steps or (y is None and waiting):
            train_waiting()
    losses = np.concatenate(pieces)
    if losses.size == 0:
        raise ValueError("no samples")
    return float(losses.mean())
