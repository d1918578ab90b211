"""What a save does, in the terms of `checkpoint`'s contract."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from checks.checkpoint_files import (
    PathWatch,
    Peek,
    Place,
    Unpicklable,
    folder,
    listing,
)
from checks.checkpoint_worlds import KEYS, Content, Parts, Training
from checks.judging import error_of
from checks.recorded import Seen, attempt, kind_of
from checks.recorded.checkpoint_told import (
    MISSING,
    Watched,
    content_difference,
    either_path,
    kind,
    number,
    state,
)

FULL = Training()
SMALL = Training("linear", "momentum")
BARE = Training("linear", "momentum", None, None)
EPOCH, BEST = 7, 0.123456789
EDGES = ((0, 0.5), (1, 0.0), (1, float("inf")), (1, -float("inf")))


def save(
    kata: ModuleType, path: Any, parts: Parts, epoch: int = EPOCH, best: float = BEST
) -> None:
    """Let the module under test save all objects that there are."""
    kata.save_checkpoint(path, **parts.given(), epoch=epoch, best_metric=best)


def saved(kata: ModuleType, path: Path, parts: Parts, **numbers: Any) -> str | None:
    """Save, where the folder may need to be new; return the kind of error."""
    path.parent.mkdir(exist_ok=True)

    def call(path: Any) -> None:
        try:
            save(kata, path, parts, **numbers)
        except FileExistsError:  # what it says about folders is told in `paths`
            os.rmdir(os.path.dirname(path))
            save(kata, path, parts, **numbers)

    return kind(error_of(lambda: either_path(call, path)))


def whole(kata: ModuleType) -> Seen:
    """A run with all objects is saved: what the file holds, what has changed."""
    parts = FULL.trained(2)
    parts.model.train(False)
    list(parts.model.children())[1].train(True)
    next(iter(parts.model.parameters())).requires_grad_(False)
    watched = Watched(parts)
    with folder() as place:
        path = place / "runs" / "last.pt"
        error = saved(kata, path, parts)
        told, content = read(path)
    seen = {"error": error, "file": told, **_told_content(content)}
    return {**seen, "objects changed": watched.changed()}


def _told_content(content: Content) -> Seen:
    fresh, right, start = FULL.fresh(1), FULL.states(2), FULL.states(0)
    seen: Seen = {
        "epoch": number(content.get("epoch", MISSING), EPOCH),
        "best_metric": number(content.get("best_metric", MISSING), BEST),
    }
    for name, part in fresh.given().items():
        key = KEYS[name]
        known = {"whole": right[key], "as before any step": start[key]}
        seen[key] = _loaded(part, content.get(key, MISSING), known)
    return seen


def _loaded(part: Any, value: Any, known: Seen) -> Any:
    """Tell what a fresh object is after it has loaded a state from the file."""
    if value is None or value == MISSING:
        return value
    if not isinstance(value, dict):
        return f"a {type(value).__name__}"
    _, error = attempt(lambda: part.load_state_dict(value))
    if error is None:
        return state(part.state_dict(), known)
    right = next(iter(known.values()))
    return [error, sorted(map(str, right.keys() ^ value.keys()))]


def read(path: Path) -> tuple[str, Content]:
    """Tell how the file is to be read, and return what it holds, {} if nothing."""
    if not path.is_file():
        return ("a folder" if path.is_dir() else MISSING), {}
    try:
        content = torch.load(path, weights_only=True)
        how = "one dict" if isinstance(content, dict) else type(content).__name__
    except Exception as error:
        found = re.search(r"GLOBAL (\w+)", str(error))
        how = f"refused: {found[1] if found else kind_of(error)}"
        content = _read_anyway(path)
    return how, content if isinstance(content, dict) else {}


def _read_anyway(path: Path) -> Any:
    """Read a file that weights_only=True refuses; it is the candidate's own."""
    for load in (
        lambda: torch.load(path, weights_only=False),
        lambda: pickle.loads(path.read_bytes()),
    ):
        content, error = attempt(load)
        if error is None:
            return content
    return {}


def numbers(kata: ModuleType) -> Seen:
    """Zero and infinity are saved, without scheduler and scaler."""
    seen: Seen = {}
    parts = BARE.fresh()
    with folder() as place:
        path = place / "runs" / "last.pt"
        for epoch, best in EDGES:
            error = saved(kata, path, parts, epoch=epoch, best=best)
            _, content = read(path)
            _remove(path)
            seen[f"epoch {epoch}, best_metric {best}"] = error or [
                number(content.get("epoch", MISSING), epoch),
                number(content.get("best_metric", MISSING), best),
            ]
    seen["keys for what was not given"] = content_difference(content, parts)
    return seen


def over_an_old_file(kata: ModuleType) -> Seen:
    """A second save: what is done to the path, and what is left beside it."""
    parts = SMALL.trained(1)
    with _desk() as place:
        path = place / "runs" / "last.pt"
        parts.scheduler.peek = peek = Peek(path)
        parts.optimizer.param_groups[0]["peek"] = peek
        inode = path.stat().st_ino
        with PathWatch(path) as watch:
            error = _saved_again(kata, path, parts)
        there = path.is_file()
        in_place = there and path.stat().st_ino == inode
        written = there and path.read_bytes() != peek.content
        left = _left(place)
    return {
        "error": kind(error),
        "the old file while states are written": _told_looks(peek.holds),
        "done to the path": sorted(set(watch.deeds)),
        "overwritten in place": bool(in_place and written),
        "renamed from another folder": any(
            path.parent not in source.parents for source in watch.sources
        ),
        "the file afterwards": "new" if written else "old" if there else MISSING,
        "files left beside": left,
    }


@contextlib.contextmanager
def _desk() -> Iterator[Path]:
    """Give a folder with `runs`, which holds an old file, and `here`, where one is."""
    with folder() as place:
        for name in ("runs", "here"):
            (place / name).mkdir()
        torch.save(SMALL.content(0), place / "runs" / "last.pt")
        os.chdir(place / "here")
        yield place


def _saved_again(kata: ModuleType, path: Path, parts: Parts) -> BaseException | None:
    return error_of(lambda: either_path(lambda p: save(kata, p, parts), path))


def _left(place: Path) -> list[str]:
    """In which folders there are how many files that nobody asked for; remove them."""
    known = {"runs", "here", "runs/last.pt"}
    left = [name for name in listing(place) if name not in known]
    for name in reversed(left):
        _remove(place / name)
    tops = [Path(name).parts[0] for name in left]
    return [f"{tops.count(top)} in {top}" for top in sorted(set(tops))]


def _told_looks(holds: list[str | None]) -> list[str]:
    looks = {"no file" if "no file" in look else "torn" for look in holds if look}
    return sorted(looks)


def _remove(path: Path) -> None:
    """Remove what lies at a path, a folder too where a module has made one."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def failing(kata: ModuleType) -> Seen:
    """Saving ends in an error halfway, over an old file and where there is none."""
    seen: Seen = {}
    with _desk() as place:
        path = place / "runs" / "last.pt"
        old = path.read_bytes()
        seen.update(_failed(kata, path, _unpicklable(), "a state cannot be pickled"))
        _remove(path)
        name = "no old file, and a state cannot be pickled"
        seen.update(_failed(kata, path, _unpicklable(), name))
        _remove(path)
        path.write_bytes(old)
        name = "the scheduler's state_dict() raises"
        seen.update(_failed(kata, path, _without_state_dict(), name))
    return seen


def _failed(kata: ModuleType, path: Path, parts: Parts, name: str) -> Seen:
    before = path.read_bytes() if path.is_file() else b""
    error = _saved_again(kata, path, parts)
    after = MISSING
    if path.is_file():
        after = "the old file" if path.read_bytes() == before else "another file"
    return {
        f"{name}: raises": error is not None,
        f"{name}: at the path": after,
        f"{name}: files left beside": _left(path.parent.parent),
    }


def _unpicklable() -> Parts:
    """A run whose every state is such, so that no state left out hides it."""
    parts, bad = SMALL.trained(1), Unpicklable()
    parts.model.get_extra_state = lambda: bad
    parts.optimizer.param_groups[0]["extra"] = bad
    parts.scheduler.extra = bad
    return parts


def _without_state_dict() -> Parts:
    parts = SMALL.trained(1)
    parts.scheduler.state_dict = Unpicklable().__reduce__
    return parts


def paths(kata: ModuleType) -> Seen:
    """Kinds of paths, folders that are there or not, a bare name."""
    parts, seen = BARE.fresh(), {}
    kinds = {"str": str, "Path": Path, "PathLike": Place}
    with folder() as place:
        os.chdir(place)
        for name, make in kinds.items():
            path = make(place / f"{name}.pt")
            error = error_of(lambda p=path: save(kata, p, parts))
            seen[f"a {name}"] = kind(error) or (place / f"{name}.pt").is_file()
        for name in ("a/last.pt", "b/c/d/last.pt"):
            error = _saved_again(kata, place / name, parts)
            seen[f"new folders, {name}"] = kind(error) or (place / name).is_file()
        for name in ("last.pt", "e/last.pt", "a.b.c"):
            error = _saved_again(kata, Path(name), parts)
            seen[f"{name!r} alone"] = kind(error) or (place / name).is_file()
    return seen
