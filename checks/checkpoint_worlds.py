"""What `checkpoint` saves and loads: training runs, and files that do not fit them.

A run is a model, an optimizer, a scheduler and a scaler. Its steps depend on their
number alone, so that two runs can be compared bit for bit.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import lr_scheduler

from checks.worlds import NUM_CLASSES, NUM_FEATURES, OPTIMIZERS, build

Content = dict[str, Any]

KEYS = {
    "model": "model_state_dict",
    "optimizer": "optimizer_state_dict",
    "scheduler": "scheduler_state_dict",
    "scaler": "grad_scaler_state_dict",
}


def _sequential(optimizer: torch.optim.Optimizer, stages: int = 2) -> Any:
    warm_up = lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) / 4)
    rest = [lr_scheduler.ConstantLR(optimizer, 0.5, 2) for _ in range(stages - 1)]
    milestones = [3 * stage for stage in range(1, stages)]
    return lr_scheduler.SequentialLR(optimizer, [warm_up, *rest], milestones)


# No StepLR and no ExponentialLR: they go on rightly when their state is lost.
SCHEDULERS: dict[str, Callable[[torch.optim.Optimizer], Any]] = {
    "lambda": lambda o: lr_scheduler.LambdaLR(o, lambda step: 1 / (1 + step)),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=9),
    "onecycle": lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=20),
    "sequential": _sequential,
}

SCALERS: dict[str, Callable[[], torch.amp.GradScaler]] = {
    "on": lambda: torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=3),
    "disabled": lambda: torch.amp.GradScaler("cpu", enabled=False),
}


def _state_of(part: Any) -> Any:
    """Copy an object's state, or say that a wrong load has left none to be had."""
    try:
        return copy.deepcopy(part.state_dict())
    except Exception as error:
        return f"broken: state_dict() raises {type(error).__name__}"


@dataclass
class Parts:
    """The objects of one run; `scheduler` and `scaler` may be None."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    scheduler: Any
    scaler: Any

    def given(self) -> dict[str, Any]:
        """The objects that there are, by the candidate's argument."""
        return {name: vars(self)[name] for name in KEYS if vars(self)[name] is not None}

    def states(self) -> Content:
        """Copy every object's state, by the file's key."""
        return {KEYS[name]: _state_of(part) for name, part in self.given().items()}

    def changed(self, before: Content, parameters: Sequence[Tensor]) -> str | None:
        """Say what is no longer as it was: `before` are the states, None if nothing."""
        after = self.states()
        texts = {
            name: difference(after[KEYS[name]], before[KEYS[name]], "was", KEYS[name])
            for name in self.given()
        }
        names = [name for name, text in texts.items() if text]
        if names:
            return f"the {' and the '.join(names)} changed: {texts[names[0]]}"
        now = list(self.model.parameters())
        held = [p for group in self.optimizer.param_groups for p in group["params"]]
        mine = {id(parameter) for parameter in parameters}
        if all(id(p) in mine for p in (*now, *held)):
            return None
        return "the parameters are other objects than before"


@dataclass(frozen=True)
class Training:
    """A training run; `scheduler` and `scaler` name a builder above, or are None."""

    network: str = "batchnorm"
    optimizer: str = "adam"
    scheduler: str | None = "lambda"
    scaler: str | None = "on"
    seed: int = 0

    def fresh(self, seed: int | None = None) -> Parts:
        """Build the objects anew, with the weights of another seed if one is given."""
        model = build(self.network, self.seed if seed is None else seed)
        trainable = [p for p in model.parameters() if p.requires_grad]
        optimizer = OPTIMIZERS[self.optimizer](trainable)
        scheduler = SCHEDULERS[self.scheduler](optimizer) if self.scheduler else None
        return Parts(
            model, optimizer, scheduler, SCALERS[self.scaler]() if self.scaler else None
        )

    def trained(self, steps: int, seed: int | None = None) -> Parts:
        """Build the objects and train for some steps."""
        parts = self.fresh(seed)
        self.train(parts, range(steps))
        return parts

    def content(self, steps: int, epoch: int = 3, best_metric: float = 0.25) -> Content:
        """Return what a right file holds that is saved after some steps."""
        return {"epoch": epoch, "best_metric": best_metric, **self.states(steps)}

    def states(self, steps: int) -> Content:
        """Copy the states after some steps."""
        return copy.deepcopy(_states_after(self, steps))

    @torch.enable_grad()  # also where a candidate has left it off
    def train(self, parts: Parts, steps: Sequence[int]) -> None:
        """Take the steps of these numbers."""
        for number in steps:
            generator = torch.Generator().manual_seed(100 * self.seed + number)
            features = torch.randn(
                4, NUM_FEATURES, generator=generator, dtype=torch.float64
            )
            targets = torch.randint(NUM_CLASSES, (4,), generator=generator)
            parts.optimizer.zero_grad()
            loss = cross_entropy(parts.model(features), targets)
            if parts.scaler is None:
                loss.backward()
                parts.optimizer.step()
            else:
                parts.scaler.scale(loss).backward()
                parts.scaler.step(parts.optimizer)
                parts.scaler.update()
            if parts.scheduler is not None:
                parts.scheduler.step()


@functools.cache
def _states_after(world: Training, steps: int) -> Content:
    return world.trained(steps).states()


def difference(
    got: Any, right: Any, word: str = "right is", at: str = ""
) -> str | None:
    """Describe the first difference between two states, None if there is not a bit.

    For example: "optimizer_state_dict.state.0.exp_avg[1, 2] is 0.31, right is 0.12".
    """
    if isinstance(right, Mapping):
        return _mapping_difference(got, right, word, at)
    if isinstance(right, (list, tuple)) and isinstance(got, (list, tuple)):
        got, right = dict(enumerate(got)), dict(enumerate(right))
        return _mapping_difference(got, right, word, at)
    if isinstance(right, Tensor) and isinstance(got, Tensor):
        return _tensor_difference(got, right, word, at)
    same = type(got) is type(right) and (
        got == right or (got != got and right != right)
    )
    return None if same else f"{at} is {_short(got)}, {word} {_short(right)}"


def _mapping_difference(got: Any, right: Any, word: str, at: str) -> str | None:
    if not isinstance(got, Mapping):
        return f"{at} is {_short(got)}, {word} a dict of {len(right)}"
    dot = f"{at}." if at else ""
    for key in (*right, *got):
        if key not in got:
            return f"{dot}{key} is not there, {word} {_short(right[key])}"
        if key not in right:
            return f"{dot}{key} is {_short(got[key])}, {word} not there"
        text = difference(got[key], right[key], word, f"{dot}{key}")
        if text:
            return text
    return None


def _tensor_difference(got: Tensor, right: Tensor, word: str, at: str) -> str | None:
    if got.shape != right.shape or got.dtype != right.dtype:
        return f"{at} is {_short(got)}, {word} {_short(right)}"
    if torch.equal(got, right):
        return None
    off = (got != right) & ~((got != got) & (right != right))
    if not off.any():
        return None
    index = tuple(int(i) for i in off.nonzero()[0])
    place = f"{at}[{', '.join(map(str, index))}]" if index else at
    mine, other = got[index].item(), right[index].item()
    digits = 4 if f"{mine:.4g}" != f"{other:.4g}" else 17
    return f"{place} is {mine:.{digits}g}, {word} {other:.{digits}g}"


def _short(value: Any) -> str:
    if isinstance(value, Tensor):
        kind = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        return f"a tensor of {kind}" if value.dim() else f"{value.item():.4g}"
    if isinstance(value, Mapping):
        return f"a dict of {len(value)}"
    text = repr(value) if type(value).__module__ == "builtins" else type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


def _one_row(state: Content) -> None:
    last = list(state)[-1]
    state[last] = state[last][:1]  # would be broadcast by copy_


def _wider(state: Content) -> None:
    last = list(state)[-1]
    state[last] = state[last].repeat(2)


def _one_short(state: Content) -> None:
    del state[list(state)[-1]]


def _one_more(state: Content) -> None:
    state["head.weight"] = torch.zeros(2, 2)


def _prefixed(state: Content) -> None:
    for name in list(state):
        state[f"net.{name}"] = state.pop(name)


def _transposed(state: Content) -> None:
    name = [name for name in state if state[name].dim() == 2][-1]  # it is not square
    state[name] = state[name].T.contiguous()


MODEL_MISFITS: dict[str, tuple[str, Callable[[Content], None]]] = {
    "one short": ("lacks the last tensor", _one_short),
    "one more": ("has one tensor more, head.weight", _one_more),
    "wider": ("has the last tensor twice as long", _wider),
    "one row": ("has only the first entry of the last tensor", _one_row),
    "transposed": ("has the last weight transposed", _transposed),
    "prefixed": ('has "net." before every name', _prefixed),
}
"""Ways in which a file's model does not fit: in words, what is done to its state."""


def _another_group(content: Content) -> None:
    groups = content["optimizer_state_dict"]["param_groups"]
    groups.append({**groups[0], "params": []})


def _fewer_parameters(content: Content) -> None:
    content["optimizer_state_dict"]["param_groups"][0]["params"].pop()


def _of_another_kind(content: Content) -> None:
    content["scheduler_state_dict"] = (
        Training(scheduler="cosine").fresh().states()["scheduler_state_dict"]
    )


def _another_stage(content: Content) -> None:
    optimizer = Training(scheduler=None).fresh().optimizer
    content["scheduler_state_dict"] = _sequential(optimizer, stages=3).state_dict()


def _of_a_disabled_scaler(content: Content) -> None:
    content["grad_scaler_state_dict"] = {}


def _half_a_scaler(content: Content) -> None:
    content["grad_scaler_state_dict"] = {"scale": 2.0, "growth_factor": 3.0}


OTHER_MISFITS: dict[str, tuple[str, str, Callable[[Content], None]]] = {
    "another group": ("optimizer", "has one param group more", _another_group),
    "fewer parameters": ("optimizer", "has one parameter less", _fewer_parameters),
    "another kind": ("scheduler", "is a CosineAnnealingLR's", _of_another_kind),
    "another stage": ("scheduler", "has one stage more", _another_stage),
    "disabled": ("scaler", "is empty, a disabled scaler's", _of_a_disabled_scaler),
    "half": ("scaler", "holds only scale and growth_factor", _half_a_scaler),
}
"""Which state does not fit, in which way in words, and what is done to the file.

"another kind" is meant for a LambdaLR or SequentialLR, "another stage" for the latter,
whose load_state_dict then raises with half of it done; so does the scaler's on "half".
"""
