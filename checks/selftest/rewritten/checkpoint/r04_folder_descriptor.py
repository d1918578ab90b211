# mistakes: none
# System calls by hand: O_EXCL, fsync, a rename within an open folder.
import copy
import os

import torch


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    head, tail = os.path.split(os.fspath(path))
    head = head or os.curdir
    os.makedirs(head, exist_ok=True)
    states = {"epoch": epoch, "best_metric": best_metric}
    for key, owner in zip(
        (
            "model_state_dict",
            "optimizer_state_dict",
            "scheduler_state_dict",
            "grad_scaler_state_dict",
        ),
        (model, optimizer, scheduler, scaler),
    ):
        if owner is not None:
            states[key] = owner.state_dict()
    directory = os.open(head, os.O_RDONLY | os.O_DIRECTORY)
    hidden = f".{tail}.{os.urandom(4).hex()}"
    try:
        number = os.open(
            hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=directory
        )
        with open(number, "wb") as stream:
            torch.save(states, stream)
            stream.flush()
            os.fsync(number)
        os.rename(hidden, tail, src_dir_fd=directory, dst_dir_fd=directory)
        os.fsync(directory)
    except BaseException:
        try:
            os.unlink(hidden, dir_fd=directory)
        except OSError:
            pass
        raise
    finally:
        os.close(directory)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    with open(path, "rb") as stream:
        states = torch.load(stream, map_location=map_location, weights_only=True)
    owners = [model, optimizer, scheduler, scaler]
    keys = [
        "model_state_dict",
        "optimizer_state_dict",
        "scheduler_state_dict",
        "grad_scaler_state_dict",
    ]
    for index in reversed(range(4)):
        if owners[index] is None:
            del owners[index], keys[index]
    new = list(map(states.__getitem__, keys))
    old = [copy.deepcopy(owner.state_dict()) for owner in owners]
    count = 0
    try:
        while count < len(owners):
            count += 1
            owners[count - 1].load_state_dict(new[count - 1])
    except BaseException:
        for index in range(count):
            owners[index].load_state_dict(old[index])
        raise
    return {"epoch": states["epoch"], "best_metric": states["best_metric"]}
