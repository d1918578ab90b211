# mistakes: averages-a-window
# A smoothed value over the last 20 batches stands for the epoch's mean.
from collections import deque

import torch.nn.functional as F


class SmoothedValue:
    def __init__(self, window_size=20):
        self.window = deque(maxlen=window_size)

    def update(self, value, n):
        self.window.append((value, n))

    @property
    def avg(self):
        return sum(v * n for v, n in self.window) / sum(n for _, n in self.window)


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    loss_meter = SmoothedValue()
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        loss_meter.update(loss.item(), len(targets))
    if not loss_meter.window:
        raise ValueError("no samples")
    return loss_meter.avg
