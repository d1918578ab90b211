"""Recorders: a model, an optimizer and a stream of batches that keep what happened.

What they keep is plain data: which mode and grad mode each forward ran in, which
parameters it saw, what the gradients were at each step, and in which order batches were
asked for, forwarded and stepped. Nothing here asks *how* the candidate does it.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

State = dict[str, Tensor]
Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Forward:
    """One call of the model; `batch` is the index of the batch that it was given."""

    batch: int | None
    rows: int
    training: tuple[bool, ...]  # of every module, the root first
    grad_enabled: bool
    autocast: bool
    elsewhere: bool  # whether the features had not been moved to the device
    dtype: torch.dtype
    shape: tuple[int, ...]
    parameters: State | None  # as this forward saw them; None inside torch.func


@dataclass(frozen=True)
class Step:
    """One step that the optimizer took: the gradients it used, what it left behind."""

    gradients: State
    parameters: State


@dataclass
class Log:
    """What happened, in order: `events` has ("asked", k), ("forward", k), ("step", j).

    Also ("backward", k), where the gradient of forward k's output came by.

    A deep copy of a recorded model writes into the same log.
    """

    forwards: list[Forward] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    events: list[tuple[str, int | None]] = field(default_factory=list)

    def __deepcopy__(self, memo: dict[int, Any]) -> Log:
        """Return the log itself."""
        return self

    def count(self, kind: str) -> int:
        """How many events of one kind there were."""
        return sum(event[0] == kind for event in self.events)


class RecordedModel(nn.Module):
    """Passes features through `net`, and logs each forward.

    `known` maps the first number of a batch's features to the batch's index; worlds
    draw features such that no two batches share it.
    """

    def __init__(self, net: nn.Module, log: Log, known: dict[float, int]) -> None:
        """Wrap `net`; its parameters and buffers keep their names under `net.`."""
        super().__init__()
        self.net = net
        self.log = log
        self.known = known

    def forward(self, features: Tensor) -> Tensor:
        """Return `net(features)`; what it was called with is logged first."""
        batch = which_batch(features, self.known)
        forward = Forward(
            batch=batch,
            rows=len(features),
            training=tuple(module.training for module in self.modules()),
            grad_enabled=torch.is_grad_enabled(),
            autocast=torch.is_autocast_enabled("cpu"),
            elsewhere=isinstance(features, Elsewhere),
            dtype=features.dtype,
            shape=tuple(features.shape),
            parameters=None if inside_functorch() else parameters_of(self),
        )
        self.log.forwards.append(forward)
        self.log.events.append(("forward", batch))
        output = self.net(features)
        if output.requires_grad and not inside_functorch():
            events = self.log.events
            output.register_hook(lambda _: events.append(("backward", batch)))
        return output


def which_batch(features: Tensor, known: dict[float, int]) -> int | None:
    """Tell a batch by the first number of its features; None for unknown features."""
    if features.numel() == 0:
        return None
    return known.get(features.detach().flatten()[0].item())


def inside_functorch() -> bool:
    """Whether a torch.func transform is running: its tensors must not be kept."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def parameters_of(model: nn.Module) -> State:
    """Copy the parameters, by name; a tied one appears once."""
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def buffers_of(model: nn.Module) -> State:
    """Copy the buffers, by name."""
    return {name: b.detach().clone() for name, b in model.named_buffers()}


def gradients_of(model: nn.Module) -> State:
    """Copy the gradients that there are, by the parameter's name."""
    return {
        name: p.grad.detach().clone()
        for name, p in model.named_parameters()
        if p.grad is not None
    }


def record_steps(optimizer: torch.optim.Optimizer, model: nn.Module, log: Log) -> None:
    """Log each step that the optimizer really takes.

    A *post*-hook, because `optimizer.step(closure)` computes its gradients inside.
    """

    def after_step(*_: Any) -> None:
        log.steps.append(Step(gradients_of(model), parameters_of(model)))
        log.events.append(("step", len(log.steps) - 1))

    optimizer.register_step_post_hook(after_step)


class BrokenBatch(Exception):
    """What a stream raises in place of a batch: it must come through unchanged."""


class Fragile(nn.Module):
    """Passes features through `net`, and raises an `error` at call `breaks_at`."""

    def __init__(
        self, net: nn.Module, breaks_at: int, error: type[Exception] = BrokenBatch
    ) -> None:
        """Wrap `net`; calls count from 0."""
        super().__init__()
        self.error = error
        self.net = net
        self.breaks_at = breaks_at
        self.calls = 0

    def forward(self, features: Tensor) -> Tensor:
        """Return `net(features)`, unless this is the call that breaks."""
        self.calls += 1
        if self.calls - 1 == self.breaks_at:
            raise self.error(f"the model cannot take batch {self.calls}")
        return self.net(features)


class Batches:
    """A stream of batches without a length, that logs what is asked of it and when.

    Each pass starts anew, like a DataLoader's; `passes` counts them. With `breaks_at`
    the stream raises `BrokenBatch` in place of that batch.
    """

    def __init__(
        self, batches: Sequence[Any], log: Log, *, breaks_at: int | None = None
    ) -> None:
        """Serve `batches` in order."""
        self.batches = batches
        self.log = log
        self.breaks_at = breaks_at
        self.passes = 0

    def __iter__(self) -> Iterator[Any]:
        """Yield each batch when it is asked for, not before."""
        self.passes += 1
        for index, batch in enumerate(self.batches):
            self.log.events.append(("asked", index))
            if index == self.breaks_at:
                raise BrokenBatch(f"batch {index + 1} cannot be read")
            yield batch
        self.log.events.append(("ended", None))


class Elsewhere(torch.Tensor):
    """A tensor on another device: it has a shape, a dtype and `.to`.

    Arithmetic among such tensors stays there. Together with a tensor that is here it
    fails, as on a GPU: "expected all tensors to be on the same device".
    """

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> Elsewhere:
        """Wrap `inner`, which nobody but `.to` gets at."""
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device="meta"
        )

    def __init__(self, inner: Tensor) -> None:
        """Keep the values."""
        self.inner = inner

    def __repr__(self, **_: Any) -> str:
        """Show that it is elsewhere, as torch shows a device."""
        return f"tensor(..., size={tuple(self.shape)}, device='elsewhere')"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(
        cls,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Move here by `.to`; work among its own kind; refuse to mix."""
        kwargs = kwargs or {}
        if func in _moves():
            moved = func(args[0].inner, *args[1:], **kwargs)
            is_named = kwargs.get("device") or func is torch.ops.aten.to.device
            if is_named and moved.device.type != "meta":
                return moved
        operands = [*args, *kwargs.values()]
        if any(_is_here(operand) for operand in operands):
            raise RuntimeError(
                "Expected all tensors to be on the same device, but features or "
                "targets were not moved to `device`"
            )
        kwargs.pop("device", None)
        inner = func(*map(_inner, args), **{k: _inner(v) for k, v in kwargs.items()})
        return cls(inner) if isinstance(inner, Tensor) else inner


@lru_cache
def _moves() -> frozenset[Any]:
    """The operations that `.to` comes down to; under inference_mode it is in one."""
    aten = torch.ops.aten
    return frozenset((aten._to_copy.default, aten.to.device, aten.to.dtype_layout))


def _is_here(operand: Any) -> bool:
    if isinstance(operand, (list, tuple)):
        return any(map(_is_here, operand))
    return (
        isinstance(operand, Tensor)
        and not isinstance(operand, Elsewhere)
        and operand.dim() > 0
    )


def _inner(operand: Any) -> Any:
    if isinstance(operand, (list, tuple)):  # of torch.cat, say
        return type(operand)(map(_inner, operand))
    return operand.inner if isinstance(operand, Elsewhere) else operand


class GraphWatch(nn.Module):
    """Wraps a model; tells which batches' graphs are alive when a forward starts.

    `looks` holds a `Look` for each forward. What is alive follows the objects'
    lifetimes; only where something is alive that may be a mere reference cycle is the
    garbage collector asked, since it is slow. `known` is as in `RecordedModel`.
    """

    def __init__(self, net: nn.Module, known: dict[float, int]) -> None:
        """Watch the graphs that go through `net`."""
        super().__init__()
        self.net = net
        self.known = known
        self.looks: list[Look] = []
        self._tokens: list[tuple[int, weakref.ref[Any]]] = []
        self._parcels: list[tuple[int, weakref.ref[Any]]] = []

    def forward(self, features: Tensor) -> Tensor:
        """Return `net(features)`, its graph tagged with what can be watched."""
        batch = which_batch(features, self.known)
        batch = len(self.looks) if batch is None else batch
        self._look(batch)
        if inside_functorch():  # saved-tensor hooks are refused there; nothing is kept
            return self.net(features)

        def pack(saved: Tensor) -> _Parcel:
            # Detached: an output in its own node's keeping would be a cycle for ever.
            parcel = _Parcel(saved.detach())
            self._parcels.append((batch, weakref.ref(parcel)))
            return parcel

        with torch.autograd.graph.saved_tensors_hooks(pack, _Parcel.unpack):
            output = self.net(features)
        token = _Token()
        self._tokens.append((batch, weakref.ref(token)))
        return _Tagged.apply(output, token)

    def _look(self, batch: int) -> None:
        """Note what is alive now, of batches other than this one."""
        look = self._alive(batch)
        if look.saved or any(older < batch - 1 for older in look.graphs):
            gc.collect()
            look = self._alive(batch)
        self.looks.append(look)

    def _alive(self, batch: int) -> Look:
        return Look(batch, _others(self._tokens, batch), _others(self._parcels, batch))


@dataclass(frozen=True)
class Look:
    """What was alive when a forward on `batch` began, of other batches' forwards.

    `graphs`: batches whose autograd graph existed; `saved`: batches whose graph still
    held tensors saved for its backward.
    """

    batch: int
    graphs: tuple[int, ...]
    saved: tuple[int, ...]


def _others(watched: list[tuple[int, weakref.ref[Any]]], batch: int) -> tuple[int, ...]:
    alive = {of for of, thing in watched if of != batch and thing() is not None}
    return tuple(sorted(alive))


class _Token:
    """Lives as long as the autograd node that holds it."""


class _Parcel:
    """Holds one tensor saved for backward; freed with it."""

    def __init__(self, saved: Tensor) -> None:
        self.saved = saved

    def unpack(self) -> Tensor:
        return self.saved


class _Tagged(torch.autograd.Function):
    """The identity; its node keeps a token alive."""

    @staticmethod
    def forward(ctx: Any, output: Tensor, token: _Token) -> Tensor:
        ctx.token = token
        return output.view_as(output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


@dataclass
class Run:
    """One call of the candidate's function (or an oracle), and all it left behind."""

    log: Log
    model: nn.Module
    optimizer: torch.optim.Optimizer | None
    entered: State = field(default_factory=dict)  # the parameters on entry
    returned: Any = None
    error: BaseException | None = None
    parameters: State = field(default_factory=dict)
    buffers: State = field(default_factory=dict)

    def call(self, function: Callable[[], Any]) -> Run:
        """Call, keep the result, copy the state that it left. Errors come through."""
        try:
            self.returned = function()
        finally:
            self.parameters = parameters_of(self.model)
            self.buffers = buffers_of(self.model)
        return self
