# mistakes: saves-whole-model
# A class that puts the module itself under the model's key, and takes its state on loading.
import copy
import pathlib
import uuid

import torch

SLOTS = dict(
    model="model_state_dict",
    optimizer="optimizer_state_dict",
    scheduler="scheduler_state_dict",
    scaler="grad_scaler_state_dict",
)


class Box:
    def __init__(self, **objects):
        self.objects = {k: v for k, v in objects.items() if v is not None}

    def pack(self):
        out = {
            SLOTS[k]: v.state_dict() for k, v in self.objects.items() if k != "model"
        }
        out[SLOTS["model"]] = self.objects["model"]
        return out

    def unpack(self, packed):
        for k in self.objects:
            if SLOTS[k] not in packed:
                raise KeyError(SLOTS[k])
        backup = {k: copy.deepcopy(v.state_dict()) for k, v in self.objects.items()}
        try:
            for k, v in self.objects.items():
                source = packed[SLOTS[k]]
                v.load_state_dict(
                    source.state_dict() if hasattr(source, "state_dict") else source
                )
        except Exception:
            for k, v in self.objects.items():
                v.load_state_dict(backup[k])
            raise


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    blob = Box(
        model=model, optimizer=optimizer, scheduler=scheduler, scaler=scaler
    ).pack()
    blob.update(epoch=epoch, best_metric=best_metric)
    part = path.parent / f"{uuid.uuid4().hex}.tmp"
    try:
        torch.save(blob, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    blob = torch.load(path, map_location=map_location)
    Box(model=model, optimizer=optimizer, scheduler=scheduler, scaler=scaler).unpack(
        blob
    )
    return {"epoch": blob["epoch"], "best_metric": blob["best_metric"]}
