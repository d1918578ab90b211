# mistakes: mean-of-group-means
# Keeps the mean loss of each group and returns the plain mean of those.
from statistics import fmean

from torch.nn import functional as F


def _train_group(model, group, optimizer, device):
    n = sum(len(targets) for _, targets in group)
    optimizer.zero_grad()
    mean = 0.0
    for features, targets in group:
        share = len(targets) / n
        loss = share * F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        mean += loss.item()
    optimizer.step()
    return mean


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError("accumulation_steps must be an int of at least 1")
    model.train()
    history = []
    group = []
    for batch in batches:
        if len(batch[1]) == 0:
            continue
        group.append(batch)
        if len(group) == accumulation_steps:
            history.append(_train_group(model, group, optimizer, device))
            group.clear()
    if group:
        history.append(_train_group(model, group, optimizer, device))
    optimizer.zero_grad()
    if not history:
        raise ValueError("there was no sample")
    return fmean(history)
