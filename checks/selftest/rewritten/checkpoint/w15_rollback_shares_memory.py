# mistakes: partial-load
# A rollback of shallow copies of the state dicts.
import os
from contextlib import contextmanager
from pathlib import Path

import torch


@contextmanager
def rollback(*objects):
    states = [obj.state_dict().copy() for obj in objects]
    try:
        yield
    except BaseException:
        for obj, state in zip(objects, states):
            obj.load_state_dict(state)
        raise


def _pairs(model, optimizer, scheduler, scaler):
    names = "model", "optimizer", "scheduler", "grad_scaler"
    objects = model, optimizer, scheduler, scaler
    return {f"{n}_state_dict": o for n, o in zip(names, objects) if o is not None}


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        k: o.state_dict()
        for k, o in _pairs(model, optimizer, scheduler, scaler).items()
    }
    content["epoch"], content["best_metric"] = epoch, best_metric
    scratch = path.with_name(path.name + ".tmp")
    try:
        torch.save(content, scratch)
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    content = torch.load(path, map_location=map_location, weights_only=True)
    pairs = _pairs(model, optimizer, scheduler, scaler)
    states = {key: content[key] for key in pairs}
    with rollback(*pairs.values()):
        for key, obj in pairs.items():
            obj.load_state_dict(states[key])
    return {"epoch": content["epoch"], "best_metric": content["best_metric"]}
