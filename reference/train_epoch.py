"""train_epoch: one epoch of classification, as one would write it on the whiteboard."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def train_epoch(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    optimizer: torch.optim.Optimizer,
    device: torch.device | str = "cpu",
) -> float:
    """Train for one epoch; return the mean loss over samples, before each update."""
    model.train()
    total_loss, num_samples = 0.0, 0
    for features, targets in batches:
        if len(targets) == 0:
            continue
        features, targets = features.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features), targets)
        loss.backward()
        optimizer.step()
        # .item() lets the graph go; on a GPU it waits for the batch to finish.
        total_loss += loss.item() * len(targets)
        num_samples += len(targets)
    if num_samples == 0:
        raise ValueError("no samples: every batch was empty, or there was none")
    return total_loss / num_samples
