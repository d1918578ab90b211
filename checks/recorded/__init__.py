"""What a solution does, as plain data: the ground on which mistakes are named.

A record maps what was looked at ("uneven · returned") to what was seen there, in plain
JSON values. Two programs that do the same have the same record, however they are
written; a mistake is known by where its record departs from the reference's.

`checks/recorded/NAME.py` defines `WORLDS`, a dict from a world's name to a function of
the module under test that returns what was seen in that world. What is seen should not
depend on another mistake in the same file: say "the gradient is that of batches 1 and
2" rather than give numbers that also hold every earlier slip.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from types import CodeType, ModuleType
from typing import Any

from checks.judging import restored_settings, seed_everything

Seen = dict[str, Any]
Record = dict[str, Any]
Worlds = Mapping[str, Callable[[ModuleType], Seen]]


def record(name: str, kata: ModuleType) -> Record:
    """Run the module under test in each recorded world of the kata `name`."""
    worlds: Worlds = import_module(f"checks.recorded.{name}").WORLDS
    result: Record = {}
    for world, look in worlds.items():
        with restored_settings():
            seed_everything(0)
            seen = look(kata)
        result.update({f"{world} · {what}": value for what, value in seen.items()})
    return result


def fresh(kata: ModuleType) -> ModuleType:
    """Run the file of the module under test anew: without what earlier calls left."""
    path = str(kata.__file__)
    module = ModuleType(kata.__name__)
    module.__file__ = path
    exec(_compiled("".join(linecache.getlines(path)), path), module.__dict__)
    return module


@lru_cache(maxsize=4)
def _compiled(text: str, path: str) -> CodeType:
    return compile(text, path, "exec", dont_inherit=True)


def attempt(call: Callable[[], Any]) -> tuple[Any, str | None]:
    """Return (what `call` returned, None), or (None, the kind of error it raised)."""
    try:
        return call(), None
    except Exception as error:
        return None, kind_of(error)


def kind_of(error: BaseException) -> str:
    """Name an error by its kind; a ValueError of one's own is a ValueError."""
    kinds = (ValueError, KeyError, AssertionError, ZeroDivisionError, TypeError)
    for kind in kinds:
        if isinstance(error, kind):
            return kind.__name__
    return type(error).__name__


def agree(one: Any, other: Any) -> bool:
    """Whether two recorded values are the same, floats to 1e-6."""
    if isinstance(one, float) and isinstance(other, (float, int)):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(agree, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(agree(one[k], other[k]) for k in one)
    return bool(one == other)
