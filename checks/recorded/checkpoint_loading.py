"""What a load does, in the terms of `checkpoint`'s contract.

The files are written by torch.save, so that nothing here depends on how the module
under test saves.
"""

from __future__ import annotations

import functools
import io
import os
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from checks import judging
from checks.checkpoint_files import (
    NO_SUCH_GPU,
    Payload,
    Place,
    folder,
    listing,
    written_on_a_gpu,
)
from checks.checkpoint_worlds import (
    KEYS,
    MODEL_MISFITS,
    OTHER_MISFITS,
    Content,
    Parts,
    Training,
)
from checks.recorded import Seen, attempt
from checks.recorded.checkpoint_saving import (
    BARE,
    BEST,
    EDGES,
    EPOCH,
    FULL,
    SMALL,
    save,
)
from checks.recorded.checkpoint_told import Watched, either_path, kind, returned, state

MIDDLE = Training("batchnorm", "momentum")
Change = Callable[[Content], object]
Load = tuple[Any, BaseException | None]


def load(kata: ModuleType, path: Path, asked: Content, **where: Any) -> Load:
    """Let the module under test load a file; return what it returned, or the error."""
    result: list[Any] = []
    error = judging.error_of(
        lambda: result.append(
            either_path(lambda p: kata.load_checkpoint(p, **asked, **where), path)
        )
    )
    return (result[0] if result else None), error


def whole(kata: ModuleType) -> Seen:
    """A file with all states, and more, is loaded into fresh objects."""
    parts, content = FULL.fresh(1), FULL.content(2, EPOCH, BEST)
    right, watched = FULL.states(2), Watched(parts)
    with folder() as place:
        path = place / "last.pt"
        torch.save({**content, "notes": ["mine"]}, path)
        before = path.read_bytes()
        value, error = load(kata, path, parts.given())
        kept = path.exists() and path.read_bytes() == before
    seen: Seen = {"error": kind(error), "the file is as it was": kept}
    after = parts.states()
    for name in parts.given():
        known = {
            "the file's": right[KEYS[name]],
            "as before": watched.before[KEYS[name]],
        }
        seen[name] = state(after[KEYS[name]], known)
    seen["parameters"] = watched.other_parameters()
    seen["flags changed"] = watched.other_flags()
    seen["returned"] = None if error else returned(value, EPOCH, BEST)
    return {**seen, **_goes_on(parts)}


def _goes_on(parts: Parts) -> Seen:
    """Tell whether two steps more end where the run without a break does."""
    _, error = attempt(lambda: FULL.train(parts, range(2, 4)))
    right, after = FULL.states(4), parts.states()
    wrong = [n for n in parts.given() if state(after[KEYS[n]], {"": right[KEYS[n]]})]
    return {"error two steps on": error, "differs two steps on": wrong}


def other_objects(kata: ModuleType) -> Seen:
    """Another scheduler, SGD with momentum, a mode and a flag of the caller's."""
    world = Training("batchnorm", "momentum", "onecycle", None)
    parts = world.fresh(1)
    parts.model.eval()
    next(iter(parts.model.parameters())).requires_grad_(False)
    watched = Watched(parts)
    with folder() as place:
        torch.save(world.content(2), place / "last.pt")
        _, error = load(kata, place / "last.pt", parts.given())
    right, after = world.states(2), parts.states()
    seen: Seen = {"error": kind(error), "flags changed": watched.other_flags()}
    for name in parts.given():
        known = {
            "the file's": right[KEYS[name]],
            "as before": watched.before[KEYS[name]],
        }
        seen[name] = state(after[KEYS[name]], known)
    return seen


def numbers(kata: ModuleType) -> Seen:
    """Zero and infinity are in the file."""
    model, seen = BARE.fresh().model, {}
    with folder() as place:
        for epoch, best in EDGES:
            torch.save(BARE.content(0, epoch, best), place / "last.pt")
            value, error = load(kata, place / "last.pt", {"model": model})
            name = f"epoch {epoch}, best_metric {best}"
            seen[name] = kind(error) or returned(value, epoch, best)
    return seen


class _Attempts:
    """Loads one file after the other into objects of another run, whole again each."""

    def __init__(self, kata: ModuleType, place: Path) -> None:
        """Load with the module under test, from a folder."""
        self.kata, self.path = kata, place / "last.pt"
        self.watched = Watched(MIDDLE.trained(1, 1))

    def load(self, change: Change) -> tuple[BaseException | None, list[str]]:
        """Load a file that was changed so; return the error and what has changed."""
        self.path.write_bytes(_changed_file(change))
        _, error = load(self.kata, self.path, self.watched.parts.given())
        changed = self.watched.changed()
        if changed:
            self.watched = Watched(MIDDLE.trained(1, 1))
        return error, changed


@functools.cache
def _changed_file(change: Change) -> bytes:
    content, buffer = MIDDLE.content(2), io.BytesIO()
    change(content)
    torch.save(content, buffer)
    return buffer.getvalue()


def missing(kata: ModuleType) -> Seen:
    """A state that is asked for is not in the file."""
    seen: Seen = {}
    with folder() as place:
        attempts = _Attempts(kata, place)
        for key, drop in LACKING.items():
            error, changed = attempts.load(drop)
            seen[f"no {key}: error"] = kind(error)
            seen[f"no {key}: the error names it"] = key in str(error)
            seen[f"no {key}: changed"] = changed
    return seen


def _lacking(key: str) -> Change:
    return lambda content: content.pop(key)


LACKING = {key: _lacking(key) for key in KEYS.values()}


def misfits(kata: ModuleType) -> Seen:
    """A state does not fit its object: the model's, another's, both."""
    seen: Seen = {}
    with folder() as place:
        attempts = _Attempts(kata, place)
        for name, change in MISFITS.items():
            error, changed = attempts.load(change)
            seen[f"{name}: error"] = kind(error)
            seen[f"{name}: changed"] = changed
    return seen


def _misfit(model: str | None, other: str | None) -> Change:
    def change(content: Content) -> None:
        if model:
            MODEL_MISFITS[model][1](content[KEYS["model"]])
        if other:
            OTHER_MISFITS[other][2](content)

    return change


MISFITS = {
    **{
        f"the model {MODEL_MISFITS[name][0]}": _misfit(name, None)
        for name in ("one short", "one more", "one row", "transposed")
    },
    **{
        f"the {OTHER_MISFITS[name][0]} {OTHER_MISFITS[name][1]}": _misfit(None, name)
        for name in ("another group", "fewer parameters", "another kind", "half")
    },
    **{
        f"neither the model nor the {OTHER_MISFITS[name][0]} fits": _misfit(
            "one short", name
        )
        for name in ("another group", "another kind")
    },
}


def asked_for_less(kata: ModuleType) -> Seen:
    """States that nobody asked for are odd, or not there."""
    seen: Seen = {}
    with folder() as place:
        for asked in (["model"], ["model", "optimizer"], ["model", "scheduler"]):
            parts = SMALL.fresh(1)
            arguments = {n: p for n, p in parts.given().items() if n in asked}
            for how in ("not there", "odd"):
                content = SMALL.content(2)
                for name in KEYS.keys() - set(asked):
                    content[KEYS[name]] = {"of": "another kind"}
                    if how == "not there":
                        del content[KEYS[name]]
                torch.save(content, place / "last.pt")
                _, error = load(kata, place / "last.pt", arguments)
                said = f"asked for {' and '.join(asked)}, the rest is {how}"
                seen[said] = kind(error)
    return seen


def files(kata: ModuleType) -> Seen:
    """Files that are not there, from a GPU, with code, under other kinds of paths."""
    seen: Seen = {}
    parts, here = SMALL.trained(1, 1), SMALL.content(2)
    watched = Watched(parts)
    with folder() as place:
        value, error = load(kata, place / "a" / "last.pt", parts.given())
        seen["no file: error"] = kind(error) or f"returned a {type(value).__name__}"
        seen["no file: made"] = len(listing(place))
        seen["no file: changed"] = watched.changed()

        torch.save({**here, "notes": Payload(place / "owned")}, place / "last.pt")
        _, error = load(kata, place / "last.pt", parts.given())
        seen["code in the file: refused"] = error is not None
        seen["code in the file: ran"] = (place / "owned").exists()

        (place / "last.pt").write_bytes(_from_a_gpu())
        _, error = load(kata, place / "last.pt", SMALL.fresh().given())
        seen["from a GPU: error"] = kind(error)
        cpu = torch.device("cpu")
        _, error = load(
            kata, place / "last.pt", SMALL.fresh().given(), map_location=cpu
        )
        seen["from a GPU, map_location cpu: error"] = kind(error)

        torch.save(here, place / "last.pt")
        for name, make in {"str": str, "Path": Path, "PathLike": Place}.items():
            path: Any = make(place / "last.pt")
            error = judging.error_of(lambda p=path: kata.load_checkpoint(p, **_model()))
            seen[f"a {name}: error"] = kind(error)
        _, error = load(kata, place / "last.pt", _model(), map_location=NO_SUCH_GPU)
        seen["map_location of no device: refused"] = error is not None
    return seen


def _model() -> Content:
    return {"model": SMALL.fresh().model}


@functools.cache
def _from_a_gpu() -> bytes:
    return written_on_a_gpu(SMALL.content(2))


def surroundings(kata: ModuleType) -> Seen:
    """Settings, the working directory and the random states, of a save and a load."""
    parts = SMALL.trained(1)
    with folder() as place:
        (place / "there").mkdir()
        calls: dict[str, Callable[[Any], Any]] = {
            "save": lambda p: save(kata, p, parts, epoch=0),
            "load": lambda p: kata.load_checkpoint(p, **parts.given()),
        }
        return {
            f"{name}: {what}": value
            for name, call in calls.items()
            for what, value in _around(call, place / "last.pt").items()
        }


def _around(call: Callable[[Any], Any], path: Path) -> Seen:
    ends: list[dict[str, Any]] = []
    changed: list[str] = []
    for seed in (1, 2):
        with judging.restored_settings():
            _seed(seed)
            os.chdir(path.parent / "there")
            before = judging.settings()
            torch.save(SMALL.content(1), path)
            attempt(lambda: either_path(call, path))
            after = judging.settings()
            changed = [name for name in before if before[name] != after[name]]
            ends.append(judging.random_states())
    moved = not path.parent.joinpath("there").samefile(os.getcwd())
    same = [name for name in ends[0] if ends[0][name] == ends[1][name]]
    return {"settings changed": changed, "folder left": moved, "seeds": same}


def _seed(seed: int) -> None:
    torch.default_generator.manual_seed(seed)  # torch.manual_seed takes 2 ms
    random.seed(seed)
    np.random.seed(seed)
