# mistakes: unknown
# The optimizer's moments go into the file in half precision, to halve its size.
import copy
import os
from pathlib import Path

import torch


def _slim(state):
    def half(value):
        floating = torch.is_tensor(value) and value.is_floating_point() and value.dim()
        return value.to(torch.bfloat16) if floating else value

    return {
        "param_groups": state["param_groups"],
        "state": {
            i: {k: half(v) for k, v in s.items()} for i, s in state["state"].items()
        },
    }


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "epoch": epoch,
        "best_metric": best_metric,
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": _slim(optimizer.state_dict()),
    }
    if scheduler is not None:
        content["scheduler_state_dict"] = scheduler.state_dict()
    if scaler is not None:
        content["grad_scaler_state_dict"] = scaler.state_dict()
    temporary = path.with_name(path.name + ".new")
    try:
        torch.save(content, temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    content = torch.load(path, map_location=map_location, weights_only=True)
    parts = {
        "model_state_dict": model,
        "optimizer_state_dict": optimizer,
        "scheduler_state_dict": scheduler,
        "grad_scaler_state_dict": scaler,
    }
    parts = {k: p for k, p in parts.items() if p is not None}
    for key in parts:
        content[key]
    before = {k: copy.deepcopy(p.state_dict()) for k, p in parts.items()}
    try:
        for k, p in parts.items():
            p.load_state_dict(content[k])
    except Exception:
        for k, p in parts.items():
            p.load_state_dict(before[k])
        raise
    return {k: content[k] for k in ("epoch", "best_metric")}
