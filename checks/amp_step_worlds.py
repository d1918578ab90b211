"""Worlds for mixed precision: what autocast did, when, and the right step beside it.

Everything is float32, on `DEVICE`; another device is this one constant. The right step
is worked out with autocast alone: the scale and the rules by which it moves are kept by
hand, so that no slip of a scaler can become the truth.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

# Bound at import, before a candidate's file could replace them.
from torch.nn.functional import cross_entropy

from checks import judging
from checks.recorders import (
    Batch,
    Log,
    RecordedModel,
    State,
    buffers_of,
    inside_functorch,
    parameters_of,
    record_steps,
)
from checks.worlds import NUM_CLASSES, NUM_FEATURES, STALE, build

DEVICE = "cpu"
ELSEWHERE = "cuda" if DEVICE == "cpu" else "cpu"  # a device type that DEVICE is not

_autocast = torch.autocast
_is_autocast_enabled = torch.is_autocast_enabled
_autocast_dtype = torch.get_autocast_dtype
USUAL_DTYPE = torch.get_autocast_dtype(DEVICE)  # what autocast takes when told none

NUM_BATCHES = 6  # how many batches a world can tell apart

Groups = list[dict[str, Any]]

# Two groups each, with learning rates apart: a step that forgets one shows.
OPTIMIZERS: dict[str, Callable[[Groups], torch.optim.Optimizer]] = {
    "sgd": lambda groups: torch.optim.SGD(groups),
    "momentum": lambda groups: torch.optim.SGD(groups, momentum=0.9),
    "decay": lambda groups: torch.optim.SGD(groups, momentum=0.5, weight_decay=0.25),
    "adam": lambda groups: torch.optim.Adam(groups),
}


@dataclass
class Cast:
    """What autocast did in one forward, and in the backward through it.

    `gradient` is the one of the logits, as backward had it: scaled.
    """

    enabled: bool
    dtype: torch.dtype
    logits: torch.dtype
    parameters: frozenset[torch.dtype]
    backward_enabled: bool | None = None
    gradient: Tensor | None = None


class CastModel(RecordedModel):
    """A recorded model that also notes what autocast does.

    While `poison` is a number, the backward through the logits gives that number.
    """

    def __init__(self, net: nn.Module, log: Log, known: dict[float, int]) -> None:
        """Wrap `net`."""
        super().__init__(net, log, known)
        self.casts: list[Cast] = []
        self.poison: float | None = None

    def forward(self, features: Tensor) -> Tensor:
        """Return `net(features)`, and note the precision that it ran in."""
        logits = super().forward(features.as_subclass(Tensor))
        cast = Cast(
            enabled=_is_autocast_enabled(DEVICE),
            dtype=_autocast_dtype(DEVICE),
            logits=logits.dtype,
            parameters=frozenset(p.dtype for p in self.parameters()),
        )
        self.casts.append(cast)
        return _Watched.apply(logits, cast, self)


class _Watched(torch.autograd.Function):
    """The identity; its backward notes whether autocast is on, and may overflow."""

    @staticmethod
    def forward(logits: Tensor, cast: Cast, model: CastModel) -> Tensor:
        return logits.view_as(logits)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.cast, ctx.model = inputs[1:]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        ctx.cast.backward_enabled = _is_autocast_enabled(DEVICE)
        if not inside_functorch():
            ctx.cast.gradient = gradient.detach().clone()
        if ctx.model.poison is not None:
            gradient = torch.full_like(gradient, ctx.model.poison)
        return gradient, None, None


class Claiming(torch.Tensor):
    """A tensor that says it is on a device of type `ELSEWHERE`."""

    @property
    def device(self) -> torch.device:
        """Return that device, whatever is true."""
        return torch.device(ELSEWHERE)


@dataclass
class PlainScale:
    """The rules of a gradient scaler, written out; see torch.amp.GradScaler."""

    scale: float
    growth_interval: int
    enabled: bool = True
    good_steps: int = 0

    def get_scale(self) -> float:
        """Return the scale: 1 when disabled."""
        return self.scale if self.enabled else 1.0

    def follow(self, finite: bool) -> None:
        """Halve after an overflow; double after `growth_interval` good steps."""
        if not finite:
            self.scale, self.good_steps = self.scale / 2, 0
            return
        self.good_steps += 1
        if self.good_steps == self.growth_interval:
            self.scale, self.good_steps = self.scale * 2, 0


def plain_step(
    model: nn.Module,
    features: Tensor,
    targets: Tensor,
    optimizer: torch.optim.Optimizer,
    scaler: PlainScale,
    *,
    scheduler: Any = None,
    max_norm: float | None = None,
    device_type: str = DEVICE,
    dtype: torch.dtype = torch.float16,
) -> tuple[float, bool]:
    """Make the right step, as plainly as can be."""
    optimizer.zero_grad()
    with _own_settings():
        with _autocast(device_type, dtype=dtype):
            logits = model(features)
        loss = cross_entropy(logits.float(), targets)
        (loss * scaler.get_scale()).backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    for gradient in gradients:
        gradient.div_(scaler.get_scale())
    finite = all(bool(gradient.isfinite().all()) for gradient in gradients)
    if finite:
        factor = clip_factor(gradients, max_norm)
        for gradient in gradients:
            gradient.mul_(factor)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    scaler.follow(finite)
    return loss.item(), finite


@contextlib.contextmanager
def _own_settings() -> Iterator[None]:
    """Leave out what a candidate's code may have left switched on."""
    with (
        torch.enable_grad(),
        torch.autograd.set_detect_anomaly(False),
        _autocast(DEVICE, enabled=False),
    ):
        yield


def norm_of(gradients: Sequence[Tensor]) -> float:
    """The 2-norm of all the entries together."""
    return math.sqrt(math.fsum(float(g.double().square().sum()) for g in gradients))


def clip_factor(gradients: Sequence[Tensor], max_norm: float | None) -> float:
    """What clipping to a global norm multiplies by: min(1, max_norm / norm)."""
    norm = norm_of(gradients)
    return 1.0 if max_norm is None or norm <= max_norm else max_norm / norm


@dataclass
class Call:
    """One call of a step function: what came back, and what it left behind."""

    loss: Any
    stepped: Any
    returned: Any
    before: State
    parameters: State
    buffers: State
    optimizer_before: dict[str, Any]
    optimizer_state: dict[str, Any]
    scale_before: float
    scale: float
    scheduled: float | None  # how often the scheduler has stepped so far
    rates: list[list[float]]  # the learning rates at each step of the optimizer
    rates_left: list[float]  # the learning rates after the call
    casts: list[Cast]

    @property
    def update(self) -> State:
        """How far each parameter moved."""
        gone = torch.tensor(math.nan)
        return {n: self.parameters.get(n, gone) - p for n, p in self.before.items()}

    @property
    def claims_step(self) -> bool | None:
        """What `stepped` says, leniently read; None when it says nothing."""
        if isinstance(self.stepped, np.bool_):
            return bool(self.stepped)
        number = judging.number(self.stepped)
        return None if math.isnan(number) else bool(number)


@dataclass
class AmpRun:
    """A model, an optimizer and a scaler on their way through some calls."""

    world: AmpWorld
    model: CastModel
    optimizer: torch.optim.Optimizer
    scaler: Any
    scheduler: Any
    log: Log
    rates: list[list[float]] = field(default_factory=list)
    stepped_in_autocast: list[bool] = field(default_factory=list)
    poisoned: int = 0  # how often the poison reached the last parameter's gradient
    last_poison: float | None = None  # what the last parameter's gradient becomes

    def call(self, function: Callable[..., Any], batch: Batch, **options: Any) -> Call:
        """Call a step function on a batch. Errors come through, with a word added."""
        before, state = parameters_of(self.model), _state_of(self.optimizer)
        scale, num_casts = self.scaler.get_scale(), len(self.model.casts)
        num_rates = len(self.rates)
        given = {**self.world.options(), **options}
        if self.scheduler is not None:
            given["scheduler"] = self.scheduler
        try:
            returned = function(
                self.model, *batch, self.optimizer, self.scaler, **given
            )
        except Exception as error:
            _explain(error)
            raise
        loss, stepped = _pair(returned)
        return Call(
            loss=loss,
            stepped=stepped,
            returned=returned,
            before=before,
            parameters=parameters_of(self.model),
            buffers=buffers_of(self.model),
            optimizer_before=state,
            optimizer_state=_state_of(self.optimizer),
            scale_before=scale,
            scale=self.scaler.get_scale(),
            scheduled=self.scheduler and self.scheduler.last_epoch,
            rates=self.rates[num_rates:],
            rates_left=[group["lr"] for group in self.optimizer.param_groups],
            casts=self.model.casts[num_casts:],
        )

    def calls(
        self, function: Callable[..., Any], plan: Sequence[bool], **options: Any
    ) -> list[Call]:
        """Call once for each entry of a plan: True is an overflow, False is none."""
        made = []
        for index, overflows in enumerate(plan):
            self.model.poison = math.inf if overflows else None
            made.append(self.call(function, self.world.batch(index), **options))
        return made


@dataclass(frozen=True)
class AmpWorld:
    """A classifier, an optimizer, a scaler and batches of `size`, all in float32.

    `network` names one of `checks.worlds`, `optimizer` one of this module. With
    `scheduled` a scheduler halves the learning rates at each step; with `stale` every
    trainable parameter enters with a gradient of 7.0.
    """

    size: int = 4
    seed: int = 0
    network: str = "mlp"
    optimizer: str = "sgd"
    dtype: torch.dtype = torch.float16
    scale: float = 8.0
    growth_interval: int = 1000
    enabled: bool = True
    scheduled: bool = False
    stale: bool = False

    def batch(self, index: int = 0) -> Batch:
        """Draw a batch: the same at each call, no two of the first six alike."""
        features, targets = _draw(self.size, self.seed, index)
        return features.clone().to(DEVICE), targets.clone().to(DEVICE)

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of a call, where they are not the defaults."""
        given: dict[str, Any] = {}
        if self.dtype != torch.float16:
            given["dtype"] = self.dtype
        if DEVICE != "cpu":
            given["device_type"] = DEVICE
        return given

    def begin(self, net: nn.Module | None = None) -> AmpRun:
        """Build the run that a candidate gets; `net` replaces the drawn network."""
        scaler = torch.amp.GradScaler(
            DEVICE,
            init_scale=self.scale,
            growth_interval=self.growth_interval,
            enabled=self.enabled,
        )
        return self._begin(net, scaler)

    def begin_right(self, net: nn.Module | None = None) -> AmpRun:
        """Build the run of the right step, which keeps the scale by itself."""
        return self._begin(
            net, PlainScale(self.scale, self.growth_interval, self.enabled)
        )

    def _begin(self, net: nn.Module | None, scaler: Any) -> AmpRun:
        log = Log()
        net = build(self.network, self.seed).float() if net is None else net
        model = CastModel(net.to(DEVICE), log, _known(self.size, self.seed))
        trainable = [p for p in model.parameters() if p.requires_grad]
        optimizer = OPTIMIZERS[self.optimizer](_groups(self.optimizer, trainable))
        record_steps(optimizer, model, log)
        scheduler = None
        if self.scheduled:
            scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 0.5**t)
        if self.stale:
            for parameter in trainable:
                parameter.grad = torch.full_like(parameter, STALE)
        run = AmpRun(self, model, optimizer, scaler, scheduler, log)
        _watch(run, trainable[-1])
        return run

    def right(self, plan: Sequence[bool] = (False,), **options: Any) -> list[Call]:
        """Make the right calls of a plan."""
        return self.begin_right().calls(plain_step, plan, **options)


@functools.cache
def _draw(size: int, seed: int, index: int) -> Batch:
    generator = torch.Generator().manual_seed(NUM_BATCHES * seed + index)
    features = torch.randn(size, NUM_FEATURES, generator=generator)
    return features, torch.randint(NUM_CLASSES, (size,), generator=generator)


@functools.cache
def _known(size: int, seed: int) -> dict[float, int]:
    return {_draw(size, seed, k)[0][0, 0].item(): k for k in range(NUM_BATCHES)}


def _groups(optimizer: str, trainable: list[nn.Parameter]) -> Groups:
    rate = 0.01 if optimizer == "adam" else 0.5
    matrices = [p for p in trainable if p.dim() > 1]
    vectors = [p for p in trainable if p.dim() <= 1]
    groups = [{"params": matrices, "lr": rate}, {"params": vectors, "lr": rate / 2}]
    return [group for group in groups if group["params"]]


def _watch(run: AmpRun, last: nn.Parameter) -> None:
    """Note what each step meets; poison the last gradient on demand."""

    def after_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        run.rates.append([group["lr"] for group in optimizer.param_groups])
        run.stepped_in_autocast.append(_is_autocast_enabled(DEVICE))

    def poison(gradient: Tensor) -> Tensor | None:
        if run.last_poison is None:
            return None
        run.poisoned += 1
        return torch.full_like(gradient, run.last_poison)

    run.optimizer.register_step_post_hook(after_step)
    last.register_hook(poison)


def _state_of(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Copy the optimizer's state, as plain entries: "exp_avg of parameter 0" …"""
    return {
        f"{name} of parameter {index}": copy.deepcopy(value)
        if not isinstance(value, Tensor)
        else value.detach().clone()
        for index, entries in optimizer.state_dict()["state"].items()
        for name, value in entries.items()
    }


def _pair(returned: Any) -> tuple[Any, Any]:
    """Read (loss, stepped) leniently: that a tuple was asked is a check of its own."""
    if isinstance(returned, (tuple, list)) and len(returned) == 2:
        return returned[0], returned[1]
    return returned, None


# What torch says when a scaler is called out of order, and what that means here.
_TORCH_SAYS = {
    "No inf checks were recorded prior to update": (
        "either update() came twice in this call, or nothing went through scaler.step "
        "before it: was optimizer.step() called in its place?"
    ),
    "No inf checks were recorded for this optimizer": (
        "no parameter had a gradient when scaler.step came: were they cleared between "
        "backward and step?"
    ),
    "unscale_() has already been called": (
        "this is the second unscale_ since the last update(): does every call, a "
        "skipped step too, end with one scaler.update()?"
    ),
    "unscale_() is being called after step()": (
        "unscale_ belongs between backward and scaler.step; or the call before did not "
        "end with scaler.update()"
    ),
    "step() has already been called": (
        "this is the second scaler.step since the last update(): does every call, a "
        "skipped step too, end with one scaler.update()?"
    ),
    "unscale FP16 gradients": (
        "your code cast the model's own parameters to float16: autocast leaves them "
        "float32 and casts within the forward"
    ),
    "is non-finite, so it cannot be clipped": (
        "an overflow is no error here: scaler.step skips the step, update() makes the "
        "scale smaller"
    ),
    "returned nan values in its": (
        "anomaly detection is on, and makes an error of every overflow"
    ),
    "but _scale is None": "the loss never went through scaler.scale",
}


def _explain(error: Exception) -> None:
    """Say behind torch's own words which slip they mean here."""
    text = str(error)
    for words, meaning in _TORCH_SAYS.items():
        if words in text:
            error.args = (f"{text.splitlines()[0]} -- {meaning}",)
            return
