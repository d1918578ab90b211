# mistakes: none
# Exact arithmetic: the total is a Fraction, and becomes a float once.
from dataclasses import dataclass, field
from fractions import Fraction

import torch


@dataclass
class Meter:
    total: Fraction = field(default_factory=Fraction)
    count: int = 0

    def __iadd__(self, other):
        value, size = other
        self.total += Fraction(value) * size
        self.count += size
        return self

    def __float__(self):
        if self.count == 0:
            raise ValueError("the mean of no samples")
        return float(self.total / self.count)


def train_epoch(model, batches, optimizer, device="cpu"):
    model.train()
    meter = Meter()
    for features, targets, *rest in batches:
        if (size := targets.size(dim=0)) == 0:
            continue
        optimizer.zero_grad()
        logits = model(features.to(device))
        loss = torch.nn.functional.cross_entropy(logits, targets.to(device))
        loss.backward()
        optimizer.step()
        meter += loss.tolist(), size
    return float(meter)
