# mistakes: assign-replaces-parameters, temp-on-other-filesystem
# Saves memory with assign=True, and writes in the system's temporary folder first.
import copy
import os
import shutil
import tempfile

import torch


class Store:
    def __init__(self, path):
        self.path = os.path.abspath(os.fspath(path))

    def put(self, content):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            draft = os.path.join(scratch, "draft.pt")
            torch.save(content, draft)
            shutil.move(draft, self.path)

    def get(self, where):
        return torch.load(self.path, map_location=where, weights_only=True)


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    content = dict(
        epoch=epoch,
        best_metric=best_metric,
        model_state_dict=model.state_dict(),
        optimizer_state_dict=optimizer.state_dict(),
    )
    content.update(
        {} if scheduler is None else {"scheduler_state_dict": scheduler.state_dict()}
    )
    content.update(
        {} if scaler is None else {"grad_scaler_state_dict": scaler.state_dict()}
    )
    Store(path).put(content)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    content = Store(path).get(map_location)
    setters = {
        "model_state_dict": lambda state: model.load_state_dict(state, assign=True)
    }
    backups = {model: copy.deepcopy(model.state_dict())}
    for key, thing in (
        ("optimizer_state_dict", optimizer),
        ("scheduler_state_dict", scheduler),
        ("grad_scaler_state_dict", scaler),
    ):
        if thing is not None:
            setters[key] = thing.load_state_dict
            backups[thing] = copy.deepcopy(thing.state_dict())
    if lacking := [key for key in setters if key not in content]:
        raise KeyError(f"{lacking[0]} not found")
    try:
        for key, setter in setters.items():
            setter(content[key])
    except Exception:
        for thing, state in backups.items():
            thing.load_state_dict(state)
        raise
    return {"epoch": content["epoch"], "best_metric": content["best_metric"]}
