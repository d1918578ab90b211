"""Recorded worlds of a function that trains for an epoch.

Each takes `call`, which calls the function under test: `call(kata, model, batches,
optimizer)`. So `train_epoch` and its relatives share them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch

from checks.judging import number, random_states, seed_everything, settings
from checks.oracles import right_epoch
from checks.recorded import Seen, attempt
from checks.recorded.training import modes_after, told_forwards
from checks.recorders import Batches, Elsewhere, GraphWatch, Look, Run, parameters_of
from checks.worlds import OPTIMIZERS, World, build

Call = Callable[..., Any]
Worlds = dict[str, Callable[[ModuleType], Seen]]


def trained(
    world: World, call: Call, kata: ModuleType, epochs: int = 1
) -> tuple[Run, str | None]:
    """Train in `world`; return the run and the kind of error it ended in."""
    run = world.begin()
    for _ in range(epochs):
        stream = Batches(world.batches(), run.log)
        _, error = attempt(
            lambda s=stream: run.call(lambda: call(kata, run.model, s, run.optimizer))
        )
        if error:
            return run, error
    return run, None


def whole(
    world: World, call: Call, tell: Callable[[World, Run], Seen], epochs: int = 1
) -> Callable[[ModuleType], Seen]:
    """Everything that `tell(world, run)` says of a run."""

    def look(kata: ModuleType) -> Seen:
        run, error = trained(world, call, kata, epochs)
        return {"error": error, **tell(world, run)}

    return look


def surroundings(call: Call, sizes: Sequence[int] = (3, 2)) -> Worlds:
    """Return the worlds that look at everything but the updates."""

    def with_modes(network: str) -> Callable[[ModuleType], Seen]:
        """BatchNorm and dropout: modes, and how often the statistics moved."""
        world = World(sizes, network=network, optimizer="momentum", training=False)

        def look(kata: ModuleType) -> Seen:
            run, error = trained(world, call, kata)
            counts = [int(b) for n, b in run.buffers.items() if n.endswith("tracked")]
            return {
                "error": error,
                **told_forwards(run),
                "modes after": modes_after(run),
                # more often than there are batches is told by the further forwards
                "statistics moved": [min(count, len(sizes)) for count in counts],
            }

        return look

    def empty(kata: ModuleType) -> Seen:
        world = World([0, 0], network="mlp", optimizer="decay", stale=True)
        run, error = trained(world, call, kata)
        return {
            "error": error,
            "returned": None if run.returned is None else str(number(run.returned)),
            "forwards": len(run.log.forwards),
            "steps": len(run.log.steps),
        }

    def standing_still(kata: ModuleType) -> Seen:
        """Learning rate 0, an empty batch among the rest: the value and its type."""
        world = World([4, 0, 1, 2], optimizer="standstill")
        run, error = trained(world, call, kata)
        right = right_epoch(world)
        slips = {"right": right.mean_loss, **right.averaging_slips()}
        value = number(run.returned)
        names = [n for n, x in slips.items() if x is not None and abs(value - x) < 1e-6]
        is_float = isinstance(run.returned, float)
        kind = "float" if is_float else type(run.returned).__name__
        return {"error": error, "type": kind, "value": names[0] if names else value}

    def elsewhere(kata: ModuleType, features: bool, targets: bool) -> Seen:
        """Features or targets on another device: what reached the model, and failed."""
        world = World(sizes)
        run = world.begin()
        batches = [
            (Elsewhere(x) if features else x, Elsewhere(y) if targets else y)
            for x, y in world.batches()
        ]
        _, error = attempt(lambda: call(kata, run.model, batches, run.optimizer))
        return {
            "error": error,
            "features not moved": any(f.elsewhere for f in run.log.forwards),
            "steps": len(run.log.steps),
        }

    def many(kata: ModuleType) -> Seen:
        """A long epoch at learning rate 0: windows and early ends show here alone."""
        world = World([3, 1] * 30, network="linear", optimizer="standstill")
        run, error = trained(world, call, kata)
        is_right = abs(number(run.returned) - right_epoch(world).mean_loss) < 1e-6
        forwards = min(len(run.log.forwards), len(world.sizes))
        return {"error": error, "mean over all": is_right, "forwards": forwards}

    def shaped(network: str) -> Callable[[ModuleType], Seen]:
        """Features that are no float64 matrix."""
        world = World(sizes, network=network)
        right = {(str(x.dtype), tuple(x.shape)) for x, _ in world.batches()}

        def look(kata: ModuleType) -> Seen:
            run, error = trained(world, call, kata)
            came = {(str(f.dtype), f.shape) for f in run.log.forwards}
            return {"error": error, "as they came": came <= right}

        return look

    return {
        "many batches": many,
        "images": shaped("image"),
        "tokens": shaped("embedding"),
        "batchnorm": with_modes("batchnorm"),
        "dropout": with_modes("dropout"),
        "no samples": empty,
        "standing still": standing_still,
        "both elsewhere": lambda kata: elsewhere(kata, True, True),
        "features elsewhere": lambda kata: elsewhere(kata, True, False),
        "targets elsewhere": lambda kata: elsewhere(kata, False, True),
        "what is the caller's": lambda kata: callers(call, kata, sizes),
    }


def graphs(call: Call, tell: Callable[[Look], Any]) -> Callable[[ModuleType], Seen]:
    """What `tell` says of the graphs that are alive when each forward starts."""

    def look(kata: ModuleType) -> Seen:
        world = World([3, 2, 4, 1])
        watch = GraphWatch(build(world.network, world.seed), world.known())
        optimizer = OPTIMIZERS["sgd"](list(watch.parameters()))
        _, error = attempt(lambda: call(kata, watch, world.batches(), optimizer))
        return {"error": error, "alive": [tell(look) for look in watch.looks]}

    return look


def callers(call: Call, kata: ModuleType, sizes: Sequence[int]) -> Seen:
    """What is the caller's: inputs, flags, settings, random state, passes."""
    world = World(sizes, network="frozen")
    run = world.begin()
    stream = Batches(world.batches(), run.log)
    flags = [p.requires_grad for p in run.model.parameters()]
    before = {name: str(value) for name, value in settings().items()}
    ends, error = [], None
    for seed in (1, 2):
        seed_everything(seed)
        _, error = attempt(lambda: call(kata, run.model, stream, run.optimizer))
        ends.append(random_states())
    after = {name: str(value) for name, value in settings().items()}
    pairs = zip(stream.batches, world.batches(), strict=True)
    left = parameters_of(run.model)
    return {
        "error": error,
        "inputs changed": [
            x.requires_grad or not (torch.equal(x, a) and torch.equal(y, b))
            for (x, y), (a, b) in pairs
        ],
        "flags changed": flags != [p.requires_grad for p in run.model.parameters()],
        "settings changed": before != after,
        "seeded": any(ends[0][name] == ends[1][name] for name in ends[0]),
        "passes": stream.passes,
        "known features": all(f.batch is not None for f in run.log.forwards),
        "moved": [n for n, p in left.items() if not torch.equal(p, run.entered[n])],
    }
