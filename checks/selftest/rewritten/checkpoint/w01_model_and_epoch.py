# mistakes: no-optimizer-state
# Builds the dict from a tuple of pairs that does not have the optimizer.
import copy
import os

import torch


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = os.path.abspath(os.fspath(path))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pairs = [("model", model), ("scheduler", scheduler), ("grad_scaler", scaler)]
    state = {
        f"{name}_state_dict": obj.state_dict() for name, obj in pairs if obj is not None
    }
    state["epoch"] = epoch
    state["best_metric"] = best_metric
    tmp = path + ".writing"
    try:
        torch.save(state, tmp)
        os.rename(tmp, path)
    except BaseException:
        if os.path.isfile(tmp):
            os.remove(tmp)
        raise


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    state = torch.load(path, map_location=map_location, weights_only=True)
    pairs = [
        ("model_state_dict", model),
        ("optimizer_state_dict", optimizer),
        ("scheduler_state_dict", scheduler),
        ("grad_scaler_state_dict", scaler),
    ]
    pairs = [(key, obj) for key, obj in pairs if obj is not None]
    for key, _ in pairs:
        if key not in state:
            raise KeyError(key)
    saved = [copy.deepcopy(obj.state_dict()) for _, obj in pairs]
    try:
        for key, obj in pairs:
            obj.load_state_dict(state[key])
    except Exception:
        for old, (_, obj) in zip(saved, pairs):
            obj.load_state_dict(old)
        raise
    return {"epoch": state["epoch"], "best_metric": state["best_metric"]}
