"""The worlds in which mistakes in `train_epoch` are told apart."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torch import nn

from checks.recorded import Seen
from checks.recorded.training import averages, of_run, order
from checks.recorded.training_worlds import graphs, surroundings, whole
from checks.recorders import Look, Run
from checks.worlds import World


def _call(kata: ModuleType, model: nn.Module, batches: Any, optimizer: Any) -> Any:
    return kata.train_epoch(model, batches, optimizer)


def _tell(world: World, run: Run) -> Seen:
    return {"order": order(run), **of_run(world, run, averages)}


def _old(look: Look) -> list[int]:
    """The batches but the one just before whose graph is still there."""
    return [batch for batch in look.graphs if batch < look.batch - 1]


WORLDS = {
    "two epochs": whole(World([4, 2, 3]), _call, _tell, epochs=2),
    "stale gradients": whole(
        World([3, 2], optimizer="momentum", stale=True), _call, _tell
    ),
    "empty batches": whole(World([3, 0, 2], optimizer="momentum"), _call, _tell),
    "momentum": whole(World([2, 3], optimizer="momentum"), _call, _tell, epochs=2),
    "graphs": graphs(_call, _old),
    **surroundings(_call),
}
