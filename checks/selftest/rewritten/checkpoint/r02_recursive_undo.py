# mistakes: none
# Recursion: each object is loaded, then the rest, and put back if the rest fails.
import copy
import io
import os
import pathlib

import torch

FIELDS = ("model", "optimizer", "scheduler", "grad_scaler")


def _listed(*objects):
    return [
        (f"{field}_state_dict", obj)
        for field, obj in zip(FIELDS, objects)
        if obj is not None
    ]


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    memory = io.BytesIO()
    content = dict(_listed(model, optimizer, scheduler, scaler))
    content = {key: obj.state_dict() for key, obj in content.items()}
    torch.save(
        {"format": 3, "epoch": epoch, **content, "best_metric": best_metric}, memory
    )
    path = pathlib.Path(path).absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.parent / f"{path.name}.{os.getpid()}.part"
    try:
        beside.write_bytes(memory.getvalue())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _load_all(pairs):
    if not pairs:
        return
    (obj, state), *rest = pairs
    image = copy.deepcopy(obj.state_dict())
    try:
        obj.load_state_dict(state)
        _load_all(rest)
    except BaseException:
        obj.load_state_dict(image)
        raise


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    raw = pathlib.Path(path).read_bytes()
    content = torch.load(io.BytesIO(raw), map_location=map_location, weights_only=True)
    _load_all(
        [
            (obj, content[key])
            for key, obj in _listed(model, optimizer, scheduler, scaler)
        ]
    )
    return {key: content[key] for key in ("epoch", "best_metric")}
