"""What is right, worked out by the checks themselves: a plain loop, and NumPy by hand.

The checks never ask the reference: a slip there must not become the truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

# Bound at import, before a candidate's file could replace it.
from torch.nn.functional import cross_entropy

from checks.recorders import Batch, Run, State
from checks.worlds import World

Array = NDArray[np.float64]


@dataclass
class Epoch:
    """What a right epoch does: for each non-empty batch its size, its losses, its step.

    `losses` are measured before each update, `losses_after` by a second forward on the
    same batch after it (where a forward repeats itself).
    """

    run: Run
    all_sizes: list[int]
    sizes: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    losses_after: list[float] = field(default_factory=list)

    @property
    def mean_loss(self) -> float:
        """The sample-weighted mean of the losses measured before each update."""
        return weighted_mean(self.losses, self.sizes)

    @property
    def gradients(self) -> list[State]:
        """The gradients of each step."""
        return [step.gradients for step in self.run.log.steps]

    def averaging_slips(self) -> dict[str, float | None]:
        """Wrong ways to average these losses, each with the number that it gives."""
        losses, sizes = self.losses, self.sizes
        weighed = math.fsum(loss * n for loss, n in zip(losses, sizes, strict=True))
        num_samples, num_batches = sum(sizes), len(losses)
        return {
            "That is the mean of the batch means: weigh each batch by its size.": (
                math.fsum(losses) / num_batches
            ),
            "That is the mean of the batch means, empty batches counted as batches.": (
                math.fsum(losses) / len(self.all_sizes)
            ),
            "That is the weighted sum divided by the number of batches: divide by "
            "the number of samples.": weighed / num_batches,
            "That is the weighted sum divided by the number of batches, empty ones "
            "included: divide by the number of samples.": (
                weighed / len(self.all_sizes)
            ),
            "That is the weighted sum, not divided by the number of samples.": weighed,
            "That is the sum of the batch means, not weighed and not divided.": (
                math.fsum(losses)
            ),
            "That is the sum of the batch means divided by the number of samples: "
            "multiply each by its batch's size first.": math.fsum(losses) / num_samples,
            "That is the loss of the last batch alone.": losses[-1],
            "That gives each batch the size of the first one: weigh by each batch's "
            "own size.": math.fsum(losses) * self.all_sizes[0] / num_samples,
            "That is the mean loss measured after each update: keep the value from "
            "before the step.": self._mean_after(),
            "That is divided by the number of samples and of empty batches together: "
            "an empty batch has no part in the count.": (
                weighed / (num_samples + len(self.all_sizes) - num_batches)
            ),
            **{
                f"That is right but rounded to {digits} digits.": round(
                    weighed / num_samples, digits
                )
                for digits in (1, 2, 3, 4)
            },
        }

    def _mean_after(self) -> float | None:
        if len(self.losses_after) != len(self.sizes):
            return None
        return weighted_mean(self.losses_after, self.sizes)


def weighted_mean(means: list[float], sizes: list[int]) -> float:
    """Σ mean·size / Σ size. Batches of 4 and 1 with means 1 and 3 give 1.4."""
    weighed = math.fsum(mean * n for mean, n in zip(means, sizes, strict=True))
    return weighed / sum(sizes)


def plain_epoch(
    model: nn.Module, batches: Iterable[Batch], optimizer: torch.optim.Optimizer
) -> list[float]:
    """Train one epoch as plainly as can be; return each non-empty batch's loss."""
    model.train()
    losses = []
    for features, targets in batches:
        if len(targets):
            optimizer.zero_grad()
            loss = cross_entropy(model(features), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def right_epoch(world: World, epochs: int = 1) -> Epoch:
    """Train in `world` the plain way, and keep what the last epoch did."""
    epoch = Epoch(run=world.begin(), all_sizes=list(world.sizes))
    run = epoch.run
    for _ in range(epochs):
        epoch.losses = run.call(
            lambda: plain_epoch(run.model, world.batches(), run.optimizer)
        ).returned
    epoch.sizes = [n for n in world.sizes if n]
    if world.network not in ("dropout", "batchnorm"):
        full = [batch for batch in world.batches() if len(batch[1])]
        for step, batch in zip(run.log.steps[-len(full) :], full, strict=True):
            epoch.losses_after.append(loss_at(run.model, step.parameters, batch))
    return epoch


def loss_at(model: nn.Module, parameters: State, batch: Batch) -> float:
    """Mean cross entropy of a batch, the parameters being `parameters`.

    The recorder round the model is left out, so that nothing is logged.
    """
    inner = {name.removeprefix("net."): p for name, p in parameters.items()}
    with torch.no_grad():
        logits = torch.func.functional_call(model.net, inner, (batch[0],))
        return float(cross_entropy(logits, batch[1]))


def softmax_gradient(
    weight: Array, bias: Array, features: Array, targets: NDArray[np.int64]
) -> tuple[Array, Array, float]:
    """Gradient of mean cross entropy of a linear model, by hand, in NumPy alone.

    weight `[C, D]`, bias `[C]`, features `[B, D]`, targets `[B]`; returns the gradients
    of weight and bias, and the loss. With p = softmax(x Wᵀ + b), dL/dlogits is
    (p − onehot(target)) / B (Bishop, Pattern Recognition and Machine Learning, 4.109).
    """
    logits = features @ weight.T + bias
    logits = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(logits)
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    rows = np.arange(len(targets))
    loss = float(-np.log(probabilities[rows, targets]).mean())
    slope = probabilities
    slope[rows, targets] -= 1
    slope /= len(targets)
    return slope.T @ features, slope.sum(axis=0), loss


def logits_with_loss(loss: float) -> Tensor:
    """Two logits with cross entropy `loss` for class 0: log(1 + e^−d) = loss."""
    return torch.tensor([-math.log(math.expm1(loss)), 0.0], dtype=torch.float64)
