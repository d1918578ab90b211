# mistakes: missing-state-ignored
# A walrus on .get: what is not in the file is skipped.
import copy
from pathlib import Path

import torch

KEYS = {
    "model": "model_state_dict",
    "optimizer": "optimizer_state_dict",
    "scheduler": "scheduler_state_dict",
    "scaler": "grad_scaler_state_dict",
}


def save_checkpoint(path, **kwargs):
    path = Path(path)
    epoch, best = kwargs.pop("epoch"), kwargs.pop("best_metric")
    path.parent.mkdir(parents=True, exist_ok=True)
    temp = path.with_name(path.name + "~")
    try:
        torch.save(
            {
                "epoch": epoch,
                "best_metric": best,
                **{KEYS[k]: v.state_dict() for k, v in kwargs.items() if v is not None},
            },
            temp,
        )
        temp.rename(path)
    finally:
        temp.unlink(missing_ok=True)


def load_checkpoint(path, *, map_location="cpu", **kwargs):
    ckpt = torch.load(path, map_location=map_location, weights_only=True)
    kwargs = {k: kwargs[k] for k in KEYS if kwargs.get(k) is not None}
    backups = {k: copy.deepcopy(v.state_dict()) for k, v in kwargs.items()}
    try:
        for k, v in kwargs.items():
            if (state := ckpt.get(KEYS[k])) is not None:
                v.load_state_dict(state)
    except Exception:
        for k, v in kwargs.items():
            v.load_state_dict(backups[k])
        raise
    return {k: ckpt[k] for k in ("epoch", "best_metric")}
