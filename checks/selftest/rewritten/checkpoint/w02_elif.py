# mistakes: no-scaler-state
# An elif where a second if was meant: with a scheduler the scaler is never reached.
import contextlib
import copy
import os
import tempfile
from pathlib import Path

import torch


class Snapshot:
    """Remember objects' states, put them back unless told that all went well."""

    def __init__(self):
        self._saved = []

    def __enter__(self):
        return self

    def add(self, obj):
        self._saved.append((obj, copy.deepcopy(obj.state_dict())))

    def __exit__(self, kind, value, tb):
        if kind is not None:
            for obj, state in self._saved:
                obj.load_state_dict(state)
        return False


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    payload = {
        "epoch": epoch,
        "best_metric": best_metric,
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
    }
    if scheduler is not None:
        payload["scheduler_state_dict"] = scheduler.state_dict()
    elif scaler is not None:
        payload["grad_scaler_state_dict"] = scaler.state_dict()
    fd, name = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
    try:
        with os.fdopen(fd, "wb") as stream:
            torch.save(payload, stream)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    payload = torch.load(path, map_location=map_location, weights_only=True)
    todo = {"model_state_dict": model}
    if optimizer is not None:
        todo["optimizer_state_dict"] = optimizer
    if scheduler is not None:
        todo["scheduler_state_dict"] = scheduler
    if scaler is not None:
        todo["grad_scaler_state_dict"] = scaler
    absent = [key for key in todo if key not in payload]
    if absent:
        raise KeyError(f"checkpoint lacks {', '.join(absent)}")
    with Snapshot() as snapshot:
        for obj in todo.values():
            snapshot.add(obj)
        for key, obj in todo.items():
            obj.load_state_dict(payload[key])
    return {name: payload[name] for name in ("epoch", "best_metric")}
