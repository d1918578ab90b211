# mistakes: none
# A decorator makes any function of objects all or nothing.
import copy
import functools
import os
import uuid

import torch


def transactional(function):
    @functools.wraps(function)
    def wrapper(path, *, map_location="cpu", **objects):
        objects = {name: obj for name, obj in objects.items() if obj is not None}
        images = {
            name: copy.deepcopy(obj.state_dict()) for name, obj in objects.items()
        }
        try:
            return function(path, map_location, objects)
        except BaseException:
            for name, obj in objects.items():
                obj.load_state_dict(images[name])
            raise

    return wrapper


def key_of(name):
    return ("grad_scaler" if name == "scaler" else name) + "_state_dict"


def save_checkpoint(path, *, epoch, best_metric, **objects):
    path = os.path.join(os.getcwd(), os.fspath(path))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    draft = os.path.join(os.path.dirname(path), uuid.uuid4().hex)
    content = {key_of(n): o.state_dict() for n, o in objects.items() if o is not None}
    try:
        with open(draft, "xb") as stream:
            torch.save(content | {"epoch": epoch, "best_metric": best_metric}, stream)
        os.rename(draft, path)
    except BaseException:
        os.path.exists(draft) and os.unlink(draft)
        raise


@transactional
def load_checkpoint(path, map_location, objects):
    content = torch.load(path, map_location, weights_only=True)
    for name in sorted(
        objects, key=["model", "optimizer", "scheduler", "scaler"].index
    ):
        objects[name].load_state_dict(content[key_of(name)])
    return {"best_metric": content["best_metric"], "epoch": content["epoch"]}
