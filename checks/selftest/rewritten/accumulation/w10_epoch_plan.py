# mistakes: materialises-batches
# Plans the epoch: all batches into a tuple, cut into slices.
from dataclasses import dataclass, field

import torch.nn.functional as F


@dataclass
class EpochPlan:
    batches: tuple
    k: int
    starts: range = field(init=False)

    def __post_init__(self):
        self.starts = range(0, len(self.batches), self.k)

    def __iter__(self):
        for start in self.starts:
            yield self.batches[start : start + self.k]


def train_epoch_accumulated(
    model, batches, optimizer, accumulation_steps, device="cpu"
):
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError(f"bad accumulation_steps: {accumulation_steps!r}")
    plan = EpochPlan(
        tuple((x, y) for x, y in batches if len(y) > 0), accumulation_steps
    )
    total_samples = sum(len(y) for _, y in plan.batches)
    if total_samples == 0:
        raise ValueError("no samples")
    model.train()
    total = 0.0
    for group in plan:
        optimizer.zero_grad()
        n = sum(len(y) for _, y in group)
        for x, y in group:
            loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum")
            loss.div(n).backward()
            total += loss.item()
        optimizer.step()
    optimizer.zero_grad()
    return total / total_samples
