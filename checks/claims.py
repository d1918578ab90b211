"""Claims that several katas make in the same words, as assertions to call from a check.

Each says in numbers what was given, what came back and what is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from checks import judging
from checks.recorders import Batch, Log


def assert_features_came_through(log: Log, batches: Sequence[Batch]) -> None:
    """Every forward was given one batch's features, as they came.

    `batches` are the batches as they were before the call.
    """
    came = batches[0][0]
    shapes = {tuple(features.shape) for features, _ in batches}
    for forward in log.forwards:
        assert (forward.dtype, forward.autocast) == (came.dtype, False), (
            f"{came.dtype} features reached the model as {forward.dtype}"
            f"{', under autocast' if forward.autocast else ''}: pass them on as they "
            "came, in the model's own precision"
        )
        is_known = forward.batch is not None and forward.shape in shapes
        assert is_known, (
            f"the model was called with features of shape {forward.shape} that are "
            f"none of the batches', which have {sorted(shapes)}: pass them on as they "
            "came"
        )


def assert_batches_stay(batches: Sequence[Batch], before: Sequence[Batch]) -> None:
    """The caller's batches are what they were `before`."""
    assert len(batches) == len(before), "batches were taken out of the caller's list"
    for number, (batch, copy) in enumerate(zip(batches, before, strict=True), start=1):
        for what, now, then in zip(("features", "targets"), batch, copy, strict=True):
            assert torch.equal(now, then), (
                f"the {what} of batch {number} are not what they were: they are the "
                "caller's, do not change them in place"
            )
            assert not now.requires_grad, (
                f"the {what} of batch {number} now require a gradient: they are the "
                "caller's, and are not trained"
            )


def modules_in(model: nn.Module, modes: Sequence[bool], *, training: bool) -> str:
    """Name the modules that are in one mode: "net.1, net.3 are", "the model is"."""
    names = [name or "the model" for name, _ in model.named_modules()]
    pairs = zip(names, modes, strict=False)  # a copy may have lost a module
    found = [name for name, mode in pairs if mode == training]
    return f"{', '.join(found[:3])} {'is' if len(found) == 1 else 'are'}"


def assert_flags_stay(model: nn.Module, before: nn.Module) -> None:
    """Every `requires_grad` is what it is in `before`, a model built the same way."""
    flags = {name: p.requires_grad for name, p in before.named_parameters()}
    for name, parameter in model.named_parameters():
        assert parameter.requires_grad == flags[name], (
            f"{name}.requires_grad was {flags[name]}, now it is "
            f"{parameter.requires_grad}"
        )


def assert_global_state_stays(call: Callable[[], Any]) -> None:
    """`call` leaves torch's settings, and does not seed the global random state.

    Drawing random numbers is not seeding: from two states it must end in two states.
    """
    ends = []
    for seed in (1, 2):
        judging.seed_everything(seed)
        before = judging.settings()
        call()
        after = judging.settings()
        changed = [
            f"{name} was {old}, now it is {after[name]}"
            for name, old in before.items()
            if after[name] != old
        ]
        assert not changed, (
            f"your code left a global setting changed: {'; '.join(changed)}. "
            "Everything that runs after you now runs differently"
        )
        ends.append(judging.random_states())

    reseeded = [name for name in ends[0] if ends[0][name] == ends[1][name]]
    assert not reseeded, (
        "started from two random states, both ended in the same state of "
        f"{', '.join(reseeded)}: your code seeds it, and so undoes the caller's seed"
    )
