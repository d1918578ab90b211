# mistakes: weights-only-false
# Reads through a helper with a default of full unpickling.
import copy
import functools
import os

import torch

read = functools.partial(torch.load, weights_only=False)
NAMES = (
    "model_state_dict",
    "optimizer_state_dict",
    "scheduler_state_dict",
    "grad_scaler_state_dict",
)


def zipped(*objects):
    return [(n, o) for n, o in zip(NAMES, objects) if o is not None]


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = os.fspath(path)
    folder, file = os.path.split(path)
    folder = folder or os.curdir
    os.makedirs(folder, exist_ok=True)
    staged = os.path.join(folder, "~" + file)
    data = {n: o.state_dict() for n, o in zipped(model, optimizer, scheduler, scaler)}
    try:
        torch.save({**data, "epoch": epoch, "best_metric": best_metric}, staged)
    except BaseException:
        if os.path.exists(staged):
            os.remove(staged)
        raise
    os.replace(staged, path)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    data = read(path, map_location=map_location)
    targets = zipped(model, optimizer, scheduler, scaler)
    states = [data[n] for n, _ in targets]
    old = [copy.deepcopy(o.state_dict()) for _, o in targets]
    try:
        for (_, o), s in zip(targets, states):
            o.load_state_dict(s)
    except BaseException:
        for (_, o), s in zip(targets, old):
            o.load_state_dict(s)
        raise
    return dict(epoch=data["epoch"], best_metric=data["best_metric"])
