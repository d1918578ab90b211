# mistakes: unknown
# After loading, the scheduler takes a step, to be ready for the next epoch.
import copy
import os
import tempfile

import torch


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = os.path.abspath(path)
    where = os.path.dirname(path)
    os.makedirs(where, exist_ok=True)
    content = {"epoch": epoch, "best_metric": best_metric}
    content["model_state_dict"] = model.state_dict()
    content["optimizer_state_dict"] = optimizer.state_dict()
    if scheduler is not None:
        content["scheduler_state_dict"] = scheduler.state_dict()
    if scaler is not None:
        content["grad_scaler_state_dict"] = scaler.state_dict()
    handle, temporary = tempfile.mkstemp(dir=where)
    os.close(handle)
    try:
        torch.save(content, temporary)
        os.replace(temporary, path)
    except BaseException:
        os.remove(temporary)
        raise


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    content = torch.load(path, map_location=map_location, weights_only=True)
    things = [
        (model, "model_state_dict"),
        (optimizer, "optimizer_state_dict"),
        (scheduler, "scheduler_state_dict"),
        (scaler, "grad_scaler_state_dict"),
    ]
    things = [(t, k) for t, k in things if t is not None]
    for _, k in things:
        if k not in content:
            raise KeyError(k)
    old = [(t, copy.deepcopy(t.state_dict())) for t, _ in things]
    try:
        for t, k in things:
            t.load_state_dict(content[k])
    except Exception:
        for t, s in old:
            t.load_state_dict(s)
        raise
    if scheduler is not None:
        scheduler.step()
    return {"epoch": content["epoch"], "best_metric": content["best_metric"]}
