# mistakes: non-atomic-write
# Opens the target itself, and flushes and syncs it with care.
import copy
import os

import torch


def _entries(model, optimizer, scheduler, scaler):
    yield "model_state_dict", model
    yield "optimizer_state_dict", optimizer
    yield "scheduler_state_dict", scheduler
    yield "grad_scaler_state_dict", scaler


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    directory = os.path.dirname(os.fspath(path))
    if directory:
        os.makedirs(directory, exist_ok=True)
    content = {"epoch": epoch, "best_metric": best_metric}
    for key, obj in _entries(model, optimizer, scheduler, scaler):
        if obj is not None:
            content[key] = obj.state_dict()
    with open(path, mode="wb") as out:
        torch.save(content, out)
        out.flush()
        os.fsync(out.fileno())


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    with open(path, mode="rb") as source:
        content = torch.load(source, map_location=map_location, weights_only=True)
    wanted = [
        (k, o)
        for k, o in _entries(model, optimizer, scheduler, scaler)
        if o is not None
    ]
    for key, _ in wanted:
        if key not in content:
            raise KeyError(f"no {key!r} in {path}")
    undo = []
    try:
        for key, obj in wanted:
            undo.append((obj, copy.deepcopy(obj.state_dict())))
            obj.load_state_dict(content[key])
    except Exception:
        while undo:
            obj, state = undo.pop()
            obj.load_state_dict(state)
        raise
    return {"epoch": content["epoch"], "best_metric": content["best_metric"]}
