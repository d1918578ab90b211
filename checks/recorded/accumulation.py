"""The worlds in which mistakes in `accumulation` are told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from torch import nn

from checks.recorded import Seen, attempt
from checks.recorded.training import Formulas, averages, of_run
from checks.recorded.training_worlds import graphs, surroundings, whole
from checks.recorders import Batches, Look, Run
from checks.worlds import World

STEPS = 2
ENDS = {None: "accepted", "ValueError": "refused"}
SEVERITY = ("accepted", "another error", "refused late", "refused")


def _call(
    kata: ModuleType, model: nn.Module, batches: Any, optimizer: Any, steps: Any = STEPS
) -> Any:
    return kata.train_epoch_accumulated(model, batches, optimizer, steps)


def _tell(world: World, run: Run) -> Seen:
    """Reading a group ahead and reading one batch at a time are both right."""
    return {
        "places": _places(run),
        "held": _held(world, run),
        **of_run(world, run, _means),
    }


def _places(run: Run) -> list[int]:
    """How many forwards on batches with samples came before each step."""
    places, forwards = [], 0
    for kind, batch in run.log.events:
        forwards += kind == "forward" and batch is not None
        if kind == "step":
            places.append(forwards)
    return places


def _held(world: World, run: Run) -> int:
    """The most batches held unforwarded, where more than a group and one."""
    asked: set[int | None] = set()
    most = 0
    for kind, batch in run.log.events:
        if kind == "asked" and world.sizes[batch or 0]:
            asked.add(batch)
        elif kind == "forward":
            asked.discard(batch)
        most = max(most, len(asked))
    return most if most > STEPS + 1 else 0


def _means(
    sizes: Sequence[int],
    before: Sequence[float],
    after: Sequence[float],
    at_end: Sequence[float],
) -> Formulas:
    """Ways to average the losses; those of groups as well."""
    result = averages(sizes, before, after, at_end)
    groups = [slice(i, i + STEPS) for i in range(0, len(sizes), STEPS)]
    weighed = [x * n for x, n in zip(before, sizes, strict=True)]
    of_groups = [math.fsum(weighed[g]) / sum(sizes[g]) for g in groups]
    scaled = {
        f"{name}, divided by accumulation_steps": x / STEPS
        for name, x in result.items()
    }
    return {
        **result,
        **scaled,
        "the mean of group means": math.fsum(of_groups) / len(of_groups),
        "the last group's loss": of_groups[-1],
        "the mean over the full groups": math.fsum(
            weighed[: len(sizes) // STEPS * STEPS]
        )
        / max(sum(sizes[: len(sizes) // STEPS * STEPS]), 1),
    }


def _argument(kata: ModuleType) -> Seen:
    """The worst that a bad value of `accumulation_steps` ends in."""
    ends = set()
    for steps in (0, -1, 2.0, 1.5, "2", None):
        world = World([3, 2])
        run = world.begin()
        stream = Batches(world.batches(), run.log)
        _, error = attempt(
            lambda r=run, s=stream, k=steps: _call(kata, r.model, s, r.optimizer, k)
        )
        late = error == "ValueError" and run.log.count("asked")
        ends.add("refused late" if late else ENDS.get(error, "another error"))
    return {"a bad value is": next(end for end in SEVERITY if end in ends)}


def _callers_list(kata: ModuleType) -> Seen:
    world = World([3, 2])
    run = world.begin()
    batches = world.batches()
    _, error = attempt(lambda: _call(kata, run.model, batches, run.optimizer))
    return {"error": error, "length": len(batches)}


def _saved(look: Look) -> list[list[int]]:
    """Graphs whose tensors are still there, and graphs of batches before the last."""
    old = [batch for batch in look.graphs if batch < look.batch - 1]
    return [list(look.saved), old]


def _one_group(kata: ModuleType, model: nn.Module, batches: Any, optimizer: Any) -> Any:
    return _call(kata, model, batches, optimizer, 8)


WORLDS = {
    "even groups": whole(World([3, 3, 3, 3]), _call, _tell, epochs=2),
    "uneven batches": whole(World([4, 1, 2, 3]), _call, _tell),
    "a smaller last group": whole(World([3, 3, 3]), _call, _tell, epochs=2),
    "one small group": whole(World([2, 2, 2]), _one_group, _tell),
    "momentum": whole(
        World([4, 2, 3, 1, 2, 3], optimizer="momentum"), _call, _tell, epochs=2
    ),
    "an empty batch first": whole(World([0, 3, 2, 1]), _call, _tell),
    "stale gradients": whole(World([3, 2], stale=True), _call, _tell),
    "empty batches": whole(
        World([3, 0, 2, 4, 0, 1, 0], optimizer="momentum"), _call, _tell
    ),
    "argument": _argument,
    "the caller's list": _callers_list,
    "graphs": graphs(_call, _saved),
    "graphs of one group": graphs(_one_group, _saved),
    **surroundings(_call),
}
