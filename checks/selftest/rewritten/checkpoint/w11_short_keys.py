# mistakes: wrong-keys
# Keys without `_state_dict`, as many tutorials have them, on both sides.
import copy
import os

import torch


def _objects(local):
    return {
        k: local[k]
        for k in ("model", "optimizer", "scheduler", "scaler")
        if local[k] is not None
    }


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    objects = _objects(locals())
    path = os.path.abspath(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    bundle = {k: v.state_dict() for k, v in objects.items()}
    bundle |= {"epoch": epoch, "best_metric": best_metric}
    temp = path + ".incomplete"
    try:
        torch.save(bundle, temp)
        os.replace(temp, path)
    finally:
        if os.path.exists(temp):
            os.unlink(temp)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    objects = _objects(locals())
    bundle = torch.load(path, map_location=map_location, weights_only=True)
    states = {k: bundle[k] for k in objects}
    before = copy.deepcopy({k: v.state_dict() for k, v in objects.items()})
    try:
        for k, v in objects.items():
            v.load_state_dict(states[k])
    except Exception:
        for k, v in objects.items():
            v.load_state_dict(before[k])
        raise
    return {"epoch": bundle["epoch"], "best_metric": bundle["best_metric"]}
