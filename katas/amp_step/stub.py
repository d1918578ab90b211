"""amp_step: see README.md beside this file for what must hold."""

import torch
from torch import Tensor, nn


def amp_step(
    model: nn.Module,
    features: Tensor,
    targets: Tensor,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    *,
    scheduler: torch.optim.lr_scheduler.LRScheduler | None = None,
    max_norm: float | None = None,
    device_type: str = "cpu",
    dtype: torch.dtype = torch.float16,
) -> tuple[float, bool]:
    """Make one mixed-precision training step of a classifier.

    model: maps features `[B, ...]` to raw logits `[B, C]`; float32, in train mode.
    features, targets: one batch, B ≥ 1, targets `long [B]`; on the model's device.
    optimizer: holds the model's trainable parameters.
    scaler: may be disabled; then nothing is scaled and no step is skipped.
    scheduler: steps once after each step that the optimizer really took.
    max_norm: limit of the global norm of the unscaled gradients; None for no limit.
    device_type, dtype: what autocast gets.
    Returns the mean cross entropy before the update, unscaled, and whether the
    optimizer stepped: a step is skipped when a gradient is not finite.
    """
    # TODO: write the step.
    raise NotImplementedError
