"""accumulation: a step for a group of batches, as one writes it on the whiteboard."""

from collections.abc import Iterable, Iterator
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def train_epoch_accumulated(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    optimizer: torch.optim.Optimizer,
    accumulation_steps: int,
    device: torch.device | str = "cpu",
) -> float:
    """Train for one epoch; return the mean loss over samples, before each update."""
    if not isinstance(accumulation_steps, int) or accumulation_steps < 1:
        raise ValueError(f"accumulation_steps: an int from 1, not {accumulation_steps}")
    model.train()
    total_loss, num_samples = 0.0, 0
    for group in _groups(batches, accumulation_steps):
        group_samples = sum(len(targets) for _, targets in group)
        optimizer.zero_grad()
        for features, targets in group:
            features, targets = features.to(device), targets.to(device)
            loss = F.cross_entropy(model(features), targets, reduction="sum")
            # One backward a batch: it frees the batch's graph before the next forward.
            (loss / group_samples).backward()
            total_loss += loss.item()
        optimizer.step()
        num_samples += group_samples
    if num_samples == 0:
        raise ValueError("no samples: every batch was empty, or there was none")
    return total_loss / num_samples


def _groups(
    batches: Iterable[tuple[Tensor, Tensor]], size: int
) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Give the batches that have samples, `size` at a time; the last may be fewer."""
    filled = (batch for batch in batches if len(batch[1]))
    while group := list(islice(filled, size)):
        yield group
