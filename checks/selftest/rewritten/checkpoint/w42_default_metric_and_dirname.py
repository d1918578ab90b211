# mistakes: falsy-best-metric, bare-filename-fails
# A default for the metric by truth value, and makedirs of whatever dirname gives.
import copy
import os

import torch

WORST = float("-inf")


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    target = os.fspath(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not best_metric:
        best_metric = WORST
    content = {
        "epoch": epoch,
        "best_metric": best_metric,
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
    }
    if scheduler is not None:
        content["scheduler_state_dict"] = scheduler.state_dict()
    if scaler is not None:
        content["grad_scaler_state_dict"] = scaler.state_dict()
    temporary = f"{target}.tmp{os.getpid()}"
    try:
        torch.save(content, temporary)
        os.replace(temporary, target)
    except BaseException:
        try:
            os.remove(temporary)
        except FileNotFoundError:
            pass
        raise


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    content = torch.load(path, map_location=map_location, weights_only=True)
    objects = [model, optimizer, scheduler, scaler]
    keys = [
        "model_state_dict",
        "optimizer_state_dict",
        "scheduler_state_dict",
        "grad_scaler_state_dict",
    ]
    used = [i for i in range(4) if objects[i] is not None]
    for i in used:
        if keys[i] not in content:
            raise KeyError("missing " + keys[i])
    backup = {i: copy.deepcopy(objects[i].state_dict()) for i in used}
    try:
        for i in used:
            objects[i].load_state_dict(content[keys[i]])
    except Exception:
        for i in used:
            objects[i].load_state_dict(backup[i])
        raise
    return {"epoch": content["epoch"], "best_metric": content["best_metric"]}
