# mistakes: leaves-temp-file
# NamedTemporaryFile with delete=False and nothing that deletes it on an error.
import copy
import os
import tempfile

import torch


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    absolute = os.path.abspath(os.fspath(path))
    os.makedirs(os.path.dirname(absolute), exist_ok=True)
    everything = {"epoch": epoch, "best_metric": best_metric}
    everything["model_state_dict"] = model.state_dict()
    everything["optimizer_state_dict"] = optimizer.state_dict()
    if scheduler is not None:
        everything["scheduler_state_dict"] = scheduler.state_dict()
    if scaler is not None:
        everything["grad_scaler_state_dict"] = scaler.state_dict()
    with tempfile.NamedTemporaryFile(
        dir=os.path.dirname(absolute), delete=False
    ) as out:
        torch.save(everything, out)
        out.flush()
        os.fsync(out.fileno())
    os.replace(out.name, absolute)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    everything = torch.load(path, map_location=map_location, weights_only=True)
    steps = [
        (model, "model_state_dict"),
        (optimizer, "optimizer_state_dict"),
        (scheduler, "scheduler_state_dict"),
        (scaler, "grad_scaler_state_dict"),
    ]
    steps = [step for step in steps if step[0] is not None]
    if any(key not in everything for _, key in steps):
        raise KeyError([key for _, key in steps if key not in everything])
    for target, key in steps:
        copy.deepcopy(target).load_state_dict(copy.deepcopy(everything[key]))
    for target, key in steps:
        target.load_state_dict(everything[key])
    return {"epoch": everything["epoch"], "best_metric": everything["best_metric"]}
