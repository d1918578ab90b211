# mistakes: loads-into-copy
# Loads into deep copies, all or nothing, and rebinds the local names to them.
import copy
import os
from pathlib import Path

import torch


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = Path(os.path.abspath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    state = dict(epoch=epoch, best_metric=best_metric)
    state["model_state_dict"] = model.state_dict()
    state["optimizer_state_dict"] = optimizer.state_dict()
    if scheduler is not None:
        state["scheduler_state_dict"] = scheduler.state_dict()
    if scaler is not None:
        state["grad_scaler_state_dict"] = scaler.state_dict()
    temp = path.with_suffix(path.suffix + ".tmp")
    try:
        with temp.open("wb") as f:
            torch.save(state, f)
        temp.replace(path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    state = torch.load(path, map_location=map_location, weights_only=True)
    trial_model = copy.deepcopy(model)
    if "model_state_dict" not in state:
        raise KeyError("model_state_dict")
    if optimizer is not None and "optimizer_state_dict" not in state:
        raise KeyError("optimizer_state_dict")
    if scheduler is not None and "scheduler_state_dict" not in state:
        raise KeyError("scheduler_state_dict")
    if scaler is not None and "grad_scaler_state_dict" not in state:
        raise KeyError("grad_scaler_state_dict")
    trial_model.load_state_dict(state["model_state_dict"])
    trials = []
    for obj, key in (
        (optimizer, "optimizer_state_dict"),
        (scheduler, "scheduler_state_dict"),
        (scaler, "grad_scaler_state_dict"),
    ):
        if obj is not None:
            trial = copy.deepcopy(obj)
            trial.load_state_dict(state[key])
            trials.append(trial)
    # everything fits: the trials become the real ones
    model = trial_model
    for trial in trials:
        if isinstance(trial, torch.optim.Optimizer):
            optimizer = trial
        elif isinstance(trial, torch.amp.GradScaler):
            scaler = trial
        else:
            scheduler = trial
    return {"epoch": state["epoch"], "best_metric": state["best_metric"]}
