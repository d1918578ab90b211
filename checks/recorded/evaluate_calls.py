"""Calls of `evaluate` that keep what the model answered, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from checks.evaluate_worlds import DoesNotFit, Unreadable
from checks.judging import settings
from checks.recorded import fresh, kind_of
from checks.recorded.evaluate_told import Answer, as_number, read
from checks.recorders import Batch, Log, Run
from checks.worlds import World


class Loader(list):  # type: ignore[type-arg]
    """Batches in a list that knows its data set; it may raise in place of one."""

    def __init__(
        self, batches: Sequence[Any], log: Log, breaks_at: int | None = None
    ) -> None:
        """Serve `batches`, and log what is asked for."""
        super().__init__(batches)
        self.dataset = [None] * sum(len(targets) for _, targets in batches)
        self.log = log
        self.breaks_at = breaks_at
        self.passes = 0

    def __iter__(self) -> Iterator[Any]:
        """Yield each batch when it is asked for."""
        self.passes += 1
        for index, batch in enumerate(super().__iter__()):
            self.log.events.append(("asked", index))
            if index == self.breaks_at:
                raise Unreadable(f"batch {index + 1} cannot be read")
            yield batch


class BreaksAt(nn.Module):
    """Passes features through `net`, and raises when they are of one batch."""

    def __init__(
        self,
        net: nn.Module,
        log: Log,
        sizes: Sequence[int],
        at: int,
        kind: type[Exception] = DoesNotFit,
    ) -> None:
        """Wrap `net`; `log` knows its calls, `sizes` are the batches'."""
        super().__init__()
        self.net, self.log, self.sizes, self.at = net, log, sizes, at
        self.kind = kind

    def forward(self, features: Tensor) -> Tensor:
        """Return `net(features)`, but for the batch that does not fit."""
        if list(starts(self.log, self.sizes))[-1][1] == self.at:
            raise self.kind(f"the model cannot take batch {self.at + 1}")
        return self.net(features)


def starts(log: Log, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Give the number of each forward on samples, and the batch of its first sample.

    Where the features are not known, it is the first batch that was asked for and not
    forwarded whole; without one, the batch of the forward before.
    """
    number, last = -1, 0
    asked: list[int] = []
    missing = list(sizes)
    for kind, batch in log.events:
        if kind == "asked":
            asked.append(batch or 0)
        number += kind == "forward"
        if kind != "forward" or not log.forwards[number].rows:
            continue
        waiting = [index for index in asked if missing[index] > 0]
        last = batch if batch is not None else waiting[0] if waiting else last
        yield number, last
        for index, rows in spread(log.forwards[number].rows, last, sizes):
            missing[index] -= rows


def spread(rows: int, batch: int, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Spread rows over the batches from `batch` on: one forward may take several."""
    while rows and batch < len(sizes):
        here = min(rows, sizes[batch])
        if here:
            yield batch, here
        rows, batch = rows - here, batch + 1


@dataclass
class Evaluation:
    """One call: what it was given, and all that came of it."""

    run: Run
    targets: list[Tensor]
    outputs: dict[int, Tensor] = field(default_factory=dict)  # by number of the forward
    error: BaseException | None = None
    grad_after: bool = True
    inference_after: bool = False
    settings_after: dict[str, Any] = field(default_factory=dict)
    copied: bool = False  # whether a forward ran in other modes than the model's
    flags: set[tuple[bool, ...]] = field(default_factory=set)  # during the forwards

    @property
    def returned(self) -> Any:
        """What came back."""
        return self.run.returned

    @property
    def ended_in(self) -> str | None:
        """The kind of error that it raised."""
        return None if self.error is None else kind_of(self.error)

    @property
    def sizes(self) -> list[int]:
        """The batches' sizes."""
        return [len(targets) for targets in self.targets]

    def parts(self) -> Iterator[tuple[int, int, int]]:
        """Give each forward's number, a batch that it had samples of, and how many."""
        for number, first in starts(self.run.log, self.sizes):
            rows = self.run.log.forwards[number].rows
            for batch, here in spread(rows, first, self.sizes):
                yield number, batch, here

    def forwarded(self) -> list[int]:
        """Return the batches that were forwarded, each once."""
        return list(dict.fromkeys(batch for _, batch, _ in self.parts()))

    def times(self) -> list[float]:
        """How often the batches were forwarded: the numbers that occur."""
        rows = dict.fromkeys(self.forwarded(), 0)
        for _, batch, here in self.parts():
            rows[batch] += here
        return sorted({n / len(self.targets[batch]) for batch, n in rows.items()})

    def portion(self) -> str:
        """How many samples a forward gets."""
        log, sizes = self.run.log, self.sizes
        pairs = [(log.forwards[n].rows, sizes[b]) for n, b in starts(log, sizes)]
        if all(rows == size for rows, size in pairs):
            return "a batch"
        return "one sample" if all(rows == 1 for rows, _ in pairs) else "another number"

    def answers(self) -> list[Answer]:
        """Return the logits that each batch got first, with its targets."""
        got: dict[int, list[Tensor]] = {}
        taken: dict[int, int] = {}
        for number, batch, here in self.parts():
            output = self.outputs.get(number)
            have = sum(map(len, got.get(batch, ())))
            if output is None or have >= len(self.targets[batch]):
                continue
            start = taken.get(number, 0)
            got.setdefault(batch, []).append(output[start : start + here])
            taken[number] = start + here
        return [
            (torch.cat(rows), self.targets[batch])
            for batch, rows in sorted(got.items())
            if sum(map(len, rows)) == len(self.targets[batch])
        ]


def evaluate(
    kata: ModuleType,
    run: Run,
    batches: list[Batch],
    given: Any = None,
    *args: Any,
    grad: bool = True,
) -> Evaluation:
    """Call with a `Loader` of `batches`, or with what is `given` for it."""
    call = Evaluation(run, [targets.clone() for _, targets in batches])
    given = Loader(batches, run.log) if given is None else given
    parameters = [*run.model.parameters()]  # others may stand in for them meanwhile
    run.model.net.register_forward_hook(lambda *told: _keep(call, parameters, told[-1]))
    dtype = torch.get_default_dtype()
    with torch.set_grad_enabled(grad):
        try:
            run.call(lambda: kata.evaluate(run.model, given, *args))
        except Exception as error:
            call.error = error
        call.grad_after = torch.is_grad_enabled()
        call.inference_after = torch.is_inference_mode_enabled()
        call.settings_after = settings()
    torch.set_default_dtype(dtype)  # by it the next world is built
    return call


def _keep(call: Evaluation, parameters: list[Tensor], output: Tensor) -> None:
    """Keep what the model answered: a hook of the network, copied or not."""
    log = call.run.log
    with torch.inference_mode(False), torch.no_grad():
        call.outputs[len(log.forwards) - 1] = output.detach().clone()
    modes = tuple(module.training for module in call.run.model.modules())
    call.copied |= log.forwards[-1].training != modes
    call.flags.add(tuple(p.requires_grad for p in parameters))


def values(kata: ModuleType, call: Evaluation) -> list[Any]:
    """Return loss and accuracy, whatever their order: that is told elsewhere."""
    pair = read(call.returned)
    return pair[::-1] if _is_swapped(kata) else pair


@lru_cache(maxsize=1)
def _is_swapped(kata: ModuleType) -> bool:
    """Whether the accuracy comes first: of one wrong sample it is a round number."""
    run, batches = begin(kata, World([1], 0, "linear", training=False))
    with torch.no_grad():
        batches = [(x, run.model.net(x).argmin(1)) for x, _ in batches]
    first, second = map(as_number, read(evaluate(fresh(kata), run, batches).returned))
    round_numbers = (0, 1, 100)
    return first in round_numbers and second not in (None, *round_numbers)


def begin(kata: ModuleType, world: World) -> tuple[Run, list[Batch]]:
    """Begin in the precision in which the code under test works, float32 first."""
    return _begin(world, _working_dtype(kata))


@lru_cache(maxsize=1)
def _working_dtype(kata: ModuleType) -> torch.dtype:
    for dtype in (torch.float32, torch.float64):
        run, batches = _begin(World([4, 4], 0, "linear", training=False), dtype)
        if evaluate(fresh(kata), run, batches).ended_in != "RuntimeError":
            return dtype
    return torch.float32


def _begin(world: World, dtype: torch.dtype) -> tuple[Run, list[Batch]]:
    run = world.begin()
    run.model.to(dtype)
    batches = [(x.to(dtype), y) for x, y in world.batches()]
    firsts = ((x.flatten()[:1].tolist(), i) for i, (x, _) in enumerate(batches))
    run.model.known = {first[0]: index for first, index in firsts if first}
    return run, batches
