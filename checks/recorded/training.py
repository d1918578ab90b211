"""What a training run did, told in its own terms.

A gradient is told as a combination of the gradients of the batches' forwards, each at
the parameters that this forward saw; the returned loss as a formula over the losses of
this run. So one slip does not blur what another one does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from checks.judging import number
from checks.oracles import loss_at, weighted_mean
from checks.recorded import Seen
from checks.recorders import Batch, Forward, Run, State, parameters_of
from checks.worlds import OPTIMIZERS, STALE, World

Formulas = dict[str, float]


def of_run(world: World, run: Run, formulas: Callable[..., Formulas]) -> Seen:
    """Tell what `run` did in `world`.

    `formulas(sizes, before, after)` gives the names of numbers that might be returned:
    of the non-empty batches the sizes, the losses before each update and after it.
    """
    seen: Seen = {
        "steps before their backward": _premature(run),
        "went backward": _went_backward(run),
        **told_forwards(run),
        "modes after": modes_after(run),
        "returned": _returned(world, run, formulas),
    }
    follows = _replay(world, run)
    combine = _Combination(world, run)
    for index, step in enumerate(run.log.steps):
        seen[f"gradient {index + 1}"] = combine.tell(step.gradients)
        seen[f"update {index + 1} follows its gradient"] = follows[index]
    return seen


def order(run: Run) -> list[str]:
    """Tell in which order batches were asked for, trained on, and stepped."""
    training = {place for place, _ in _training_forwards(run)}
    return [
        f"{kind} {index}"
        for place, (kind, index) in enumerate(run.log.events)
        if kind in ("asked", "step", "ended") or place in training
    ]


def told_forwards(run: Run) -> Seen:
    """Tell the forward that trained on each batch, and how many others there were."""
    training = [forward for _, forward in _training_forwards(run)]
    return {
        "forwards": [told(forward) for forward in training],
        "further forwards": len(run.log.forwards) - len(training),
    }


def _training_forwards(run: Run) -> list[tuple[int, Forward]]:
    """The forward on each batch of each epoch that trained, with its place in time.

    That is the first one with gradients, or just the first. Features that belong to no
    batch count each for themselves.
    """
    chosen: dict[Any, tuple[int, Forward]] = {}
    epoch = 0
    for place, (kind, index, forward) in enumerate(_events(run)):
        epoch += kind == "asked" and index == 0
        if kind != "forward":
            continue
        key = (epoch, index if index is not None else f"unknown at {place}")
        if key not in chosen or (
            forward.grad_enabled and not chosen[key][1].grad_enabled
        ):
            chosen[key] = place, forward
    return sorted(chosen.values(), key=lambda pair: pair[0])


def modes_after(run: Run) -> list[bool] | None:
    """Tell each module's mode; None where nothing was forwarded, so nothing is told."""
    if not run.log.forwards:
        return None
    return [module.training for module in run.model.modules()]


def told(forward: Forward) -> list[Any]:
    """Tell a forward: batch, rows, whether all modules train, grad mode, dtype."""
    return [
        forward.batch,
        forward.rows,
        all(forward.training),
        forward.grad_enabled,
        str(forward.dtype),
    ]


def _went_backward(run: Run) -> bool:
    """Whether gradients ever came; torch.func leaves no trace but the gradients."""
    moved = any(step.gradients for step in run.log.steps)
    return moved or bool(run.log.count("backward"))


def _premature(run: Run) -> list[int]:
    """Steps with a forward before them whose backward came only after them."""
    premature: list[int] = []
    waiting: set[int | None] = set()
    skipped: list[tuple[int, set[int | None]]] = []
    for kind, index in run.log.events:
        if kind == "forward":
            waiting.add(index)
        elif kind == "step":
            skipped.append((index or 0, set(waiting)))
            waiting.clear()
        elif kind == "backward":
            premature += [step for step, missed in skipped if index in missed]
            skipped = [(s, m) for s, m in skipped if index not in m]
            waiting.discard(index)
    return premature


def _returned(world: World, run: Run, formulas: Callable[..., Formulas]) -> Any:
    value = number(run.returned)
    if not math.isfinite(value):
        return [None if run.returned is None else str(value)]
    full = {i: b for i, b in enumerate(world.batches()) if len(b[1])}
    first, last = _first_forwards(run, full), parameters_of(run.model)
    if not first:
        return value
    before = [loss_at(run.model, first[i], full[i]) for i in full if i in first]
    left = _left_after(run, full)
    after = [loss_at(run.model, left.get(i, last), full[i]) for i in full if i in first]
    at_end = [loss_at(run.model, last, full[i]) for i in full if i in first]
    sizes = [len(full[i][1]) for i in full if i in first]
    for name, candidate in formulas(sizes, before, after, at_end).items():
        if math.isclose(value, candidate, rel_tol=1e-5, abs_tol=1e-9):
            return name
    return value


def _first_forwards(run: Run, full: dict[int, Batch]) -> dict[int, State]:
    """The parameters that each batch's first forward of the last epoch saw."""
    seen: dict[int, State] = {}
    steps = 0
    last = parameters_at(run, 0)
    for kind, index, forward in _events(run):
        if kind == "asked" and index == 0:
            seen = {}
        elif kind == "step":
            steps += 1
            last = run.log.steps[steps - 1].parameters
        elif kind == "forward" and index in full and index not in seen:
            seen[index] = (forward and forward.parameters) or last
    return seen


def _left_after(run: Run, full: dict[int, Batch]) -> dict[int, State]:
    """What the first step after each batch's first forward left."""
    left: dict[int, State] = {}
    waiting: list[int] = []
    steps = 0
    for kind, index, _ in _events(run):
        if kind == "asked" and index == 0:
            left, waiting = {}, []
        elif kind == "forward" and index in full:
            waiting.append(index)
        elif kind == "step":
            for batch in waiting:
                left.setdefault(batch, run.log.steps[steps].parameters)
            steps, waiting = steps + 1, []
    return left


def _events(run: Run) -> Any:
    forwards = iter(run.log.forwards)
    for kind, index in run.log.events:
        yield kind, index, next(forwards) if kind == "forward" else None


def parameters_at(run: Run, step: int) -> State:
    """The parameters before a step, in the order of the run."""
    if step:
        return run.log.steps[step - 1].parameters
    return run.entered


def _replay(world: World, run: Run) -> list[bool]:
    """For each step, whether the same optimizer makes the same of the gradients."""
    shadow = world.begin().model
    trainable = {n: p for n, p in shadow.named_parameters() if p.requires_grad}
    optimizer = OPTIMIZERS[world.optimizer](list(trainable.values()))
    follows = []
    for step in run.log.steps:
        for name, parameter in trainable.items():
            parameter.grad = step.gradients.get(name)
        optimizer.step()
        made = parameters_of(shadow)
        follows.append(all(_near(made[n], step.parameters[n]) for n in made))
        with torch.no_grad():  # go on from where the run really was
            for name, parameter in shadow.named_parameters():
                parameter.copy_(step.parameters[name])
    return follows


def _near(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-9, atol=1e-9)


class _Combination:
    """Tells a gradient as a sum of multiples of the gradients of a run's forwards."""

    def __init__(self, world: World, run: Run) -> None:
        """Work out the gradient of each forward, and of its usual slips."""
        trainable = {n: p for n, p in run.model.named_parameters() if p.requires_grad}
        self.names = list(trainable)
        self.empty = {n: torch.zeros_like(p) for n, p in trainable.items()}
        self.basis: dict[str, Tensor] = {}
        batches = world.batches()
        steps, epoch = 0, 0
        for kind, index, forward in _events(run):
            epoch += kind == "asked" and index == 0
            steps += kind == "step"
            if kind != "forward" or index is None or forward.rows == 0:
                continue
            at = forward.parameters or parameters_at(run, steps)
            label = f"batch {index + 1}" + (f" of epoch {epoch}" if epoch > 1 else "")
            if label not in self.basis:
                self.basis[label] = self._gradient(run.model, at, batches[index])
                self.basis[f"softmax of {label}"] = self._gradient(
                    run.model, at, batches[index], softmax=True
                )
        self.basis["on entry"] = torch.full_like(self._flatten({}), STALE)

    def tell(self, gradients: State) -> Any:
        """Return {part: factor}, {} for no gradient, or "other"."""
        flat = self._flatten(gradients)
        columns = torch.stack(list(self.basis.values()), dim=1)
        solution = torch.linalg.lstsq(columns, flat, driver="gelsd").solution
        if not torch.allclose(columns @ solution, flat, rtol=1e-6, atol=1e-8):
            return "other"
        parts = zip(self.basis, solution.tolist(), strict=True)
        told = {label: round(c, 5) for label, c in parts if abs(c) > 1e-5}
        if not torch.allclose(columns @ solution, flat, rtol=1e-9, atol=1e-10):
            told["an error of float32's size"] = 1.0
        return told

    def _gradient(
        self, model: nn.Module, at: State, batch: Batch, *, softmax: bool = False
    ) -> Tensor:
        net: Any = model.net
        weights = {
            n.removeprefix("net."): p.clone().requires_grad_(n in self.names)
            for n, p in at.items()
        }
        logits = torch.func.functional_call(net, weights, (batch[0],))
        loss = cross_entropy(logits.softmax(1) if softmax else logits, batch[1])
        wanted = [n.removeprefix("net.") for n in self.names]
        found = torch.autograd.grad(loss, [weights[n] for n in wanted])
        return torch.cat([g.flatten() for g in found])

    def _flatten(self, gradients: State) -> Tensor:
        return torch.cat([(self.empty | gradients)[n].flatten() for n in self.names])


def averages(
    sizes: Sequence[int],
    before: Sequence[float],
    after: Sequence[float],
    at_end: Sequence[float],
) -> Formulas:
    """The ways to average an epoch's losses, right and wrong, by name."""
    total, num = sum(sizes), len(sizes)
    result: Formulas = {}
    kinds = {
        "before each update": before,
        "after each update": after,
        "at the end of the epoch": at_end,
    }
    for when, losses in kinds.items():
        weighed = math.fsum(x * n for x, n in zip(losses, sizes, strict=True))
        result |= {
            f"the mean over samples {when}": weighted_mean(list(losses), list(sizes)),
            f"the mean of batch means {when}": math.fsum(losses) / num,
            f"the sum over samples {when}, divided by batches": weighed / num,
            f"the sum over samples {when}": weighed,
            f"the sum of batch means {when}": math.fsum(losses),
            f"the sum of batch means {when}, divided by samples": math.fsum(losses)
            / total,
            f"the last batch's loss {when}": losses[-1],
            f"every batch weighed by the first one's size {when}": (
                math.fsum(losses) * sizes[0] / total
            ),
        }
    return result
