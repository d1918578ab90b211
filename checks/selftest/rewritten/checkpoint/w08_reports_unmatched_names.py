# mistakes: strict-false
# Loads leniently and logs the names that did not match.
import copy
import logging
import os
import pathlib

import torch

logger = logging.getLogger("checkpoint")


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    objects = {
        "model": model,
        "optimizer": optimizer,
        "scheduler": scheduler,
        "grad_scaler": scaler,
    }
    record = {"epoch": epoch, "best_metric": best_metric}
    record.update(
        (f"{k}_state_dict", v.state_dict()) for k, v in objects.items() if v is not None
    )
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f"{path.name}-{os.getpid()}"
    try:
        torch.save(record, temporary)
        os.replace(temporary, path)
    finally:
        if temporary.exists():
            temporary.unlink()


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    record = torch.load(path, map_location=map_location, weights_only=True)
    others = {
        "optimizer_state_dict": optimizer,
        "scheduler_state_dict": scheduler,
        "grad_scaler_state_dict": scaler,
    }
    others = {k: v for k, v in others.items() if v is not None}
    for key in ["model_state_dict", *others]:
        if key not in record:
            raise KeyError(key)
    keep = (
        copy.deepcopy(model.state_dict()),
        {k: copy.deepcopy(v.state_dict()) for k, v in others.items()},
    )
    try:
        unmatched = model.load_state_dict(record["model_state_dict"], strict=False)
        if unmatched.missing_keys or unmatched.unexpected_keys:
            logger.debug("unmatched names: %s", unmatched)
        for k, v in others.items():
            v.load_state_dict(record[k])
    except Exception:
        model.load_state_dict(keep[0])
        for k, v in others.items():
            v.load_state_dict(keep[1][k])
        raise
    return {"epoch": record["epoch"], "best_metric": record["best_metric"]}
