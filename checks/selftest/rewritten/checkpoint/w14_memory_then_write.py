# mistakes: overwrites-in-place
# Serialises into memory, so that errors come early, and then writes the bytes to the target.
import copy
import io
import os

import torch


class Serializer:
    keys = (
        "model_state_dict",
        "optimizer_state_dict",
        "scheduler_state_dict",
        "grad_scaler_state_dict",
    )

    def __init__(self, *objects):
        self.items = [
            (key, obj) for key, obj in zip(self.keys, objects) if obj is not None
        ]

    def dumps(self, **more):
        stream = io.BytesIO()
        torch.save(
            {**more, **{key: obj.state_dict() for key, obj in self.items}}, stream
        )
        return stream.getvalue()

    def apply(self, content):
        for key, _ in self.items:
            if key not in content:
                raise KeyError(f"no {key} in the file")
        undo = [(obj, copy.deepcopy(obj.state_dict())) for _, obj in self.items]
        try:
            for key, obj in self.items:
                obj.load_state_dict(content[key])
        except BaseException:
            for obj, state in undo:
                obj.load_state_dict(state)
            raise


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    data = Serializer(model, optimizer, scheduler, scaler).dumps(
        epoch=epoch, best_metric=best_metric
    )
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(data)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    content = torch.load(path, map_location=map_location, weights_only=True)
    Serializer(model, optimizer, scheduler, scaler).apply(content)
    return {"epoch": content["epoch"], "best_metric": content["best_metric"]}
