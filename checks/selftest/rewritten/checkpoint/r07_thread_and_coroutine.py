# mistakes: none
# The file is written in a thread that is waited for; loading is a coroutine by hand.
import copy
import os
from concurrent.futures import ThreadPoolExecutor

import torch

KEYS = dict(
    zip(
        ("model", "optimizer", "scheduler", "scaler"),
        (
            "model_state_dict",
            "optimizer_state_dict",
            "scheduler_state_dict",
            "grad_scaler_state_dict",
        ),
    )
)


def _write(content, target):
    draft = target + b".draft" if isinstance(target, bytes) else target + ".draft"
    try:
        torch.save(content, draft)
        os.replace(draft, target)
    except BaseException:
        if os.path.exists(draft):
            os.remove(draft)
        raise


def save_checkpoint(path, **arguments):
    content = {
        KEYS.get(name, name): (value.state_dict() if name in KEYS else value)
        for name, value in arguments.items()
        if value is not None
    }
    target = os.path.abspath(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_write, content, target).result()


def _setter(obj):
    image = copy.deepcopy(obj.state_dict())
    try:
        while True:
            obj.load_state_dict((yield))
    except GeneratorExit:
        return
    except BaseException:
        obj.load_state_dict(image)
        raise


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    given = {
        "model": model,
        "optimizer": optimizer,
        "scheduler": scheduler,
        "scaler": scaler,
    }
    content = torch.load(path, map_location=map_location, weights_only=True)
    states = {
        name: content[KEYS[name]] for name, obj in given.items() if obj is not None
    }
    setters = []
    try:
        for name, state in states.items():
            setter = _setter(given[name])
            next(setter)
            setters.append(setter)
            setter.send(state)
    except Exception as error:
        for setter in setters[:-1]:
            try:
                setter.throw(error)
            except Exception:
                pass
        raise
    return {name: content[name] for name in ("epoch", "best_metric")}
