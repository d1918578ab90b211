# mistakes: scheduler-not-loaded
# The loader handles model, optimizer and scaler; the scheduler is only looked for in the file.
import copy
import os

import torch


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = os.fspath(path)
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    fields = [("epoch", epoch), ("best_metric", best_metric)]
    fields += [
        ("model_state_dict", model.state_dict()),
        ("optimizer_state_dict", optimizer.state_dict()),
    ]
    fields += (
        [("scheduler_state_dict", scheduler.state_dict())]
        if scheduler is not None
        else []
    )
    fields += (
        [("grad_scaler_state_dict", scaler.state_dict())] if scaler is not None else []
    )
    part = path + ".part"
    try:
        torch.save(dict(fields), part)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    fields = torch.load(path, map_location=map_location, weights_only=True)
    if scheduler is not None and "scheduler_state_dict" not in fields:
        raise KeyError("scheduler_state_dict")
    targets = [(model, fields["model_state_dict"])]
    if optimizer is not None:
        targets.append((optimizer, fields["optimizer_state_dict"]))
    if scaler is not None:
        targets.append((scaler, fields["grad_scaler_state_dict"]))
    olds = [copy.deepcopy(target.state_dict()) for target, _ in targets]
    try:
        for target, state in targets:
            target.load_state_dict(state)
    except Exception:
        for (target, _), old in zip(targets, olds):
            target.load_state_dict(old)
        raise
    return {"epoch": fields["epoch"], "best_metric": fields["best_metric"]}
