"""train_epoch: see README.md beside this file for what must hold."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def train_epoch(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    optimizer: torch.optim.Optimizer,
    device: torch.device | str = "cpu",
) -> float:
    """Train a classifier for one epoch.

    model: maps features `[B, ...]` to raw logits `[B, C]`; it is on `device` already.
    batches: yields (features, targets), targets `long [B]`; read once, may have no
        length, and B may differ from batch to batch, down to 0.
    optimizer: holds the model's trainable parameters.
    Returns the mean cross entropy over all samples, each measured before its update.
    Raises ValueError when there is no sample at all.
    """
    # TODO: write the loop.
    raise NotImplementedError
