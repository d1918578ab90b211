# mistakes: leaves-temp-file, error-order
# No cleaning up when torch.save raises; the model is loaded after all others.
import copy
import os
from pathlib import Path

import torch


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = Path(path)
    os.makedirs(path.parent, exist_ok=True)
    out = {"epoch": epoch, "best_metric": best_metric}
    for key, thing in [
        ("model", model),
        ("optimizer", optimizer),
        ("scheduler", scheduler),
        ("grad_scaler", scaler),
    ]:
        if thing is not None:
            out[key + "_state_dict"] = thing.state_dict()
    scratch = path.parent / (path.name + ".tmp")
    torch.save(out, scratch)
    scratch.replace(path)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    stored = torch.load(path, map_location=map_location, weights_only=True)
    order = [
        ("optimizer_state_dict", optimizer),
        ("scheduler_state_dict", scheduler),
        ("grad_scaler_state_dict", scaler),
        ("model_state_dict", model),
    ]
    order = [(key, thing) for key, thing in order if thing is not None]
    for key, _ in order:
        if key not in stored:
            raise KeyError(key)
    rollback = [(thing, copy.deepcopy(thing.state_dict())) for _, thing in order]
    try:
        for key, thing in order:
            thing.load_state_dict(stored[key])
    except Exception:
        for thing, state in rollback:
            thing.load_state_dict(state)
        raise
    return {"epoch": stored["epoch"], "best_metric": stored["best_metric"]}
