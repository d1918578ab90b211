# mistakes: partial-load
# Checks the keys with care, then loads one object after the other.
import os
import secrets

import torch


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    final = os.path.realpath(os.fspath(path))
    os.makedirs(os.path.dirname(final), exist_ok=True)
    content = {
        "epoch": epoch,
        "best_metric": best_metric,
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
    }
    if scheduler is not None:
        content.update(scheduler_state_dict=scheduler.state_dict())
    if scaler is not None:
        content.update(grad_scaler_state_dict=scaler.state_dict())
    temp = f"{final}.{secrets.token_hex(3)}"
    done = False
    try:
        torch.save(content, temp)
        os.replace(temp, final)
        done = True
    finally:
        if not done and os.path.exists(temp):
            os.remove(temp)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    content = torch.load(path, map_location=map_location, weights_only=True)
    needed = ["model_state_dict"]
    needed += ["optimizer_state_dict"] * (optimizer is not None)
    needed += ["scheduler_state_dict"] * (scheduler is not None)
    needed += ["grad_scaler_state_dict"] * (scaler is not None)
    missing = set(needed).difference(content)
    if missing:
        raise KeyError(", ".join(sorted(missing)))
    model.load_state_dict(content["model_state_dict"])
    if optimizer is not None:
        optimizer.load_state_dict(content["optimizer_state_dict"])
    if scheduler is not None:
        scheduler.load_state_dict(content["scheduler_state_dict"])
    if scaler is not None:
        scaler.load_state_dict(content["grad_scaler_state_dict"])
    return {"epoch": content["epoch"], "best_metric": content["best_metric"]}
