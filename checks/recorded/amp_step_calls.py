"""Calls of `amp_step` that keep what was done, also where an error ended them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from checks.amp_step_worlds import DEVICE, USUAL_DTYPE, AmpRun, AmpWorld, Cast
from checks.judging import settings
from checks.recorded import kind_of
from checks.recorders import Batch, Forward, State, Step, parameters_of

Made = list["Done"]


@dataclass
class Done:
    """One call: how the run stood before and after it, and what happened within."""

    run: AmpRun
    batch: Batch  # as it was given
    before: State
    after: State
    state_before: dict[str, Any]
    state_after: dict[str, Any]
    scale_before: float
    scale_after: float
    rates_before: list[float]
    rates_after: list[float]
    rates: list[list[float]]  # at each step of the optimizer
    scheduled: int | None  # how often the scheduler stepped
    forwards: list[Forward]
    casts: list[Cast]
    steps: list[Step]
    in_autocast: list[bool]  # for each step of the optimizer
    updates: int  # how often the scaler's update was called
    returned: Any
    error: str | None
    settings_after: dict[str, Any]


def calls(
    kata: ModuleType,
    world: AmpWorld,
    plan: Sequence[bool] = (False,),
    net: nn.Module | None = None,
    **options: Any,
) -> Made:
    """Call once for each entry of `plan`, True being an overflow, up to an error."""
    run = world.begin(net)
    made: Made = []
    for index, overflows in enumerate(plan):
        run.model.poison = torch.inf if overflows else None
        made.append(call(run, kata, world.batch(index), **options))
        if made[-1].error:
            break
    return made


def call(run: AmpRun, kata: ModuleType, batch: Batch, **options: Any) -> Done:
    """Call the function under test once."""
    start = [len(run.log.forwards), len(run.model.casts), len(run.log.steps)]
    kept = batch[0].clone(), batch[1].clone()
    before, state, rates = parameters_of(run.model), _entries(run), _rates(run)
    scale, scheduled = _scale(run), run.scheduler and run.scheduler.last_epoch
    if run.scheduler is not None:
        options["scheduler"] = run.scheduler
    options = {**run.world.options(), **options}
    returned, error = None, None
    updates = _counted(run.scaler, "update")
    try:
        with warnings.catch_warnings(action="ignore"):
            returned = kata.amp_step(
                run.model, *batch, run.optimizer, run.scaler, **options
            )
    except Exception as raised:
        error = kind_of(raised)
    left = settings()
    _put_back()
    return Done(
        run=run,
        batch=kept,
        before=before,
        after=parameters_of(run.model),
        state_before=state,
        state_after=_entries(run),
        scale_before=scale,
        scale_after=_scale(run),
        rates_before=rates,
        rates_after=_rates(run),
        rates=run.rates[start[2] :],
        scheduled=run.scheduler and run.scheduler.last_epoch - scheduled,
        forwards=run.log.forwards[start[0] :],
        casts=run.model.casts[start[1] :],
        steps=run.log.steps[start[2] :],
        in_autocast=run.stepped_in_autocast[start[2] :],
        updates=len(updates),
        returned=returned,
        error=error,
        settings_after=left,
    )


def _counted(thing: Any, name: str) -> list[None]:
    """Make a method of one object count its calls: the list grows by one at each."""
    seen: list[None] = []
    method = getattr(type(thing), name)

    def counting(*args: Any, **options: Any) -> Any:
        seen.append(None)
        return method(thing, *args, **options)

    setattr(thing, name, counting)
    return seen


def _put_back() -> None:
    """A call may leave autocast or anomaly detection on; the next one starts clean."""
    torch.set_autocast_enabled(DEVICE, False)
    torch.set_autocast_dtype(DEVICE, USUAL_DTYPE)
    torch.set_anomaly_enabled(False)


def _scale(run: AmpRun) -> float:
    return float(run.scaler.get_scale())


def _rates(run: AmpRun) -> list[float]:
    return [group["lr"] for group in run.optimizer.param_groups]


def _entries(run: AmpRun) -> dict[str, Any]:
    return {
        f"{name} of parameter {index}": value.clone()
        if isinstance(value, Tensor)
        else value
        for index, entries in run.optimizer.state_dict()["state"].items()
        for name, value in entries.items()
    }


class Branches(nn.Module):
    """The sum of two layers, the gradient of either of which may overflow alone."""

    def __init__(self, num_features: int, num_classes: int, bad: int) -> None:
        """Let the gradient of layer `bad` be infinite."""
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(num_features, num_classes) for _ in range(2)
        )
        self.bad = bad

    def forward(self, features: Tensor) -> Tensor:
        """Return logits."""
        outputs = [layer(features) for layer in self.layers]
        outputs[self.bad] = _Overflowing.apply(outputs[self.bad])
        return outputs[0] + outputs[1]


class _Overflowing(torch.autograd.Function):
    """The identity, with an infinite gradient."""

    @staticmethod
    def forward(output: Tensor) -> Tensor:
        return output.view_as(output)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return torch.full_like(gradient, torch.inf)
