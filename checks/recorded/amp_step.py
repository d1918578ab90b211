"""The worlds in which mistakes in `amp_step` are told apart.

Most make one call, and look at one thing: an error in the next call, or a step that
went wrong before, then blurs nothing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

from checks.amp_step_worlds import ELSEWHERE, OPTIMIZERS, AmpWorld, Claiming
from checks.judging import number, random_states, settings
from checks.recorded import Seen, fresh
from checks.recorded import amp_step_told as tell
from checks.recorded.amp_step_calls import Branches, Done, call, calls
from checks.worlds import NUM_CLASSES, NUM_FEATURES

SIZE, SCALE = 6, 1024.0


def _world(**changes: Any) -> AmpWorld:
    return AmpWorld(**{"size": SIZE, "network": "linear", "scale": SCALE, **changes})


def _a_step(kata: ModuleType) -> Seen:
    (done,) = calls(fresh(kata), _world())
    return {
        **tell.forwards(done),
        **tell.step(done),
        **tell.update([done]),
        **tell.answer(done),
        **tell.scale(done),
    }


def _bfloat16(kata: ModuleType) -> Seen:
    (done,) = calls(fresh(kata), _world(dtype=torch.bfloat16))
    return {**tell.forwards(done), "parameters": tell.moved(done)}


def _two_steps(stale: bool) -> Callable[[ModuleType], Seen]:
    """What has a part in the first update, and in the second."""

    def look(kata: ModuleType) -> Seen:
        world = _world(scale=8.0, stale=stale)
        made = calls(fresh(kata), world, [False, False])
        seen: Seen = {"errors": [done.error for done in made]}
        for index in range(len(made)):
            told = tell.update(made[: index + 1], stale=stale)
            seen[f"update {index + 1} along"] = told["along"]
        return seen

    return look


def _with_state(kata: ModuleType) -> Seen:
    made = calls(fresh(kata), _world(scale=8.0, optimizer="momentum"), [False] * 2)
    return {
        "errors": [done.error for done in made],
        "updates follow the gradients": tell.follows(made, OPTIMIZERS["momentum"]),
    }


def _schedule(kata: ModuleType) -> Seen:
    made = calls(fresh(kata), _world(scheduled=True), [False, False])
    entry = made[0].rates_before
    return {
        "errors": [done.error for done in made],
        "steps of the scheduler": [done.scheduled for done in made],
        "rates in steps": [
            tell.ratios(rates, entry) for done in made for rates in done.rates
        ],
        "rates afterwards": [tell.ratios(done.rates_after, entry) for done in made],
    }


def _growth(kata: ModuleType) -> Seen:
    world = _world(network="mlp", growth_interval=1, scheduled=True)
    (done,) = calls(fresh(kata), world)
    return {
        "error": done.error,
        **tell.loss(done),
        **tell.answer(done),
        **tell.scale(done),
    }


def _overflow(max_norm: float | None, **changes: Any) -> Callable[[ModuleType], Seen]:
    def look(kata: ModuleType) -> Seen:
        world = _world(network="mlp", scheduled=True, **changes)
        (done,) = calls(fresh(kata), world, [True], max_norm=max_norm)
        return {
            **tell.step(done),
            **tell.loss(done),
            **tell.answer(done),
            **tell.scale(done),
            "rates afterwards": tell.ratios(done.rates_after, done.rates_before),
            "calls of the model": tell.few(len(done.casts)),
        }

    return look


def _after_an_overflow(optimizer: str) -> Callable[[ModuleType], Seen]:
    """A good step, an overflow, a good step."""

    def look(kata: ModuleType) -> Seen:
        world = _world(scale=8.0, optimizer=optimizer)
        made = calls(fresh(kata), world, [False, True, False])
        seen: Seen = {"errors": [done.error for done in made]}
        if len(made) > 1:
            seen |= {f"overflow: {k}": v for k, v in tell.step(made[1]).items()}
            seen["overflow: says that it stepped"] = tell.says(made[1])
        if len(made) > 2:
            seen |= {f"next: {k}": v for k, v in tell.step(made[2]).items()}
        return seen

    return look


def _one_bad(bad: int) -> Callable[[ModuleType], Seen]:
    """The gradient of one layer of two overflows."""

    def look(kata: ModuleType) -> Seen:
        net = Branches(NUM_FEATURES, NUM_CLASSES, bad)
        (done,) = calls(fresh(kata), _world(scheduled=True), net=net)
        return {**tell.step(done), **tell.answer(done), **tell.scale(done)}

    return look


def _too_large_a_scale(kata: ModuleType) -> Seen:
    (done,) = calls(fresh(kata), _world(scale=2.0**24, scheduled=True))
    return {**tell.step(done), **tell.answer(done), **tell.scale(done)}


def _infinite_logits(kata: ModuleType) -> Seen:
    """More than float16 holds in the forward: the loss is not finite either."""
    world = _world(scheduled=True)
    features, targets = world.batch()
    done = call(world.begin(), fresh(kata), (features * 1e6, targets))
    return {**tell.step(done), **tell.answer(done), **tell.scale(done)}


def _most_of_float16(kata: ModuleType) -> Seen:
    """A scale of 65536, which the loss must hold."""
    world = _world(scale=65536.0)
    run = world.begin()
    features, targets = world.batch()
    done = call(run, fresh(kata), (features * 0.5, targets))
    return tell.step(done)


def _tiny(kata: ModuleType) -> Seen:
    """Gradients of 1e-8 times a rate of 2**20: float16 holds them when scaled."""
    first, head = nn.Linear(NUM_FEATURES, 4), nn.Linear(4, NUM_CLASSES)
    with torch.no_grad():
        head.weight.copy_((2 * torch.eye(4) - 1) * 2.0**-23)
        head.bias.zero_()
    net = nn.Sequential(first, nn.Tanh(), head.requires_grad_(False))
    world = _world(scale=65536.0)
    run = world.begin(net)
    for group in run.optimizer.param_groups:
        group["lr"] = 2.0**20
    done = call(run, fresh(kata), world.batch())
    return {"error": done.error, "along": tell.update([done])["along"]}


def _clipped(network: str, times: float) -> Callable[[ModuleType], Seen]:
    """`max_norm` is the gradient's norm times this."""

    def look(kata: ModuleType) -> Seen:
        world = _world(network=network)
        limit = times * tell.norm_on_entry(world)
        (done,) = calls(fresh(kata), world, max_norm=limit)
        return tell.clipped(done, limit)

    return look


def _limit_of_zero(kata: ModuleType) -> Seen:
    (done,) = calls(fresh(kata), _world(optimizer="decay"), max_norm=0.0)
    return {
        "error": done.error,
        "a gradient is left": any(
            bool(g.any()) for step in done.steps for g in step.gradients.values()
        ),
    }


def _no_limit(kata: ModuleType) -> Seen:
    """A large gradient, and no `max_norm`."""
    world = _world(scale=8.0)
    features, targets = world.batch()
    done = call(world.begin(), fresh(kata), (features * 64, targets))
    if tell.moved(done) != "moved":
        return {"error": done.error}
    return {"error": done.error, "shortened": "times" in tell.update([done])}


def _disabled(max_norm: float | None) -> Callable[[ModuleType], Seen]:
    """What the same code does without a scaler and not with one."""

    def look(kata: ModuleType) -> Seen:
        world = _world(dtype=torch.bfloat16, scheduled=True)
        off = calls(
            fresh(kata), replace(world, enabled=False), [False] * 2, max_norm=max_norm
        )
        (on,) = calls(fresh(kata), world, max_norm=max_norm)
        with_one, without = _what_matters(on, max_norm), _what_matters(off[0], max_norm)
        told = {
            what: "as with a scaler" if on.error or value == with_one[what] else value
            for what, value in without.items()
        }
        return {
            "errors": [done.error for done in off],
            "parameters": [tell.moved(done) for done in off],
            **told,
        }

    return look


def _what_matters(done: Done, max_norm: float | None) -> Seen:
    return {
        "autocast in forwards": [f.autocast for f in done.forwards],
        "steps": tell.few(len(done.steps)),
        "says that it stepped": tell.says(done),
        "steps of the scheduler": done.scheduled,
        "clipped": max_norm and tell.clipped(done, max_norm)["clipped"],
    }


def _elsewhere(kata: ModuleType) -> Seen:
    """Features that say they are on another device; what comes of them is open."""
    world = _world()
    run = world.begin()
    features, targets = world.batch()
    batch = features.as_subclass(Claiming), targets
    done = call(run, fresh(kata), batch, device_type=ELSEWHERE)
    return {"autocast is on here": any(c.enabled for c in done.casts)}


def _small_loss(kata: ModuleType) -> Seen:
    """A loss of 0.0078: whether digits are cut off."""
    net = nn.Linear(NUM_FEATURES, NUM_CLASSES)
    nn.init.zeros_(net.weight)
    with torch.no_grad():
        net.bias.copy_(torch.tensor([0.0, -5.95, -5.95, -5.95]))
    world = _world()
    features, targets = world.batch()
    done = call(world.begin(net), fresh(kata), (features, targets * 0))
    right = math.log1p(3 * math.exp(-5.95))
    value = number(tell.read(done.returned)[0])
    is_cut = any(value == round(right, digits) for digits in (0, 1, 2, 3))
    return {"error": done.error, "rounded": is_cut}


def _surroundings(network: str) -> Callable[[ModuleType], Seen]:
    """Modes, statistics, flags, frozen parts, inputs."""

    def look(kata: ModuleType) -> Seen:
        world = _world(network=network)
        run, batch = world.begin(), world.batch()
        flags = [p.requires_grad for p in run.model.parameters()]
        done = call(run, fresh(kata), batch)
        same = map(torch.equal, batch, world.batch())
        return {
            "error": done.error,
            "train mode in forwards": sorted({all(f.training) for f in done.forwards}),
            "train mode afterwards": all(m.training for m in run.model.modules()),
            "statistics moved": [
                min(int(b), 1)
                for n, b in run.model.named_buffers()
                if n.endswith("tracked")
            ],
            "flags": [p.requires_grad for p in run.model.parameters()] == flags,
            "inputs kept": list(same),
        }

    return look


def _global_state(kata: ModuleType) -> Seen:
    ends, changed = [], set()
    for seed in (1, 2):
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        before = settings()
        (done,) = calls(fresh(kata), _world())
        changed |= {n for n, x in before.items() if x != done.settings_after[n]}
        ends.append(random_states())
    return {
        "settings changed": sorted(changed),
        "re-seeded": any(ends[0][name] == ends[1][name] for name in ends[0]),
    }


WORLDS = {
    "a step": _a_step,
    "bfloat16": _bfloat16,
    "two steps": _two_steps(stale=False),
    "stale gradients": _two_steps(stale=True),
    "momentum": _with_state,
    "a schedule": _schedule,
    "the scale grows": _growth,
    "an overflow": _overflow(None),
    "an overflow, clipping": _overflow(1.0),
    "after an overflow": _after_an_overflow("momentum"),
    "one bad gradient, first": _one_bad(0),
    "one bad gradient, last": _one_bad(1),
    "a scale of 2**24": _too_large_a_scale,
    "infinite logits": _infinite_logits,
    "a scale of 65536": _most_of_float16,
    "tiny gradients": _tiny,
    "above max_norm": _clipped("mlp", 0.1),
    "far below max_norm": _clipped("mlp", 30.0),
    "max_norm 0": _limit_of_zero,
    "no max_norm": _no_limit,
    "a disabled scaler": _disabled(None),
    "a disabled scaler, clipping": _disabled(0.125),
    "another device type": _elsewhere,
    "a small loss": _small_loss,
    "BatchNorm": _surroundings("batchnorm"),
    "a frozen layer": _surroundings("frozen"),
    "global state": _global_state,
}
