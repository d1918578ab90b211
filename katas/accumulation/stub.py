"""accumulation: see README.md beside this file for what must hold."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def train_epoch_accumulated(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    optimizer: torch.optim.Optimizer,
    accumulation_steps: int,
    device: torch.device | str = "cpu",
) -> float:
    """Train a classifier for one epoch, one step for every few batches.

    model: maps features `[B, ...]` to raw logits `[B, C]`; it is on `device` already.
    batches: yields (features, targets), targets `long [B]`; read once, may have no
        length, and B may differ from batch to batch, down to 0.
    optimizer: holds the model's trainable parameters.
    accumulation_steps: how many batches with samples make a group, that is a step; the
        last group may have fewer.
    Returns the mean cross entropy over all samples, each measured before its update.
    Raises ValueError when there is no sample at all, and, before any batch is read,
        when `accumulation_steps` is below 1 or no int.
    """
    # TODO: write the loop.
    raise NotImplementedError
