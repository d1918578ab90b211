# mistakes: epoch-off-by-one
# Saves how many epochs are done instead of the epoch it was given.
import copy
import os
import tempfile

import torch


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = os.fspath(path)
    where = os.path.dirname(path) or "."
    os.makedirs(where, exist_ok=True)
    epochs_done = epoch + 1
    with tempfile.TemporaryDirectory(dir=where) as staging:
        temp = os.path.join(staging, "new.pt")
        torch.save(
            {
                k: v
                for k, v in {
                    "epoch": epochs_done,
                    "best_metric": best_metric,
                    "model_state_dict": model.state_dict(),
                    "optimizer_state_dict": optimizer.state_dict(),
                    "scheduler_state_dict": scheduler.state_dict()
                    if scheduler
                    else None,
                    "grad_scaler_state_dict": None
                    if scaler is None
                    else scaler.state_dict(),
                }.items()
                if v is not None
            },
            temp,
        )
        os.replace(temp, path)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    blob = torch.load(path, map_location=map_location, weights_only=True)

    def state_of(key):
        if key in blob:
            return blob[key]
        raise KeyError(f"{key} is not in the checkpoint")

    jobs = [(model, state_of("model_state_dict"))]
    if optimizer is not None:
        jobs.append((optimizer, state_of("optimizer_state_dict")))
    if scheduler is not None:
        jobs.append((scheduler, state_of("scheduler_state_dict")))
    if scaler is not None:
        jobs.append((scaler, state_of("grad_scaler_state_dict")))
    for obj, state in jobs:
        copy.deepcopy(obj).load_state_dict(copy.deepcopy(state))
    for obj, state in jobs:
        obj.load_state_dict(state)
    return {"epoch": blob["epoch"], "best_metric": blob["best_metric"]}
