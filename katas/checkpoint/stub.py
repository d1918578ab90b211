"""checkpoint: see README.md beside this file for what must hold."""

import os
from typing import Any

import torch
from torch import nn


def save_checkpoint(
    path: str | os.PathLike[str],
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    epoch: int,
    best_metric: float,
    scheduler: torch.optim.lr_scheduler.LRScheduler | None = None,
    scaler: torch.amp.GradScaler | None = None,
) -> None:
    """Save all that a resumed run needs in one file.

    path: where the file goes; missing parent folders are made.
    The file is a dict of `epoch`, `best_metric`, `model_state_dict`,
    `optimizer_state_dict` and, where given, `scheduler_state_dict` and
    `grad_scaler_state_dict`; `torch.load(path, weights_only=True)` reads it.
    Atomic: at every moment `path` is the old file or the new one, whole. An error comes
    through; saved or failed, no other new file is left.
    """
    # TODO: save.
    raise NotImplementedError


def load_checkpoint(
    path: str | os.PathLike[str],
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    scheduler: torch.optim.lr_scheduler.LRScheduler | None = None,
    scaler: torch.amp.GradScaler | None = None,
    map_location: torch.device | str = "cpu",
) -> dict[str, Any]:
    """Load such a file into the objects that are given, all or none of them.

    map_location: where the file's tensors go, as in `torch.load`.
    Returns a dict of `epoch` and `best_metric`, nothing else.
    Raises FileNotFoundError when there is no file; KeyError, naming the file's key,
    when a state that is asked for is not in it; RuntimeError when the model does not
    fit, before anything else is looked at; and what torch raises when another does not.
    """
    # TODO: load.
    raise NotImplementedError
