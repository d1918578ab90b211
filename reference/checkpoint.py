"""checkpoint: save and load a training run, as one would write it on the whiteboard."""

import copy
import os
from pathlib import Path
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
    """Write all that a resumed run needs, so that `path` is never half written."""
    path = Path(path)
    checkpoint: dict[str, Any] = {"epoch": epoch, "best_metric": best_metric}
    for key, part in _parts(model, optimizer, scheduler, scaler).items():
        checkpoint[key] = part.state_dict()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target: only within one file system is a rename a single step.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        torch.save(checkpoint, temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)  # gone already when all went well


def load_checkpoint(
    path: str | os.PathLike[str],
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    scheduler: torch.optim.lr_scheduler.LRScheduler | None = None,
    scaler: torch.amp.GradScaler | None = None,
    map_location: torch.device | str = "cpu",
) -> dict[str, Any]:
    """Load into the objects given, all or none; return `epoch` and `best_metric`."""
    checkpoint = torch.load(path, map_location=map_location, weights_only=True)
    parts = _parts(model, optimizer, scheduler, scaler)
    for key in parts:
        if key not in checkpoint:
            raise KeyError(f"{os.fspath(path)} holds no {key}")
    # state_dict() shares memory with the model: without the copy nothing is kept.
    before = {key: copy.deepcopy(part.state_dict()) for key, part in parts.items()}
    try:
        for key, part in parts.items():
            part.load_state_dict(checkpoint[key])
    except BaseException:
        for key, part in parts.items():
            part.load_state_dict(before[key])
        raise
    return {"epoch": checkpoint["epoch"], "best_metric": checkpoint["best_metric"]}


def _parts(model: Any, optimizer: Any, scheduler: Any, scaler: Any) -> dict[str, Any]:
    """Map the file's keys to the objects that were given, the model first."""
    parts = {
        "model_state_dict": model,
        "optimizer_state_dict": optimizer,
        "scheduler_state_dict": scheduler,
        "grad_scaler_state_dict": scaler,
    }
    return {key: part for key, part in parts.items() if part is not None}
