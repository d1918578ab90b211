"""Worlds whose batches are trained on in groups, and what is right in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from checks.oracles import weighted_mean
from checks.recorders import Batch, Run, State
from checks.worlds import World


@dataclass(frozen=True)
class GroupWorld(World):
    """A world with `accumulation_steps`; it trains on a list, which has a length."""

    accumulation_steps: int = 2

    @property
    def groups(self) -> list[list[int]]:
        """The indices of each group's batches."""
        return groups_of([i for i, n in enumerate(self.sizes) if n], self.steps)

    @property
    def steps(self) -> int:
        """Short for `accumulation_steps`."""
        return self.accumulation_steps

    @property
    def said(self) -> str:
        """The beginning of a message: what was given."""
        return f"batches of {list(self.sizes)} samples, accumulation_steps={self.steps}"

    def train(self, train: Callable[..., Any], *args: Any, epochs: int = 1) -> Run:
        """Let `train(model, batches, optimizer, accumulation_steps, *args)` train."""
        run = self.begin()
        for _ in range(epochs):
            run.call(
                lambda: train(
                    run.model, self.batches(), run.optimizer, self.steps, *args
                )
            )
        return run


def groups_of(indices: Sequence[int], size: int) -> list[list[int]]:
    """Cut a sequence into pieces of `size`; the last may be shorter."""
    return [list(indices[i : i + size]) for i in range(0, len(indices), size)]


def ends_of(groups: Sequence[Sequence[int]]) -> list[int]:
    """How many batches have gone through at the end of each group."""
    return list(accumulate(len(group) for group in groups))


@dataclass
class Accumulated:
    """What a right epoch does; `losses` are of its batches that have samples."""

    run: Run
    sizes: list[int]
    losses: list[float] = field(default_factory=list)

    @property
    def mean_loss(self) -> float:
        """The mean over samples."""
        return weighted_mean(self.losses, self.sizes)

    @property
    def states(self) -> list[State]:
        """The parameters after each step."""
        return [step.parameters for step in self.run.log.steps]


def right_epochs(
    world: GroupWorld, epochs: int = 1, *, together: bool = False
) -> Accumulated:
    """Train in `world`; `together`: on each group's batches concatenated."""
    run = world.begin()
    right = Accumulated(run, [n for n in world.sizes if n])
    for _ in range(epochs):
        batches = world.batches()
        groups = [[batches[i] for i in group] for group in world.groups]
        if together:
            groups = [[_joined(group)] for group in groups]
        run.call(lambda g=groups: _train(run.model, g, run.optimizer))
        right.losses = run.returned
    return right


def _joined(batches: list[Batch]) -> Batch:
    features, targets = zip(*batches, strict=True)
    return torch.cat(features), torch.cat(targets)


def _train(
    model: nn.Module, groups: list[list[Batch]], optimizer: torch.optim.Optimizer
) -> list[float]:
    """Weigh each batch's gradient by its share of the group's samples, and step."""
    model.train()
    trainable = [p for p in model.parameters() if p.requires_grad]
    losses = []
    for group in groups:
        number = sum(len(targets) for _, targets in group)
        sums = [torch.zeros_like(p) for p in trainable]
        for features, targets in group:
            loss = cross_entropy(model(features), targets)
            slopes = torch.autograd.grad(loss, trainable)
            for place, slope in zip(sums, slopes, strict=True):
                place += slope * (len(targets) / number)
            losses.append(loss.item())
        for parameter, gradient in zip(trainable, sums, strict=True):
            parameter.grad = gradient
        optimizer.step()
    return losses
