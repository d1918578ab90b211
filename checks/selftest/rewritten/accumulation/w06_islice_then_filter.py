# mistakes: counts-empty-batches
# Takes groups from the raw stream and leaves the empty batches out of a group afterwards.
import itertools
import math

import torch.nn.functional as F


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int):
        raise ValueError("accumulation_steps is not an int")
    if not accumulation_steps >= 1:
        raise ValueError("accumulation_steps is below 1")

    model.train()
    stream = iter(batches)
    sums, sizes = [], []

    def chunk():
        return list(itertools.islice(stream, accumulation_steps))

    for raw in iter(chunk, []):
        group = [(x, y) for x, y in raw if len(y)]
        if not group:
            continue
        size = sum(len(y) for _, y in group)
        optimizer.zero_grad()
        for x, y in group:
            loss_sum = F.cross_entropy(
                model(x.to(device)), y.to(device), reduction="sum"
            )
            (loss_sum / size).backward()
            sums.append(loss_sum.item())
            sizes.append(len(y))
        optimizer.step()
        optimizer.zero_grad()
    if not sizes:
        raise ValueError("nothing to train on")
    return math.fsum(sums) / sum(sizes)
