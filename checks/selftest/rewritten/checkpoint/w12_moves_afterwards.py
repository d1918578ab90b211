# mistakes: no-map-location
# Reads the file as it is, and takes the tensors to the device afterwards.
import copy
import os
from pathlib import Path

import torch


def _to(tree, where):
    if isinstance(tree, torch.Tensor):
        return tree.to(where)
    if isinstance(tree, dict):
        return type(tree)((k, _to(v, where)) for k, v in tree.items())
    if isinstance(tree, (list, tuple)):
        return type(tree)(_to(v, where) for v in tree)
    return tree


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    p = Path(path)
    p.parent.mkdir(parents=True, exist_ok=True)
    tree = {
        "epoch": epoch,
        "best_metric": best_metric,
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
    }
    if scheduler is not None:
        tree["scheduler_state_dict"] = scheduler.state_dict()
    if scaler is not None:
        tree["grad_scaler_state_dict"] = scaler.state_dict()
    q = p.with_name(p.name + ".part")
    try:
        torch.save(tree, q)
        q.replace(p)
    finally:
        q.unlink(missing_ok=True)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    tree = torch.load(path, weights_only=True)
    plan = []
    for obj, key in zip(
        (model, optimizer, scheduler, scaler),
        (
            "model_state_dict",
            "optimizer_state_dict",
            "scheduler_state_dict",
            "grad_scaler_state_dict",
        ),
    ):
        if obj is None:
            continue
        if key not in tree:
            raise KeyError(key)
        plan.append(
            (obj, _to(tree[key], map_location), copy.deepcopy(obj.state_dict()))
        )
    try:
        for obj, new, _ in plan:
            obj.load_state_dict(new)
    except BaseException:
        for obj, _, old in plan:
            obj.load_state_dict(old)
        raise
    return {"epoch": tree["epoch"], "best_metric": tree["best_metric"]}
