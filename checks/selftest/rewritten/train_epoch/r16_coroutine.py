# mistakes: none
# A coroutine keeps the weighted mean; losses are sent into it.
import torch.nn.functional as F


def averager():
    total, weight, mean = 0.0, 0, None
    while True:
        value, size = yield mean
        total += value * size
        weight += size
        mean = total / weight


def train_epoch(model, batches, optimizer, device="cpu"):
    for module in model.modules():
        module.training = True
    average = averager()
    mean = next(average)
    for features, targets in batches:
        if len(targets) == 0:
            continue
        [p.__setattr__("grad", None) for p in model.parameters()]
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        mean = average.send((loss.item(), len(targets)))
    average.close()
    if mean is None:
        raise ValueError("no samples")
    return mean
