# mistakes: unknown
# BatchNorm's counters are taken for bookkeeping and stay as the fresh model has them.
import copy
import os
import pathlib

import torch

ALL = {
    "model": "model_state_dict",
    "optimizer": "optimizer_state_dict",
    "scheduler": "scheduler_state_dict",
    "scaler": "grad_scaler_state_dict",
}


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    given = locals()
    file = pathlib.Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {
        key: given[name].state_dict()
        for name, key in ALL.items()
        if given[name] is not None
    }
    scratch = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        torch.save({"epoch": epoch, "best_metric": best_metric, **content}, scratch)
        scratch.rename(file)
    finally:
        scratch.unlink(missing_ok=True)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    given = locals()
    content = torch.load(path, map_location=map_location, weights_only=True)
    asked = {key: given[name] for name, key in ALL.items() if given[name] is not None}
    for key in asked:
        if key not in content:
            raise KeyError(key)
    own = model.state_dict()
    for name in content["model_state_dict"]:
        if name.endswith("num_batches_tracked") and name in own:
            content["model_state_dict"][name] = own[name]
    before = {key: copy.deepcopy(obj.state_dict()) for key, obj in asked.items()}
    try:
        for key, obj in asked.items():
            obj.load_state_dict(content[key])
    except Exception:
        for key, obj in asked.items():
            obj.load_state_dict(before[key])
        raise
    return {"epoch": content["epoch"], "best_metric": content["best_metric"]}
