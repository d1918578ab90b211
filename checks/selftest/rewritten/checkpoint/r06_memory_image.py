# mistakes: none
# The undo image is a torch.save into memory; closures for setting and putting back.
import contextlib
import io
from pathlib import Path

import torch


def _image(objects):
    stream = io.BytesIO()
    torch.save([obj.state_dict() for obj in objects], stream)

    def put_back():
        stream.seek(0)
        for obj, state in zip(
            objects, torch.load(stream, weights_only=True), strict=True
        ):
            obj.load_state_dict(state)

    return put_back


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = Path(path)
    content = {"epoch": epoch}
    content["model_state_dict"], content["optimizer_state_dict"] = (
        model.state_dict(),
        optimizer.state_dict(),
    )
    content["best_metric"] = best_metric
    match scheduler, scaler:
        case None, None:
            pass
        case _, None:
            content["scheduler_state_dict"] = scheduler.state_dict()
        case None, _:
            content["grad_scaler_state_dict"] = scaler.state_dict()
        case _:
            content["scheduler_state_dict"] = scheduler.state_dict()
            content["grad_scaler_state_dict"] = scaler.state_dict()
    for folder in reversed(path.parents):
        folder.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        temporary = path.with_name(path.name + ".swp")
        stack.callback(temporary.unlink, missing_ok=True)
        torch.save(content, temporary)
        torch.load(temporary, weights_only=True, mmap=True)
        temporary.rename(path)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    content = torch.load(path, map_location=map_location, weights_only=True)
    names = {
        "model_state_dict": model,
        "optimizer_state_dict": optimizer,
        "scheduler_state_dict": scheduler,
        "grad_scaler_state_dict": scaler,
    }
    asked = {key: obj for key, obj in names.items() if obj is not None}
    if not asked.keys() <= content.keys():
        raise KeyError(f"missing: {sorted(asked.keys() - content.keys())}")
    put_back = _image(list(asked.values()))
    try:
        for key in asked:
            asked[key].load_state_dict(content[key])
    except Exception:
        put_back()
        raise
    return {"epoch": content.pop("epoch"), "best_metric": content.pop("best_metric")}
