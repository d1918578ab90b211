# mistakes: no-train-mode, returns-tensor
# Never sets the mode, and returns the detached mean as a tensor.
from itertools import islice

import torch
import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int >= 1")
    batches = filter(lambda b: len(b[1]) > 0, batches)
    total = torch.tensor(0.0, dtype=torch.float64)
    seen = 0
    while group := tuple(islice(batches, accumulation_steps)):
        size = sum(map(len, (y for _, y in group)))
        optimizer.zero_grad()
        for x, y in group:
            loss = (
                F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
                / size
            )
            loss.backward()
            total += loss.detach().cpu() * size
        optimizer.step()
        seen += size
    optimizer.zero_grad()
    if seen == 0:
        raise ValueError("no samples")
    return total / seen
