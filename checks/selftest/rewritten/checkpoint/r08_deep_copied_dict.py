# mistakes: none
# Verbose and typed; the scheduler's and scaler's attributes are put back as they were.
import copy
import os
import os.path
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import nn

MODEL: str = "model_state_dict"
OPTIMIZER: str = "optimizer_state_dict"
SCHEDULER: str = "scheduler_state_dict"
SCALER: str = "grad_scaler_state_dict"


def save_checkpoint(
    path: Any,
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    epoch: int,
    best_metric: float,
    scheduler: Optional[Any] = None,
    scaler: Optional[Any] = None,
) -> None:
    checkpoint: Dict[str, Any] = {}
    checkpoint[MODEL] = copy.deepcopy(model.state_dict())
    checkpoint[OPTIMIZER] = copy.deepcopy(optimizer.state_dict())
    if scheduler is not None:
        checkpoint[SCHEDULER] = scheduler.state_dict()
    if scaler is not None:
        checkpoint[SCALER] = scaler.state_dict()
    checkpoint["epoch"] = epoch
    checkpoint["best_metric"] = best_metric
    checkpoint["keys"] = sorted(checkpoint)
    file_name: str = str(path)
    parent: str = os.path.dirname(file_name)
    if len(parent) > 0 and not os.path.exists(parent):
        os.makedirs(parent)
    temporary_name: str = file_name + ".temporary"
    success: bool = False
    try:
        torch.save(obj=checkpoint, f=temporary_name)
        success = True
    finally:
        if success is False and os.path.exists(temporary_name):
            os.remove(temporary_name)
    os.replace(src=temporary_name, dst=file_name)
    return None


def load_checkpoint(
    path: Any,
    *,
    model: nn.Module,
    optimizer: Optional[torch.optim.Optimizer] = None,
    scheduler: Optional[Any] = None,
    scaler: Optional[Any] = None,
    map_location: Any = "cpu",
) -> Dict[str, Any]:
    if not os.path.isfile(path):
        raise FileNotFoundError(str(path))
    checkpoint: Dict[str, Any] = torch.load(
        f=path, map_location=map_location, weights_only=True
    )
    work: List[Tuple[str, Any]] = [(MODEL, model)]
    if optimizer is not None:
        work.append((OPTIMIZER, optimizer))
    if scheduler is not None:
        work.append((SCHEDULER, scheduler))
    if scaler is not None:
        work.append((SCALER, scaler))
    for key, _ in work:
        if key not in checkpoint.keys():
            raise KeyError("the key " + key + " is not in the checkpoint " + str(path))
    # 1. a model that does not fit shows on a copy
    copy.deepcopy(model).load_state_dict(checkpoint[MODEL])
    # 2. the other objects, with a way back
    done: List[Tuple[Any, Dict[str, Any]]] = []
    try:
        for _, item in work[1:]:
            done.append((item, copy.deepcopy(item.state_dict())))
        for key, item in work[1:]:
            item.load_state_dict(checkpoint[key])
    except Exception:
        for item, state in done:
            item.load_state_dict(state)
        raise
    # 3. the model itself
    model.load_state_dict(checkpoint[MODEL])
    result: Dict[str, Any] = {}
    result["epoch"] = checkpoint["epoch"]
    result["best_metric"] = checkpoint["best_metric"]
    return result
