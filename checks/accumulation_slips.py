"""What stands behind a wrong update or a wrong loss of an accumulated epoch.

An update of plain SGD is taken apart into the gradients of the batches' mean losses:
the weights that come out say in numbers what the code did, and mostly which slip it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from checks.accumulation_worlds import GroupWorld, groups_of
from checks.oracles import weighted_mean
from checks.recorders import State
from checks.worlds import STALE

LR = 0.1  # of the optimizer "sgd"


def slip_of_step(world: GroupWorld, states: Sequence[State]) -> str:
    """Say what the last update of some is made of, and which slip gives it.

    `states`: the parameters on entry and after each update of an epoch of plain SGD,
    whose updates but the last are right.
    """
    number = len(states) - 2
    if not 0 <= number < len(world.groups):
        return ""
    if not all(tensor.isfinite().all() for tensor in states[-1].values()):
        return "\nThe update is not finite: was something divided by a count of zero?"
    weights, left = _weights(world, states)
    if left > 1e-5:
        return (
            "\nNo weights of the batches' gradients, at the parameters that the step "
            "before left, give this direction: is the loss the mean cross entropy of "
            "raw logits?"
        )
    if left > 1e-8:
        return (
            f"\nThe update is off by {left:.1g} of its size, as if digits were lost: "
            "is something cast to float32 on the way?"
        )
    return f"\n{weights.account()}\n{weights.slip()}".rstrip()


@dataclass(frozen=True)
class _Weights:
    """What an update is made of: batch -> weight of its mean loss's gradient.

    `stale` is the weight of the gradient that was there on entry.
    """

    world: GroupWorld
    number: int
    of: dict[int, float]
    stale: float

    @property
    def group(self) -> list[int]:
        return self.world.groups[self.number]

    @property
    def sizes(self) -> list[int]:
        return [self.world.sizes[i] for i in self.group]

    def account(self) -> str:
        """List the weights found and the right ones."""
        found = [f"{w:.4g} of batch {i + 1}" for i, w in self.of.items() if w]
        right = [
            f"{n / sum(self.sizes):.4g} of batch {i + 1}"
            for i, n in zip(self.group, self.sizes, strict=True)
        ]
        found += [f"{self.stale:.4g} of the old .grad"] if self.stale else []
        return (
            f"Counted in the gradients of the batches' mean losses, the update is "
            f"{' + '.join(found) or '0'}; right is {' + '.join(right)}."
        )

    def slip(self) -> str:
        """Name the slip behind these weights, "" where none gives them."""
        own = [self.of[i] for i in self.group]
        inside = [i for i in self.group if self.of[i]]
        before = [i for i, w in self.of.items() if w and i < self.group[0]]
        if self.stale:
            return (
                "What .grad held when you were called went into the update: clear "
                "before the first backward, not only after the steps."
            )
        if not any(self.of.values()):
            return (
                "Was the gradient cleared between backward and step, or the step taken "
                "before there was one?"
            )
        if all(own) and before:
            return (
                "An earlier group is in it: clear the gradients between a group's step "
                "and the next group's first backward."
            )
        if not all(own) and inside != self.group[-1:]:
            return self._misses(inside)
        if not all(own):
            return (
                "Only the group's last batch is in it: the gradients are cleared for "
                "each batch, or written anew, where they should add up."
            )
        if len(inside) < sum(w != 0 for w in self.of.values()):
            return self._misses(inside)
        return self._divisor(own)

    def _misses(self, inside: list[int]) -> str:
        found, right = batch_names([i for i, w in self.of.items() if w]), self.group
        missing = [i for i in right if i not in inside]
        if not missing:
            return (
                f"This group is {batch_names(right)}: later ones do not belong in it."
            )
        return (
            f"This group is {batch_names(right)}; the update was made of {found}: "
            "look at where a group begins and ends, and at what is cleared when."
        )

    def _divisor(self, own: list[float]) -> str:
        """Say by what all of the group was divided."""
        sizes, k, m, n = self.sizes, self.world.steps, len(own), sum(self.sizes)
        by_samples = [w * n / size for w, size in zip(own, sizes, strict=True)]
        few = f"this group has {m} batch{'es' * (m > 1)} and {n} samples"
        if _constant(by_samples):
            for what, factor in self._factors().items():
                if _near(by_samples[0], factor):
                    return (
                        f"That is {factor:.4g} times the right update: {what}; {few}."
                    )
            return (
                f"That is {by_samples[0]:.4g} times the right update; {few}, and no "
                "count of them gives this factor: is the gradient clipped or scaled?"
            )
        if _constant(own):
            for what, weight in {
                "nothing divides the batches' mean losses": 1.0,
                "that is the mean of the batches' means": 1 / m,
                f"their means are divided by accumulation_steps, {k}": 1 / k,
                "their means are divided by the samples": 1 / n,
                f"their means are divided by {k} twice": 1 / k**2,
            }.items():
                if _near(own[0], weight):
                    return (
                        f"Each batch has the same weight, whatever its size: {what}. "
                        f"Batches of {sizes} samples should weigh by their samples."
                    )
            return (
                "Each batch has the same weight, whatever its size: weigh by samples."
            )
        if by_samples == sorted(by_samples):
            return "Earlier batches are divided more often than later ones."
        if by_samples == sorted(by_samples, reverse=True):
            return "Earlier batches are counted more often than later ones."
        return ""

    def _factors(self) -> dict[str, float]:
        """What may stand in place of the group's samples, and how wrong it makes it."""
        world, sizes, k = self.world, self.sizes, self.world.steps
        m, n = len(sizes), sum(sizes)
        filled = [size for size in world.sizes if size]
        seen = sum(world.sizes[: self.group[-1] + 1])
        first, previous = (
            sum(world.sizes[i] for i in world.groups[number])
            for number in (0, max(self.number - 1, 0))
        )
        return {
            f"the means of {m} batches are added up, and nothing divides them": (
                m if len(set(sizes)) == 1 else 0
            ),
            f"it was divided as if there were accumulation_steps, {k}, batches": m / k,
            "the losses of all samples are added up, and nothing divides them": n,
            f"what was normalised already is divided by {k} once more": 1 / k,
            f"what was normalised already is divided by {m} once more": 1 / m,
            f"the sum over samples is divided by accumulation_steps, {k}": n / k,
            f"the sum over samples is divided by the number of batches, {m}": n / m,
            f"the divisor is the last batch's samples, {sizes[-1]}": n / sizes[-1],
            f"the divisor is the first batch's samples, {sizes[0]}": n / sizes[0],
            f"the divisor is {k} times the last batch's samples": n / (k * sizes[-1]),
            f"the divisor is {k} times the first batch's samples": n / (k * sizes[0]),
            f"the divisor is {k} times the samples of the epoch's first batch, "
            f"{filled[0]}": n / (k * filled[0]),
            f"the divisor is all samples so far, {seen}, as if never reset": n / seen,
            f"the divisor is all samples of the epoch, {sum(filled)}": n / sum(filled),
            f"the divisor is the first group's samples, {first}": n / first,
            f"the divisor is the samples of the group before, {previous}": n / previous,
            "the divisor is the largest batch's size times the group's batches": (
                n / (m * max(sizes))
            ),
        }


def batch_names(indices: Sequence[int]) -> str:
    """Name batches by their number from 1: "batch 3", "batches 1, 2"."""
    names = ", ".join(str(i + 1) for i in indices)
    return f"batch {names}" if len(indices) == 1 else f"batches {names}"


def _near(value: float, other: float) -> bool:
    return abs(value - other) <= 1e-5 * max(abs(other), 1e-9)


def _constant(values: Sequence[float]) -> bool:
    return all(_near(value, values[0]) for value in values)


def _weights(world: GroupWorld, states: Sequence[State]) -> tuple[_Weights, float]:
    """Solve the last update for the weights of the batches; also give what is left.

    What is left, as a share of the update, is near 0 where the weights explain it.
    """
    number = len(states) - 2
    columns = [
        _gradient(world, i, states[min(j, number)])
        for j, group in enumerate(world.groups)
        for i in group
    ]
    names = [i for group in world.groups for i in group]
    update = _flat(states[-2]) - _flat(states[-1])
    if world.stale:
        columns.append(torch.full_like(update, STALE))
    matrix = torch.stack(columns, dim=1)
    found = torch.linalg.lstsq(matrix, update / LR, driver="gelsd").solution
    left = (matrix @ found * LR - update).norm() / update.norm().clamp(min=1e-9)
    weights = [round(w, 7) if abs(w) > 1e-6 else 0.0 for w in found.tolist()]
    of = dict(zip(names, weights, strict=False))
    stale = weights[-1] if world.stale else 0.0
    return _Weights(world, number, of, stale), float(left)


def _gradient(world: GroupWorld, index: int, at: State) -> Tensor:
    """The gradient of one batch's mean loss, flat, the parameters being `at`.

    For networks without frozen parts, whose forward repeats itself.
    """
    features, targets = world.batches()[index]
    leaves = {name: p.clone().requires_grad_() for name, p in at.items()}
    inner = {name.removeprefix("net."): leaf for name, leaf in leaves.items()}
    model = world.begin().model
    logits = torch.func.functional_call(model.net, inner, (features,))
    slopes = torch.autograd.grad(cross_entropy(logits, targets), list(leaves.values()))
    return torch.cat([slope.flatten() for slope in slopes])


def _flat(state: State) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in state.values()])


def loss_slips(
    losses: Sequence[float], sizes: Sequence[int], k: int
) -> dict[str, float | None]:
    """Wrong ways to report an epoch's loss, each with the number that it gives."""
    groups = groups_of(range(len(sizes)), k)
    n = sum(sizes)
    weigh = {i: losses[i] * sizes[i] for i in range(len(sizes))}
    share = {i: sizes[i] / sum(sizes[j] for j in g) for g in groups for i in g}
    count = {i: len(g) for g in groups for i in g}
    ends = [g[-1] for g in groups]
    right = sum(weigh.values()) / n
    sums = {
        "the batches' mean losses, not weighed": sum(losses),
        "loss times size": sum(weigh.values()),
        f"the losses as divided by {k} for the gradient, times size": (
            sum(weigh.values()) / k
        ),
        f"the losses as divided by {k} for the gradient": sum(losses) / k,
        "the losses as divided by their group's number of batches, times size": (
            sum(weigh[i] / count[i] for i in weigh)
        ),
        "the groups' means of the batch means": (
            sum(losses[i] / count[i] for i in weigh)
        ),
        "the groups' mean losses": sum(losses[i] * share[i] for i in weigh),
        "the losses as weighed for the gradient, times size": (
            sum(weigh[i] * share[i] for i in weigh)
        ),
        "the losses of all groups but the last": sum(
            weigh[i] for g in groups[:-1] for i in g
        ),
        "the losses of each group's last batch": sum(weigh[i] for i in ends),
        "the mean losses of each group's last batch": sum(losses[i] for i in ends),
        f"the batches' mean losses, each times the first one's size, {sizes[0]}": (
            sum(losses) * sizes[0]
        ),
    }
    divisors = {
        f"divided by the {n} samples": n,
        f"divided by the number of batches, {len(sizes)}": len(sizes),
        f"divided by the number of steps, {len(groups)}": len(groups),
        f"divided by accumulation_steps, {k}": k,
        "not divided": 1,
    }
    tail = groups[-1]
    slips: dict[str, float | None] = {
        f"That is the sum of {what}, {how}: report Σ loss·size / Σ size, whatever the "
        "gradient was divided by.": total / by
        for what, total in sums.items()
        for how, by in divisors.items()
    }
    slips["That is the loss of the last batch alone."] = losses[-1]
    slips["That is the mean loss of the last group alone."] = weighted_mean(
        [losses[i] for i in tail], [sizes[i] for i in tail]
    )
    if n > sum(sizes[i] for i in tail):
        slips["That leaves the last group out."] = sum(
            weigh[i] for i in weigh if i not in tail
        ) / (n - sum(sizes[i] for i in tail))
    # A slip that these batches do not show is no explanation.
    return {text: v for text, v in slips.items() if v is None or abs(v - right) > 1e-9}
