"""How the worlds of `checkpoint` tell numbers, states, and what has changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from checks import judging
from checks.checkpoint_worlds import KEYS, Content, Parts, difference
from checks.recorded import attempt, kind_of

MISSING = "nothing there"
WRONG_KIND_OF_PATH = (TypeError, AttributeError, AssertionError)


def kind(error: BaseException | None) -> str | None:
    """Name an error by its kind: one of one's own is of the kind it is made from."""
    if error is None:
        return None
    known = (KeyError, FileNotFoundError, FileExistsError, RuntimeError)
    return next((k.__name__ for k in known if isinstance(error, k)), kind_of(error))


def either_path(call: Callable[[Any], Any], path: Path) -> Any:
    """Call with a Path, and with a `str` where that fails as a wrong kind would.

    So a file that takes one kind only is told once, and hides nothing else.
    """
    try:
        return call(path)
    except WRONG_KIND_OF_PATH:
        return call(str(path))


def number(value: Any, right: float) -> Any:
    """Tell a number by what it is to the one that was given."""
    if value is None or value == MISSING:
        return value
    found = judging.number(value)
    if math.isnan(found):
        return type(value).__name__
    if math.isinf(right):
        return "as given" if found == right else str(found)
    slips = {right: "as given", right + 1: "one more", right - 1: "one less"}
    return slips.get(found, found if math.isfinite(found) else str(found))


def returned(value: Any, epoch: int, best: float) -> Any:
    """Tell what a load returned, where the file holds these two."""
    if not isinstance(value, dict):
        return type(value).__name__
    right = {"epoch": epoch, "best_metric": best}
    told = {key: number(value.get(key, MISSING), right[key]) for key in right}
    for key, number_ in right.items():
        if told[key] == "as given" and not isinstance(value[key], type(number_)):
            told[key] = f"as given, a {type(value[key]).__name__}"
    return {**told, "more": sorted(map(str, value.keys() - right.keys()))}


def state(got: Any, known: Mapping[str, Any]) -> str:
    """Name a state: the first of the known ones it is, or how it differs from that."""
    for name, one in known.items():
        if difference(got, one) is None:
            return name
    return difference(got, next(iter(known.values()))) or MISSING


class Watched:
    """The caller's objects, and how they were at first."""

    def __init__(self, parts: Parts) -> None:
        """Remember how they are now."""
        self.parts, self.before = parts, parts.states()
        self.parameters = _identities(parts.model)
        self.flags = _flags(parts.model)

    def changed(self) -> list[str]:
        """Tell what is no longer as it was, in any way."""
        after = {KEYS[n]: _live(part) for n, part in self.parts.given().items()}
        names = [n for n in self.parts.given() if n != "model"]
        changed = self._changed_tensors(after)
        changed += [
            n for n in names if difference(after[KEYS[n]], self.before[KEYS[n]])
        ]
        return changed + self.other_parameters() + self.other_flags()

    def other_parameters(self) -> list[str]:
        """Tell whether the model or the optimizer holds other parameters."""
        found = []
        if _identities(self.parts.model) != self.parameters:
            found.append("the model's parameters are other objects")
        groups = self.parts.optimizer.param_groups
        held = {id(p) for group in groups for p in group["params"]}
        if not held <= set(self.parameters.values()):
            found.append("the optimizer holds other parameters")
        return found

    def other_flags(self) -> list[str]:
        """Tell whether modes or requires_grad are others."""
        now = _flags(self.parts.model)
        return [kind for kind in now if now[kind] != self.flags[kind]]

    def _changed_tensors(self, after: Content) -> list[str]:
        now, then = after[KEYS["model"]], self.before[KEYS["model"]]
        if not isinstance(now, Mapping) or now.keys() != then.keys():
            return ["parameters"]
        kinds = {
            "parameters" if name in self.parameters else "buffers"
            for name in then
            if difference(now[name], then[name])
        }
        return sorted(kinds, reverse=True)


def _live(part: Any) -> Any:
    """Return a state without a copy, or what a wrong load has made of it."""
    found, error = attempt(part.state_dict)
    return found if error is None else f"broken: {error}"


def _identities(model: nn.Module) -> dict[str, int]:
    named = model.named_parameters(remove_duplicate=False)
    return {name: id(parameter) for name, parameter in named}


def _flags(model: nn.Module) -> dict[str, list[bool]]:
    return {
        "modes": [module.training for module in model.modules()],
        "requires_grad": [p.requires_grad for p in model.parameters()],
    }


def content_difference(content: Any, given: Parts) -> list[str]:
    """Name the keys of states in a file that are not of the objects given."""
    right = {KEYS[name] for name in given.given()}
    if not isinstance(content, dict):
        return []
    return [key for key in KEYS.values() if key in content and key not in right]
