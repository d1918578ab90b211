# mistakes: none
# A frozen dataclass with a dry run on deep copies; nothing is undone since nothing fails.
from __future__ import annotations

import copy
import dataclasses
import os
import shutil
import tempfile
from typing import Any

import torch


@dataclasses.dataclass(frozen=True)
class Entry:
    key: str
    target: Any

    def dry_run(self, content):
        copy.deepcopy(self.target).load_state_dict(copy.deepcopy(content[self.key]))

    def run(self, content):
        self.target.load_state_dict(content[self.key])


def entries(**targets):
    return tuple(
        Entry(f"{k}_state_dict", t) for k, t in targets.items() if t is not None
    )


def save_checkpoint(
    path, *, model, optimizer, epoch, best_metric, scheduler=None, scaler=None
):
    path = os.path.abspath(os.fspath(path))
    base = os.path.dirname(path)
    if not os.path.isdir(base):
        os.makedirs(base)
    content: dict[str, Any] = {
        e.key: e.target.state_dict()
        for e in entries(
            model=model, optimizer=optimizer, scheduler=scheduler, grad_scaler=scaler
        )
    }
    content["best_metric"], content["epoch"] = best_metric, epoch
    content["when"] = "now"
    staging = tempfile.mkdtemp(dir=base)
    try:
        torch.save(
            content, os.path.join(staging, "file"), _use_new_zipfile_serialization=False
        )
        os.replace(os.path.join(staging, "file"), path)
    finally:
        shutil.rmtree(staging)


def load_checkpoint(
    path, *, model, optimizer=None, scheduler=None, scaler=None, map_location="cpu"
):
    content = torch.load(path, map_location=map_location, weights_only=True)
    chosen = entries(
        model=model, optimizer=optimizer, scheduler=scheduler, grad_scaler=scaler
    )
    for entry in chosen:
        entry.dry_run(content)
    for entry in chosen:
        entry.run(content)
    return dict(epoch=content["epoch"], best_metric=content["best_metric"])
