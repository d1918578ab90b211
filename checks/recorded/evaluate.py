"""The worlds in which mistakes in `evaluate` are told apart.

Most code works in float32, so that is what most worlds are in: a slip in the features'
dtype then shows where it is looked for, and nowhere else.
"""

from __future__ import annotations

import dis
import math
import traceback
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

# Bound at import, before a candidate's file could replace it.
from torch.nn.functional import cross_entropy

from checks.evaluate_worlds import (
    PassThrough,
    comes_from_the_break,
    far_apart,
    without_end,
)
from checks.judging import random_states, settings
from checks.recorded import Seen, fresh
from checks.recorded.evaluate_calls import (
    BreaksAt,
    Evaluation,
    Loader,
    begin,
    evaluate,
    values,
)
from checks.recorded.evaluate_told import (
    LOSSES,
    as_number,
    explain,
    relation,
    told_values,
)
from checks.recorders import Batches, Elsewhere, Run, buffers_of, parameters_of
from checks.worlds import STALE, World


def _linear(*sizes: int, seed: int = 0) -> World:
    return World(sizes, seed, "linear", training=False)


def _values(kata: ModuleType) -> Seen:
    """Lists of as many samples as there are classes, or one; one list all right."""
    calls = []
    for sizes, seed in (
        ([4, 4, 1], 66),
        ([1, 4, 4, 4], 130),
        ([4, 1, 4], 124),
        ([4, 4], 103),
    ):
        run, batches = begin(kata, _linear(*sizes, seed=seed))
        with torch.no_grad():  # logits near each other: no probability is tiny
            for parameter in run.model.parameters():
                parameter *= 0.3
        if sizes == [4, 4]:
            with torch.no_grad():
                batches = [(x, run.model.net(x).argmax(1)) for x, _ in batches]
        calls.append(evaluate(fresh(kata), run, batches))
    world = _linear(4, 4)
    typical = evaluate(fresh(kata), world.begin(), world.batches())  # in float64
    returned = [call for call in calls if call.error is None]
    if not returned:
        return {"error": calls[0].ended_in}
    return {
        "error": [call.ended_in for call in calls if call.error],
        **told_values(
            [call.returned for call in returned],
            [call.answers() for call in returned],
            typical=(returned[0] if typical.error else typical).returned,
        ),
    }


def _many_right(kata: ModuleType) -> Seen:
    """All right: 300 samples of as many classes, 100 of as many."""
    pairs = []
    for size in (300, 100):
        run = _linear(1).begin()
        run.model.net = nn.Linear(size, size, bias=False)
        nn.init.eye_(run.model.net.weight)
        run.model.known = {0.5: 0}
        batches = [(torch.eye(size) / 2, torch.arange(size))]
        call = evaluate(fresh(kata), run, batches)
        pairs.append([as_number(value) for value in values(kata, call)])
    ratios = [relation(*pair) for pair in zip(*pairs, strict=True)]
    # a number not divided, and one hit alone, are other slips
    is_steady = any(ratio in (1.0, 3.0, 0.3333, None) for ratio in ratios)
    return {"accuracy as of a hundred": is_steady}


def _reading(kata: ModuleType) -> Seen:
    """From a list and from a generator; in what portions."""
    world = _linear(4, 3, 4, 1)
    run, batches = begin(kata, world)
    loader = Loader(batches, run.log)
    listed = evaluate(fresh(kata), run, batches, loader)
    run, batches = begin(kata, world)
    once = evaluate(fresh(kata), run, batches, iter(Batches(batches, run.log)))
    return {
        "a list: error": listed.ended_in,
        "a list: passes": loader.passes,
        "a list: batches forwarded": listed.forwarded(),
        "forwards for each batch": listed.times(),
        "a forward gets": listed.portion(),
        "asked too early": _asked_early(listed),
        "a generator: error": once.ended_in,
        **({} if once.error else _like("a generator", kata, world, once, listed)),
        "values by a larger data set": _by_the_data_set(kata, world, listed),
    }


def _by_the_data_set(kata: ModuleType, world: World, plain: Evaluation) -> bool:
    """Whether values change with the length of the data set that batches are from."""
    run, batches = begin(kata, world)
    part = Loader(batches, run.log)
    part.dataset *= 2
    call = evaluate(fresh(kata), run, batches, part)
    pairs = zip(values(kata, call), values(kata, plain), strict=True)
    return any(relation(*pair) not in (1.0, None) for pair in pairs)


def _asked_early(call: Evaluation) -> list[list[int]]:
    """Batches that were asked for too early, and how many were forwarded before."""
    numbers = [number for number, _, _ in call.parts()]
    owners = [batch for _, batch, _ in call.parts()]
    done: set[int] = set()
    early, forward = [], 0
    for kind, batch in call.run.log.events:
        if kind == "asked" and len(done) < (batch or 0):
            early.append([batch or 0, len(done)])
        elif kind == "forward":
            pairs = zip(numbers, owners, strict=True)
            done.update(owner for number, owner in pairs if number == forward)
            forward += 1
    return early


def _like(
    what: str, kata: ModuleType, world: World, call: Evaluation, plain: Evaluation
) -> Seen:
    """Which batches were forwarded, and the values, by those of plain lists."""
    forwarded = call.forwarded()
    if forwarded != plain.forwarded():
        run, batches = begin(kata, world)
        plain = evaluate(fresh(kata), run, [batches[index] for index in forwarded])
    pairs = zip(values(kata, call), values(kata, plain), strict=True)
    return {
        f"{what}: batches forwarded": forwarded,
        f"{what}: values by their own": [relation(*pair) for pair in pairs],
    }


def _empty_batches(kata: ModuleType) -> Seen:
    world = _linear(4, 0, 4, 1)
    run, batches = begin(kata, world)
    call = evaluate(fresh(kata), run, batches)
    empty = sum(forward.rows == 0 for forward in run.log.forwards)
    seen: Seen = {"empty ones forwarded": empty, "error": None}
    if call.error:
        own = " of its own" if _is_raised_by(kata, call.error) else ""
        return {**seen, "error": f"{call.ended_in}{own}"}
    run, batches = begin(kata, world)
    full = Loader([batch for batch in batches if len(batch[1])], run.log)
    plain = evaluate(fresh(kata), run, batches, full)
    return {**seen, **_like("one of four", kata, world, call, plain)}


def _is_raised_by(kata: ModuleType, error: BaseException) -> bool:
    """Whether a `raise` in the file under test raised it, and no call in there."""
    frames = [*traceback.walk_tb(error.__traceback__)]
    if not frames or frames[-1][0].f_code.co_filename != kata.__file__:
        return False
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    code = step and step.tb_frame.f_code.co_code[step.tb_lasti]
    return code == dis.opmap["RAISE_VARARGS"]


def _a_second_call(kata: ModuleType) -> Seen:
    """Whether a call gives what it gives as the first one."""
    module = fresh(kata)
    evaluate(module, *begin(kata, _linear(4, 1, seed=1)))
    second = evaluate(module, *begin(kata, _linear(4, 1, seed=2)))
    first = evaluate(fresh(kata), *begin(kata, _linear(4, 1, seed=2)))
    pairs = zip(values(kata, second), values(kata, first), strict=True)
    same = all(relation(*pair) in (1.0, None) for pair in pairs)
    return {"error": second.ended_in, "values as of a first one": same}


def _without_samples(kata: ModuleType) -> Seen:
    seen: Seen = {}
    for story, sizes in (
        ("an empty list", ()),
        ("an empty generator", ()),
        ("empty batches", (0, 0)),
    ):
        run, batches = begin(kata, _linear(*sizes))
        given = iter(batches) if "generator" in story else None
        call = evaluate(fresh(kata), run, batches, given)
        seen[f"{story}: error"] = call.ended_in
        seen[f"{story}: forwards"] = len(run.log.forwards)
    return seen


def _in_train(model: nn.Module) -> list[str]:
    return [name or "the model" for name, m in model.named_modules() if m.training]


def _modes(kata: ModuleType) -> Seen:
    """Which modules are in train mode in the forwards on each batch, and afterwards."""
    seen: Seen = {}
    for entry in ("train", "eval", "one child in train"):
        world = World([4, 4], 0, "dropout")
        run, batches = begin(kata, world)
        run.model.train(entry == "train")
        run.model.net[1].train(entry != "eval")
        names = [name or "the model" for name, _ in run.model.named_modules()]
        call = evaluate(fresh(kata), run, batches)
        on: dict[int, set[str]] = {}
        for number, batch, _ in call.parts():
            flags = zip(names, run.log.forwards[number].training, strict=True)
            on.setdefault(batch, set()).update(name for name, flag in flags if flag)
        entered = f"entered in {entry}"
        seen[f"{entered}: error"] = call.ended_in
        seen[f"{entered}: in train mode"] = _in_each(map(sorted, on.values()))
        seen[f"{entered}: in train mode afterwards"] = _in_train(run.model)
        seen[f"{entered}: the model's modes are others"] = call.copied
    return seen


def _in_each(values: Iterable[Any]) -> Any:
    """Tell what holds for each batch: once, where it holds for all."""
    told = [*values]
    return told[0] if told and all(value == told[0] for value in told) else told


def _grad_mode(kata: ModuleType) -> Seen:
    """Whether gradients are on in the forwards on each batch, and afterwards."""
    seen: Seen = {}
    for grad in (True, False):
        run, batches = begin(kata, _linear(4, 4, 4))
        call = evaluate(fresh(kata), run, batches, grad=grad)
        on: dict[int, bool] = {}
        for number, batch, _ in call.parts():
            on[batch] = on.get(batch, False) or run.log.forwards[number].grad_enabled
        entered = f"called with gradients {'on' if grad else 'off'}"
        seen[f"{entered}: error"] = call.ended_in
        seen[f"{entered}: on in forwards"] = _in_each(on.values())
        seen[f"{entered}: on afterwards"] = call.grad_after
        seen[f"{entered}: inference mode afterwards"] = call.inference_after
    return seen


def _errors(kata: ModuleType) -> Seen:
    """A stream, or a model, that raises at one of three batches."""
    seen: Seen = {}
    for what, at, grad in (
        ("batch", 0, True),
        ("batch", 1, True),
        ("batch", 1, False),
        ("model", 0, True),
        ("model", 1, True),
        ("model", 1, False),
    ):
        run, batches = begin(kata, World([4, 4, 4], 0, "frozen"))
        flags = _flags(run.model)
        if what == "model":
            run.model.net = BreaksAt(run.model.net, run.log, [4, 4, 4], at).train()
        stream = Loader(batches, run.log, at if what == "batch" else None)
        call = evaluate(fresh(kata), run, batches, stream, grad=grad)
        story = f"{what} {at + 1} raises, gradients {'on' if grad else 'off'}"
        seen[f"{story}: the end"] = _end(call)
        seen[f"{story}: gradients on afterwards"] = call.grad_after
        if grad:
            seen[f"{story}: in train mode afterwards"] = _in_train(run.model)
            seen[f"{story}: flags afterwards"] = _told_flags(run.model, flags)
            seen[f"{story}: batches forwarded"] = call.forwarded()
    return seen


def _end(call: Evaluation) -> str:
    """How a call ended in which something was raised."""
    if call.error is not None:
        is_ours = comes_from_the_break(call.error)
        return "the error came through" if is_ours else f"{call.ended_in}"
    return "it returned"


def _flags(model: nn.Module) -> list[bool]:
    return [parameter.requires_grad for parameter in model.parameters()]


def _told_flags(model: nn.Module, before: list[bool]) -> str:
    flags = _flags(model)
    if flags == before:
        return "kept"
    return "all on" if all(flags) else "changed" if any(flags) else "all off"


def _the_model(kata: ModuleType) -> Seen:
    """What changed of the model, apart from what train mode changes."""
    world = World([4, 4], 0, "frozen", training=False, stale=True)
    run, batches = begin(kata, world)
    _fill_gradients(run)
    flags, parameters = _flags(run.model), parameters_of(run.model)
    trainable = [p for p in run.model.parameters() if p.requires_grad]
    frozen = evaluate(fresh(kata), run, batches)
    seen = {
        "error": frozen.ended_in,
        "flags": _told_flags(run.model, flags),
        "flags in the forwards": [list(f) for f in frozen.flags - {tuple(flags)}],
        "gradients": sorted({_told_gradient(p.grad) for p in trainable}),
        "parameters changed": _differ(parameters, parameters_of(run.model)),
    }
    world = World([4, 4], 0, "batchnorm", training=False)
    run, batches = begin(kata, world)
    buffers = buffers_of(run.model)
    evaluate(fresh(kata), run, batches)
    seen["statistics changed"] = _differ(buffers, buffers_of(run.model))
    seen["gradients appeared"] = any(p.grad is not None for p in run.model.parameters())
    return seen


def _fill_gradients(run: Run) -> None:
    for parameter in run.model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.full_like(parameter, STALE)


def _told_gradient(gradient: Tensor | None) -> str:
    if gradient is None:
        return "gone"
    if bool((gradient == STALE).all()):
        return "kept"
    return "changed" if gradient.any() else "zero"


def _differ(before: dict[str, Tensor], after: dict[str, Tensor]) -> bool:
    return any(not torch.equal(before[name], after[name]) for name in before)


def _devices(kata: ModuleType) -> Seen:
    """Features or targets elsewhere, and a device that is no string."""
    seen: Seen = {}
    cases: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor], Any]] = {
        "features elsewhere": (Elsewhere, torch.clone, ()),
        "targets elsewhere": (torch.clone, Elsewhere, ()),
        "a torch.device": (torch.clone, torch.clone, (torch.device("cpu"),)),
    }
    for story, (put_x, put_y, args) in cases.items():
        run, batches = begin(kata, _linear(4, 4))
        given = Loader([(put_x(x), put_y(y)) for x, y in batches], run.log)
        call = evaluate(fresh(kata), run, batches, given, *args)
        seen[f"{story}: error"] = call.ended_in
        seen[f"{story}: not moved"] = any(f.elsewhere for f in run.log.forwards)
    return seen


def _inputs(kata: ModuleType) -> Seen:
    """What reaches the model, in float64, of images and of tokens; what is left."""
    seen: Seen = {}
    for network in ("linear", "image", "embedding"):
        world = World([4, 4], 0, network, training=False)
        run, batches = world.begin(), world.batches()
        right = {(str(x.dtype), x.shape[1:]) for x, _ in batches}
        call = evaluate(fresh(kata), run, batches)
        came = {(str(f.dtype), f.shape[1:]) for f in run.log.forwards}
        pairs = [*zip(batches, world.batches(), strict=True)]
        seen[f"{network}: error"] = call.ended_in
        seen[f"{network}: as they came"] = came <= right
        if network == "linear":
            known = [run.log.forwards[n].batch for n, _, _ in call.parts()]
            is_whole = call.portion() == "a batch"
            seen["known values"] = not is_whole or None not in known
            seen["features kept"] = all(torch.equal(b[0], c[0]) for b, c in pairs)
            seen["targets kept"] = all(torch.equal(b[1], c[1]) for b, c in pairs)
    return seen


def _global_state(kata: ModuleType) -> Seen:
    ends, is_changed = [], False
    for seed in (1, 2):
        torch.default_generator.manual_seed(seed)
        before = settings()
        call = evaluate(fresh(kata), *begin(kata, _linear(4, 4)))
        told_elsewhere = ("grad mode", "inference mode")
        names = (name for name in before if name not in told_elsewhere)
        is_changed |= any(before[name] != call.settings_after[name] for name in names)
        ends.append(random_states())
    return {
        "a setting is changed": is_changed,
        "re-seeded": ends[0]["torch"] == ends[1]["torch"],
    }


def _extremes(kata: ModuleType) -> Seen:
    """Logits far apart, an infinite loss, a long stream, other kinds of errors."""
    seen: Seen = {}
    for story, given in (
        ("logits far apart", far_apart()[0]),
        ("an infinite loss", without_end()[::-1]),  # at the end
    ):
        batches = [(x.clone(), y.clone()) for x, y in given]  # nothing shared
        run = _linear(1).begin()
        run.model.net = PassThrough()
        firsts = [x.flatten()[0].item() for x, _ in batches]
        run.model.known = {x: firsts.index(x) for x in firsts if firsts.count(x) == 1}
        call = evaluate(fresh(kata), run, batches)
        loss = as_number(values(kata, call)[0])
        seen[f"{story}: measured"] = _is_measured(loss, call)
    run, batches = begin(kata, _linear(*[1] * 110))
    call = evaluate(fresh(kata), run, batches)
    late = any(f.batch is not None and f.batch > 104 for f in run.log.forwards)
    seen["to the end of 110 batches"] = bool(call.error) or late
    swallowed = []
    for kind in (torch.OutOfMemoryError, ValueError):
        run, batches = begin(kata, _linear(4, 4, 4))
        run.model.net = BreaksAt(run.model.net, run.log, [4, 4, 4], 1, kind)
        if evaluate(fresh(kata), run, batches).error is None:
            swallowed.append(kind.__name__)
    return {**seen, "swallowed": swallowed}


def _is_measured(loss: float | None, call: Evaluation) -> bool:
    """Whether some formula gives this loss, be it a wrong one; those show elsewhere."""
    if loss is None:
        return call.error is None
    if math.isinf(loss):
        return any(math.isinf(cross_entropy(*answer)) for answer in call.answers())
    return len(explain([loss], [call.answers()], LOSSES)) > 1


WORLDS = {
    "values": _values,
    "three hundred right ones": _many_right,
    "reading": _reading,
    "empty batches": _empty_batches,
    "a second call": _a_second_call,
    "without samples": _without_samples,
    "modes": _modes,
    "grad mode": _grad_mode,
    "errors": _errors,
    "the model": _the_model,
    "devices": _devices,
    "inputs": _inputs,
    "global state": _global_state,
    "extremes": _extremes,
}
