# mistakes: none
# The model by hand: names and shapes are compared first, values copied last of all.
import copy
import os

import torch


class Mismatch(RuntimeError):
    pass


class AbsentState(KeyError):
    def __str__(self):
        return f"the checkpoint has no {self.args[0]}"


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = os.fspath(path)
    folder, name = os.path.split(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    temp = os.path.join(folder, f".{name}.saving")
    payload = {"epoch": epoch, "best_metric": best_metric}
    payload["model_state_dict"] = {
        n: t.detach().clone() for n, t in model.state_dict().items()
    }
    payload["optimizer_state_dict"] = optimizer.state_dict()
    if scheduler is not None:
        payload["scheduler_state_dict"] = scheduler.state_dict()
    if scaler is not None:
        payload["grad_scaler_state_dict"] = scaler.state_dict()
    try:
        torch.save(payload, temp)
        os.replace(temp, path)
    finally:
        if os.path.lexists(temp):
            os.remove(temp)


def _verify(model, state):
    own = model.state_dict()
    for name in own.keys() | state.keys():
        if name not in own or name not in state:
            raise Mismatch(f"{name} is on one side only")
        if own[name].shape != state[name].shape:
            raise Mismatch(
                f"{name}: {tuple(state[name].shape)} for {tuple(own[name].shape)}"
            )


@torch.no_grad()
def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    payload = torch.load(path, map_location=map_location, weights_only=True)
    if "model_state_dict" not in payload:
        raise AbsentState("model_state_dict")
    weights = payload["model_state_dict"]
    _verify(model, weights)
    others = {
        "optimizer_state_dict": optimizer,
        "scheduler_state_dict": scheduler,
        "grad_scaler_state_dict": scaler,
    }
    others = [(key, other) for key, other in others.items() if other is not None]
    for key, _ in others:
        if key not in payload:
            raise AbsentState(key)
    touched = []
    try:
        for key, other in others:
            touched.append((other, copy.deepcopy(other.state_dict())))
            other.load_state_dict(payload[key])
    except Exception:
        for other, state in touched[::-1]:
            other.load_state_dict(state)
        raise
    for name, tensor in model.state_dict().items():
        tensor.copy_(weights[name])
    return {"epoch": payload["epoch"], "best_metric": payload["best_metric"]}
