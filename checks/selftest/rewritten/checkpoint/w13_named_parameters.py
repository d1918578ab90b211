# mistakes: saves-parameters-only
# Collects the model's tensors from named_parameters, and loads them over the model's own state.
import copy
import os
from pathlib import Path

import torch


def gather(model):
    return {name: tensor.detach().clone() for name, tensor in model.named_parameters()}


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = Path(path).absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "epoch": epoch,
        "best_metric": best_metric,
        "model_state_dict": gather(model),
    }
    extra = {
        "optimizer_state_dict": optimizer,
        "scheduler_state_dict": scheduler,
        "grad_scaler_state_dict": scaler,
    }
    content.update(
        {key: obj.state_dict() for key, obj in extra.items() if obj is not None}
    )
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        torch.save(content, temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    content = torch.load(path, map_location=map_location, weights_only=True)
    objects = {
        "model_state_dict": model,
        "optimizer_state_dict": optimizer,
        "scheduler_state_dict": scheduler,
        "grad_scaler_state_dict": scaler,
    }
    objects = {key: obj for key, obj in objects.items() if obj is not None}
    for key in objects:
        if key not in content:
            raise KeyError(key)
    before = {key: copy.deepcopy(obj.state_dict()) for key, obj in objects.items()}
    try:
        for key, obj in objects.items():
            obj.load_state_dict(content[key])
    except Exception:
        for key, obj in objects.items():
            obj.load_state_dict(before[key])
        raise
    return {"epoch": content["epoch"], "best_metric": content["best_metric"]}
