"""What a call of `amp_step` did, told in its own terms.

An update is told as a step along the gradients of the batches, times powers of the
scale and of the number of samples; the returned loss as one of the run's losses, times
such powers. float16 has three digits, so what is near is taken for the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import torch
from torch import Tensor

# Bound at import, before a candidate's file could replace it.
from torch.nn.functional import cross_entropy

from checks.amp_step_worlds import (
    DEVICE,
    AmpWorld,
    clip_factor,
    norm_of,
    plain_step,
)
from checks.judging import number
from checks.recorded import Seen
from checks.recorded.amp_step_calls import Done, Made
from checks.recorders import Batch, State
from checks.worlds import STALE

NEAR = 0.03
POWERS = (0, 1, -1, 2, -2)

_autocast = torch.autocast


def forwards(done: Done) -> Seen:
    """Tell the forwards: how often, in which precision, on what, in which mode."""
    casts, logged = done.casts, done.forwards
    return {
        "error": done.error,
        "calls of the model": few(len(casts)),
        "autocast in forwards": sorted({f.autocast for f in logged}),
        "autocast's dtype": sorted({str(c.dtype) for c in casts if c.enabled}),
        "parameters in forwards": sorted({str(d) for c in casts for d in c.parameters}),
        "parameters afterwards": sorted({str(p.dtype) for p in done.after.values()}),
        "features in forwards": sorted({str(f.dtype) for f in logged}),
        "known features": all(f.batch is not None for f in logged),
        "backward ran": any(c.backward_enabled is not None for c in casts),
        "autocast in backward": any(c.backward_enabled for c in casts),
        "autocast in the step": any(done.in_autocast),
    }


def few(count: int) -> str:
    """Tell a count: none, one, or more."""
    return ("none", "one")[count] if count < 2 else "more"


def step(done: Done) -> Seen:
    """Tell what the optimizer did: how often it stepped, what of the model moved."""
    return {
        "error": done.error,
        "steps": few(len(done.steps)),
        "parameters": moved(done),
        "state": "kept" if _same(done.state_before, done.state_after) else "changed",
    }


def moved(done: Done) -> str:
    """Tell whether the parameters moved."""
    if not all(p.isfinite().all() for p in done.after.values()):
        return "not finite"
    same = all(torch.equal(done.after[n].to(p), p) for n, p in done.before.items())
    return "still" if same else "moved"


def _same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return before.keys() == after.keys() and all(
        torch.equal(old, after[name]) if isinstance(old, Tensor) else old == after[name]
        for name, old in before.items()
    )


def scale(done: Done) -> Seen:
    """Tell how the scale changed."""
    return {
        "the scale became": f"{done.scale_after / done.scale_before:g} times",
        "updates of the scaler": few(done.updates),
    }


def answer(done: Done) -> Seen:
    """Tell what came back, read leniently, and what the scheduler did."""
    seen: Seen = {"returned as": _kind(done), "says that it stepped": says(done)}
    if done.scheduled is not None:
        seen["steps of the scheduler"] = done.scheduled
    return seen


def says(done: Done) -> bool:
    """Tell what is said of the step; where nothing is, what is true.

    That nothing is said is told by how the call returned.
    """
    _, stepped = read(done.returned)
    claim = float(stepped) if hasattr(stepped, "dtype") else number(stepped)
    return moved(done) != "still" if math.isnan(claim) else bool(claim)


def read(returned: Any) -> tuple[Any, Any]:
    """Read (loss, stepped), in either order; without a pair it is the loss."""
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        return returned, None
    first, second = returned
    return (second, first) if isinstance(first, bool) else (first, second)


def _kind(done: Done) -> str:
    returned = done.returned
    if done.error:
        return "nothing"
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        return "one value"
    if isinstance(returned[0], bool) and not isinstance(returned[1], bool):
        return "the other way round"
    kinds = isinstance(returned[0], float) and isinstance(returned[1], bool)
    is_right = kinds and isinstance(returned, tuple)
    return "a tuple of a float and a bool" if is_right else "other types"


def loss(done: Done) -> Seen:
    """Tell the returned loss: which one it is, and times what."""
    value = number(read(done.returned)[0])
    if done.error:
        return {}
    size = len(done.batch[1])
    for name, base in _losses(done).items():
        for old, new, power in product((0, 1, -1), (0, 1, -1), (0, 1, -1)):
            factor = done.scale_before**old * done.scale_after**new * size**power
            rounded = any(value == round(base * factor, digits) for digits in (0, 1, 2))
            if rounded or math.isclose(value, base * factor, rel_tol=1e-2):
                return {
                    "loss": name,
                    "loss times the scale": [old, new],
                    "loss times the size": power,
                }
    return {"loss": "another", "loss times the scale": [0, 0], "loss times the size": 0}


def _losses(done: Done) -> dict[str, float]:
    return {
        "before the update": loss_of(done, done.before),
        "after the update": loss_of(done, done.after),
        "of the softmax": loss_of(done, done.before, softmax=True),
    }


def loss_of(done: Done, at: State, *, softmax: bool = False) -> float:
    """Return the mean cross entropy of a call's batch at given parameters."""
    with torch.no_grad():
        return float(_forward(done, _plain(at), done.batch, softmax=softmax))


def _plain(at: State) -> State:
    return {name: p.float() for name, p in at.items()}


def _forward(done: Done, at: State, batch: Batch, *, softmax: bool) -> Tensor:
    """Cross entropy of the network without the recorder round it."""
    inner = {name.removeprefix("net."): p for name, p in at.items()}
    with _autocast(DEVICE, dtype=done.run.world.dtype):
        logits = torch.func.functional_call(done.run.model.net, inner, (batch[0],))
    logits = logits.float()
    return cross_entropy(logits.softmax(1) if softmax else logits, batch[1])


def gradient_of(done: Done, at: State, batch: Batch, *, softmax: bool = False) -> State:
    """Return the right unscaled gradient at given parameters, by name."""
    names = trainable(done)
    leaves = {n: p.clone().requires_grad_(n in names) for n, p in _plain(at).items()}
    scale = done.run.world.scale  # float16 holds small gradients when they are scaled
    loss = scale * _forward(done, leaves, batch, softmax=softmax)
    found = torch.autograd.grad(loss, [leaves[n] for n in names])
    return {n: g / scale for n, g in zip(names, found, strict=True)}


def trainable(done: Done) -> list[str]:
    """Name the parameters that the optimizer holds."""
    held = {id(p) for group in done.run.optimizer.param_groups for p in group["params"]}
    return [n for n, p in done.run.model.named_parameters() if id(p) in held]


def taken(done: Done) -> State:
    """Return the gradient that plain SGD followed, from how the parameters moved."""
    used = done.rates[-1] if done.rates else done.rates_before
    rates = dict(zip((True, False), used, strict=True))
    return {
        name: (done.before[name].double() - done.after[name].double())
        / rates[done.before[name].dim() > 1]
        for name in trainable(done)
    }


def update(made: Made, *, stale: bool = False) -> Seen:
    """Tell the last of some updates of plain SGD: along what, and times what."""
    done = made[-1]
    seen: Seen = {"along": [], "times the scale": 0, "times the size": 0}
    if moved(done) != "moved":
        return seen
    flat = _flatten(taken(done))
    for softmax in (False, True):
        basis = {
            f"batch {i + 1}": gradient_of(done, d.before, d.batch, softmax=softmax)
            for i, d in enumerate(made)
        }
        columns = [_flatten(g) for g in basis.values()]
        names = [f"softmax of {name}" if softmax else name for name in basis]
        if stale:
            columns.append(torch.full_like(flat, STALE))
            names.append("what was there on entry")
        matrix = torch.stack(columns, dim=1)
        parts = torch.linalg.lstsq(matrix, flat, driver="gelsd").solution
        if (matrix @ parts - flat).norm() > NEAR * flat.norm():
            continue
        sizes = matrix.norm(dim=0) * parts.abs()
        seen["along"] = [
            name
            for name, size in zip(names, sizes, strict=True)
            if size > NEAR * flat.norm()
        ]
        own = float(parts[len(made) - 1])
        told = _powers(own, done.scale_before, len(done.batch[1]))
        if told is None:
            return {**seen, "times": "another number"}
        return seen | {"times the scale": told[0], "times the size": told[1]}
    return {**seen, "along": ["another direction"]}


def _powers(factor: float, scale: float, size: int) -> tuple[int, int] | None:
    """Read a factor as powers of the scale and the size."""
    if factor <= 0:
        return None
    for a, b in product(POWERS, (0, 1, -1)):
        if math.isclose(factor, scale**a * float(size) ** b, rel_tol=NEAR):
            return a, b
    return None


def _flatten(state: State) -> Tensor:
    return torch.cat([state[name].double().flatten() for name in sorted(state)])


@lru_cache
def norm_on_entry(world: AmpWorld) -> float:
    """Return the norm of the right gradient of a world's first batch."""
    run = world.begin_right()
    run.call(plain_step, world.batch())
    return norm_of([p.grad for p in run.model.parameters() if p.grad is not None])


def clipped(done: Done, limit: float) -> Seen:
    """Tell how far an update of plain SGD was shortened, and whether as a whole."""
    seen: Seen = {
        "clipped": "nothing moved",
        "clipped, times the scale": 0,
        "shortened after the step": _shortened_late(done),
    }
    if moved(done) != "moved":
        return {"error": done.error, **seen}
    got = taken(done)
    right = gradient_of(done, done.before, done.batch)
    softmax = gradient_of(done, done.before, done.batch, softmax=True)
    for gradient in (right, softmax):
        told = _length(done, got, gradient, limit)
        if told is not None:
            seen |= {"clipped": told[0], "clipped, times the scale": told[1]}
            return {"error": done.error, **seen}
    slips = _slips(right, limit)
    names = [name for name, slip in slips.items() if _near(got, slip)]
    return {"error": done.error, **seen, "clipped": names[0] if names else "otherwise"}


def _shortened_late(done: Done) -> bool:
    """Whether the gradients left are those of the step, but shorter."""
    left = [p.grad for p in done.run.model.parameters() if p.grad is not None]
    used = [*done.steps[-1].gradients.values()] if done.steps else []
    return 0 < norm_of(left) < 0.9 * norm_of(used)


def _length(
    done: Done, got: State, gradient: State, limit: float
) -> tuple[str, int] | None:
    """Tell the length of a gradient in the right direction; None in another one."""
    ours, theirs = _flatten(got), _flatten(gradient)
    factor = float(ours @ theirs / (theirs @ theirs))
    if (ours - factor * theirs).norm() > NEAR * ours.norm():
        return None
    size = len(done.batch[1])
    length = float(ours.norm())
    for name, whole, powers in (
        ("to the limit", limit, (0,)),
        ("not at all", float(theirs.norm()), (0, 1, -1)),
    ):
        for a, b in product(POWERS, powers):
            right = whole * done.scale_before**a * float(size) ** b
            if math.isclose(length, right, rel_tol=NEAR):
                return name, a
    return "to another length", 0


def _slips(gradient: State, limit: float) -> dict[str, State]:
    """The usual wrong ways to clip."""
    groups = [
        [g for g in gradient.values() if (g.dim() > 1) == matrix]
        for matrix in (False, True)
    ]
    return {
        "each parameter": {n: g * clip_factor([g], limit) for n, g in gradient.items()},
        "each group": {
            n: g * clip_factor(groups[g.dim() > 1], limit) for n, g in gradient.items()
        },
        "weights alone": {
            n: g * (clip_factor(groups[1], limit) if g.dim() > 1 else 1.0)
            for n, g in gradient.items()
        },
        "each entry": {n: g.clamp(-limit, limit) for n, g in gradient.items()},
    }


def _near(got: State, right: State) -> bool:
    ours, theirs = _flatten(got), _flatten(right)
    return bool((ours - theirs).norm() <= NEAR * theirs.norm())


def follows(made: Made, optimizer: Any) -> bool:
    """Whether the same optimizer makes the same updates of the same gradients."""
    first = made[0]
    names = trainable(first)
    shadow = {n: first.before[n].float().clone().requires_grad_() for n in names}
    groups = [
        {"params": [p for p in shadow.values() if (p.dim() > 1) == matrix], "lr": rate}
        for matrix, rate in zip((True, False), first.rates_before, strict=True)
    ]
    other = optimizer(groups)
    for done in made:
        for taken_step in done.steps:
            for name, parameter in shadow.items():
                parameter.grad = taken_step.gradients.get(name)
                if parameter.grad is not None:
                    parameter.grad = parameter.grad.float()
            other.step()
        for name, parameter in shadow.items():
            if not torch.allclose(parameter, done.after[name].float(), 1e-4, 1e-5):
                return False
    return True


def ratios(rates: Sequence[float], whole: Sequence[float]) -> list[float]:
    """Tell learning rates by those on entry."""
    return [round(a / b, 4) for a, b in zip(rates, whole, strict=True)]
