"""What an evaluation returned, told as formulas over what the model answered.

A formula takes the logits that the model really gave, so that a slip in the mode, the
precision or the features blurs nothing here. One formula must hold for several lists of
batches at once, which keeps apart what agrees by chance in one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any

from torch import Tensor

# Bound at import, before a candidate's file could replace them.
from torch.nn.functional import cross_entropy, nll_loss

from checks.judging import number
from checks.recorded import Seen

Answer = tuple[Tensor, Tensor]  # logits and targets of a batch
Ways = Mapping[str, Callable[..., float]]

LOSSES: Ways = {
    "mean cross entropy": lambda x, y: cross_entropy(x, y).item(),
    "cross entropy of the softmax": lambda x, y: cross_entropy(x.softmax(1), y).item(),
    "summed cross entropy": lambda x, y: cross_entropy(x, y).item() * len(y),
    "nll_loss of the softmax": lambda x, y: nll_loss(x.softmax(1), y).item(),
    "nll_loss of the logits": lambda x, y: nll_loss(x, y).item(),
    "cross entropy over the batch": lambda x, y: nll_loss(x.log_softmax(0), y).item(),
}


def _hits(predict: Callable[[Tensor], Tensor]) -> Callable[..., float]:
    """The share of predictions that equal the targets, broadcast as it may be."""
    return lambda x, y: (predict(x) == y).sum().item() / len(y)


HITS: Ways = {
    "argmax over classes": _hits(lambda x: x.argmax(1)),
    "wrong predictions": lambda x, y: (x.argmax(1) != y).sum().item() / len(y),
    "argmax over the batch": _hits(lambda x: x.argmax(0)),
    "argmax over all logits": _hits(lambda x: x.argmax()),
    "argmin": _hits(lambda x: x.argmin(1)),
    "each prediction with each target": _hits(lambda x: x.argmax(1)[:, None]),
    "largest logit": _hits(lambda x: x.max(1).values),
}


def _weighed(means: Sequence[float], sizes: Sequence[int]) -> float:
    return math.fsum(x * n for x, n in zip(means, sizes, strict=True))


AVERAGES: Ways = {
    "over all samples": lambda x, n: _weighed(x, n) / sum(n),
    "mean of batch means": lambda x, n: math.fsum(x) / len(x),
    "sum of batch means, by samples": lambda x, n: math.fsum(x) / sum(n),
    "sum over samples, by batches": lambda x, n: _weighed(x, n) / len(x),
    "sum over samples": _weighed,
    "sum of batch means": lambda x, n: math.fsum(x),
    "last batch": lambda x, n: x[-1],
    "sum of the last batch": lambda x, n: x[-1] * n[-1],
    "sum of the last batch, by samples": lambda x, n: x[-1] * n[-1] / sum(n),
    "first size for all": lambda x, n: math.fsum(x) * n[0] / sum(n),
    "sum over samples, by first sizes": lambda x, n: _weighed(x, n) / (n[0] * len(x)),
    "sum over samples, by the last size": lambda x, n: _weighed(x, n) / n[-1],
    "sum of batch means, by the last size": lambda x, n: math.fsum(x) / n[-1],
}

SCALES: Ways = {"share": lambda x: x, "percent": lambda x: 100 * x}

DIGITS: Ways = {
    "all": lambda x: x,
    "without decimals": lambda x: float(math.floor(x + 1e-9)),
    "rounded": lambda x: x,  # to any number of digits: see `_agrees`
}

Formula = tuple[str, ...]


def _usual(ways: Ways) -> Formula:
    return tuple(next(iter(part)) for part in (ways, AVERAGES, SCALES, DIGITS))


def _slips(formula: Sequence[Any], ways: Ways) -> int:
    """How many parts of a formula are wrong; many where there is no formula."""
    if len(formula) == 1:
        return 9
    return sum(a != b for a, b in zip(formula, _usual(ways), strict=True))


FORMULAS = {  # those with the fewest slips first
    id(ways): sorted(
        product(ways, AVERAGES, SCALES, DIGITS), key=lambda f, w=ways: _slips(f, w)
    )
    for ways in (LOSSES, HITS)
}


def explain(
    values: Sequence[float | None], answers: Sequence[Sequence[Answer]], ways: Ways
) -> list[Any]:
    """Return the simplest formula that gives every value: its four parts.

    Without such a formula, the values themselves in place of the first part.
    """
    if all(value is None for value in values):
        return ["nothing"]
    seen = [
        (value, *_of_batches(batches, ways), _tolerance(batches))
        for value, batches in zip(values, answers, strict=True)
        if value is not None and batches
    ]
    for formula in FORMULAS[id(ways)] if seen else ():
        if all(_gives(formula, *one) for one in seen):
            return list(formula)
    return [[None if v is None else f"{v:.4g}" for v in values]]


def _of_batches(batches: Sequence[Answer], ways: Ways) -> tuple[Any, list[int]]:
    """Each way's number for each batch, and the batches' sizes."""
    means = {name: [_or_nan(way, *b) for b in batches] for name, way in ways.items()}
    return means, [len(targets) for _, targets in batches]


def _or_nan(way: Callable[..., float], logits: Tensor, targets: Tensor) -> float:
    try:
        return way(logits, targets)
    except (RuntimeError, IndexError):
        return math.nan


def _tolerance(batches: Sequence[Answer]) -> float:
    half = any(logits.dtype.itemsize < 4 for logits, _ in batches)
    return 3e-2 if half else 1e-5


def _gives(
    formula: Formula, value: float, means: Any, sizes: list[int], tolerance: float
) -> bool:
    way, average, scale, digits = formula
    made = SCALES[scale](AVERAGES[average](means[way], sizes))
    if not math.isfinite(made):
        return False
    if digits == "rounded":
        return any(abs(value - round(made, k)) < 2e-7 for k in range(1, 5))
    return math.isclose(value, DIGITS[digits](made), rel_tol=tolerance, abs_tol=1e-7)


def read(returned: Any) -> list[Any]:
    """What was returned as loss and accuracy, however they are packed."""
    if isinstance(returned, SimpleNamespace) or hasattr(
        returned, "__dataclass_fields__"
    ):
        returned = vars(returned)
    if isinstance(returned, Mapping):
        returned = list(returned.values())
    if not isinstance(returned, (tuple, list)):
        returned = [returned]
    return [*returned, None, None][:2]


def as_number(value: Any) -> float | None:
    """Read a number, also out of a string; None for nothing."""
    if value is None:
        return None
    try:
        return float(value) if isinstance(value, str) else number(value)
    except ValueError:
        return math.nan


def told_values(
    returned: Sequence[Any], answers: Sequence[Sequence[Answer]], typical: Any
) -> Seen:
    """Tell the formulas behind the pairs that were returned for lists of batches.

    The types are those of `typical`, which was returned in float64.
    """
    pairs = [read(one) for one in returned]
    one, two = ([as_number(pair[place]) for pair in pairs] for place in (0, 1))
    order, told, slips = [0, 1], *_both(one, two, answers)
    if slips > 1:
        swapped, fewer = _both(two, one, answers)
        if fewer < slips:
            order, told = [1, 0], swapped
    loss, accuracy = ([*part, None, None, None] for part in told)
    is_pair = all(isinstance(one, tuple) and len(one) == 2 for one in returned)
    return {
        "returned as": "a tuple of two" if is_pair else "something else",
        "order": "loss, accuracy" if order == [0, 1] else "accuracy, loss",
        "types": [_kind(read(typical)[place]) for place in order],
        "loss of a batch": loss[0],
        "losses put together": loss[1],
        "digits of the loss": loss[2:4],
        "right predictions": accuracy[0],
        "accuracies put together": accuracy[1],
        "scale of the accuracy": accuracy[2],
        "digits of the accuracy": accuracy[3],
    }


def _both(
    losses: Sequence[Any], shares: Sequence[Any], answers: Sequence[Sequence[Answer]]
) -> tuple[list[list[Any]], int]:
    """Explain losses and accuracies; return that, and how many slips there are."""
    told = [explain(losses, answers, LOSSES), explain(shares, answers, HITS)]
    return told, _slips(told[0], LOSSES) + _slips(told[1], HITS)


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    kinds = {float: "float", int: "int"}
    return next((k for t, k in kinds.items() if isinstance(value, t)), "another type")


def relation(value: Any, own: Any) -> Any:
    """Tell a value by what the same code gave elsewhere: as a multiple of that."""
    one, other = as_number(value), as_number(own)
    if one is None or other is None:
        return None if one is other else "nothing"
    if math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-7):
        return 1.0
    if not math.isfinite(one) or not math.isfinite(other):
        return str(one)
    return round(one / other, 4) if other else f"{one:.4g}, not 0"
