# mistakes: keeps-graph, targets-not-moved
# The total carries history, and the targets stay where they came from.
import torch.nn.functional as F


class Meter:
    def __init__(self):
        self.total = 0
        self.count = 0

    def update(self, value, n):
        self.total = self.total + value * n
        self.count += n


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    meter = Meter()
    for features, targets in batches:
        if len(targets) == 0:
            continue
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features.to(device)), targets)
        loss.backward()
        optimizer.step()
        meter.update(loss, len(targets))
    if meter.count == 0:
        raise ValueError("no samples")
    return (meter.total / meter.count).item()
