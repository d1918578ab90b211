"""evaluate: see README.md beside this file for what must hold."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def evaluate(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    device: torch.device | str = "cpu",
) -> tuple[float, float]:
    """Measure how good a classifier is, and change nothing but its mode.

    model: maps features `[B, ...]` to raw logits `[B, C]`; it is on `device` already,
        in any mode. It is left in eval mode, also when this raises.
    batches: yields (features, targets), targets `long [B]`; read once, may have no
        length, and B may differ from batch to batch, down to 0.
    Returns (loss, accuracy) over all samples: the mean cross entropy, and the share of
    right predictions, between 0 and 1. The caller's grad mode is as before.
    Raises ValueError when there is no sample at all.
    """
    # TODO: write the loop.
    raise NotImplementedError
