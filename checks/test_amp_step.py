"""The properties of `amp_step`, one check a numbered claim of its statement."""

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import nn

from checks import judging
from checks.amp_step_worlds import (
    DEVICE,
    ELSEWHERE,
    USUAL_DTYPE,
    AmpWorld,
    Claiming,
    clip_factor,
    norm_of,
    plain_step,
)
from checks.claims import (
    assert_batches_stay,
    assert_flags_stay,
    assert_global_state_stays,
)
from checks.judging import difference, hint, is_close, largest, shown
from checks.oracles import softmax_gradient
from checks.worlds import NUM_CLASSES, NUM_FEATURES, seeds

TOLERANCE = {torch.float16: 1e-2, torch.bfloat16: 4e-2}
DTYPES = st.sampled_from([torch.float16, torch.bfloat16])
SCALES = st.sampled_from([8.0, 64.0, 1024.0])

sizes = st.integers(1, 6)
plans = st.lists(st.booleans(), min_size=1, max_size=4)
"""Which calls in a row overflow."""


@given(max_norm=st.sampled_from([None, 1.0]), scheduled=st.booleans())
@example(max_norm=None, scheduled=False)
@example(max_norm=1.0, scheduled=False)
def test_two_calls_in_a_row_run_through(kata, max_norm, scheduled):
    """Each call ends with one update of the scaler, so that the next can begin."""
    run = AmpWorld(scheduled=scheduled).begin()

    for index, call in enumerate(
        run.calls(kata.amp_step, [False, False], max_norm=max_norm)
    ):
        assert all(p.isfinite().all() for p in call.parameters.values()), (
            f"call {index + 1} of two, no overflow: {_not_finite(call.parameters)} is "
            "not finite any more"
        )


@given(overflows=st.booleans())
@example(overflows=False)
@example(overflows=True)
@pytest.mark.needs("two_calls_in_a_row_run_through")
def test_returns_a_float_and_a_bool(kata, overflows):
    """What comes back is a tuple of a Python float and a bool."""
    (call,) = AmpWorld().begin().calls(kata.amp_step, [overflows])

    is_pair = isinstance(call.returned, tuple) and len(call.returned) == 2
    assert is_pair, (
        f"amp_step returned {shown(call.returned)}, right is a tuple (loss, stepped)"
    )
    assert isinstance(call.loss, float), (
        f"the loss that came back is {shown(call.loss)}, a {type(call.loss).__name__}; "
        "asked is a float: loss.item() also lets the graph go"
    )
    assert isinstance(call.stepped, bool), (
        f"stepped is {shown(call.stepped)}, a {type(call.stepped).__name__}; asked is "
        "a bool"
    )


@given(dtype=DTYPES)
@example(dtype=torch.float16)
@example(dtype=torch.bfloat16)
@pytest.mark.needs("two_calls_in_a_row_run_through")
def test_the_forward_runs_inside_autocast(kata, dtype):
    """The one forward runs under autocast, to the dtype that was given."""
    call = AmpWorld(dtype=dtype).begin().call(kata.amp_step, _batch())

    said = f"dtype={dtype}: "
    assert call.casts, (
        "the model was never called: call the model itself, not a copy or its parts"
    )
    assert len(call.casts) == 1, (
        f"one step: the model was called {len(call.casts)} times, right is once: the "
        "forward that trains also gives the loss to report"
    )
    (cast,) = call.casts
    assert cast.enabled, (
        f"{said}autocast was off when the model was called, and its logits "
        f"came out as {cast.logits}: the forward belongs inside "
        "`with torch.autocast(device_type, dtype=dtype)`"
    )
    usual = " (bfloat16 is what autocast takes on a CPU when it is given no dtype)"
    assert cast.dtype == dtype, (
        f"{said}the forward ran under autocast to {cast.dtype}"
        f"{usual if cast.dtype == torch.bfloat16 else ''}: hand the dtype on"
    )


@pytest.mark.needs("the_forward_runs_inside_autocast")
def test_autocast_follows_the_device_type(kata):
    """Autocast is for the device type that was given, not for a fixed one."""
    run = AmpWorld().begin()
    features, targets = AmpWorld().batch()

    batch = features.as_subclass(Claiming), targets
    # Where there is no such device, moving something to it raises, and rightly so.
    judging.error_of(lambda: run.call(kata.amp_step, batch, device_type=ELSEWHERE))

    assert not any(cast.enabled for cast in run.model.casts), (
        f"device_type={ELSEWHERE!r}: in the forward autocast was on for {DEVICE!r}: "
        f"hand device_type on, or on a {ELSEWHERE} machine nothing is cast"
    )


@given(dtype=DTYPES)
@example(dtype=torch.float16)
@example(dtype=torch.bfloat16)
@pytest.mark.needs("two_calls_in_a_row_run_through")
def test_the_parameters_stay_float32(kata, dtype):
    """Parameters are float32 in the forward and afterwards."""
    call = AmpWorld(dtype=dtype).begin().call(kata.amp_step, _batch())

    in_forward = {d for cast in call.casts for d in cast.parameters}
    after = {p.dtype for p in call.parameters.values()}
    for when, dtypes in (("in the forward", in_forward), ("after the call", after)):
        assert dtypes <= {torch.float32}, (
            f"dtype={dtype}: {when} the model's parameters were "
            f"{', '.join(sorted(map(str, dtypes)))}, right is torch.float32: small "
            "updates are lost in low precision, so autocast casts copies, not the model"
        )


@given(dtype=DTYPES, max_norm=st.sampled_from([None, 1.0]))
@example(dtype=torch.float16, max_norm=None)
@pytest.mark.needs("the_forward_runs_inside_autocast")
def test_backward_and_step_run_outside_autocast(kata, dtype, max_norm):
    """Autocast is off again when backward and the optimizer's step run."""
    run = AmpWorld(dtype=dtype).begin()

    call = run.call(kata.amp_step, _batch(), max_norm=max_norm)

    assert not any(cast.backward_enabled for cast in call.casts), (
        "autocast was still on when backward ran: backward uses the types that the "
        "forward chose; end the `with` block after the loss"
    )
    assert not any(run.stepped_in_autocast), (
        "autocast was still on when the optimizer stepped: end the `with` block after "
        "the loss"
    )


@given(network=st.sampled_from(["mlp", "frozen", "dropout"]), seed=seeds)
@example(network="dropout", seed=0)
@example(network="frozen", seed=0)
@pytest.mark.needs("two_calls_in_a_row_run_through")
def test_inputs_and_modes_stay(kata, network, seed):
    """Train mode stays on; nothing of the caller's is changed."""
    world = AmpWorld(4, seed, network)
    run, batch = world.begin(), world.batch()

    run.call(kata.amp_step, batch)

    modes = [module.training for module in run.model.modules()]
    assert all(modes), "the model came in train mode; after the call it is in eval mode"
    for forward in run.log.forwards:
        assert all(forward.training), (
            "the model came in train mode; in the forward it was in eval mode"
        )
        assert (forward.dtype, forward.batch) == (torch.float32, 0), (
            f"features came as torch.float32 of shape {tuple(batch[0].shape)} and "
            f"reached the model as {forward.dtype} of shape {forward.shape}, or with "
            "other numbers: pass them on as they came, autocast casts where it must"
        )
    assert_batches_stay([batch], [world.batch()])
    assert_flags_stay(run.model, world.begin().model)


@given(scale=SCALES, size=sizes, seed=seeds, network=st.sampled_from(["linear", "mlp"]))
@example(scale=8.0, size=4, seed=0, network="mlp")
@pytest.mark.needs("two_calls_in_a_row_run_through")
def test_a_step_follows_the_unscaled_gradient(kata, scale, size, seed, network):
    """The update is −lr times the gradient of mean cross entropy, at any scale."""
    world = AmpWorld(size, seed, network, scale=scale)
    (right,) = world.right()

    (call,) = world.begin().calls(kata.amp_step, [False])

    wrong = _update_difference(call, right)
    assert wrong is None, (
        f"{size} samples, scale {scale:g}, plain SGD: {wrong}."
        f"{_scale_slip(call, right, world)}"
    )
    assert call.rates, (
        "the parameters moved, but the optimizer never stepped: momentum, weight decay "
        "and Adam's moments are its own, so scaler.step(optimizer) takes the step"
    )


def _scale_slip(call, right, world):
    """Say how a first step went wrong, where it can be told from its size."""
    if not _moved(call):
        return (
            "\nThe parameters did not move at all: does the step come after backward, "
            "with the gradients still there?"
        )
    ratio, scale = _ratio(call.update, right.update), world.scale
    if ratio is None:
        return "\nThe direction is not that of the gradient of mean cross entropy."
    said = f"\nThe update is {ratio:.4g} times the right one"
    if _near(ratio, scale):
        return (
            f"{said}, the scale: the optimizer took the gradients still scaled; "
            "scaler.step(optimizer) unscales them first."
        )
    if _near(ratio, 1 / scale):
        return f"{said}, 1/scale. {_why_too_small(call, right, scale)}"
    if _near(ratio, world.size):
        return f"{said}, the number of samples: mean, not sum."
    if _near(ratio, 1 / world.size):
        return f"{said}: the mean was divided by the number of samples once more."
    if 0 < ratio < 1:
        return f"{said}: was the gradient clipped, though max_norm is None?"
    return f"{said}."


def _why_too_small(call, right, scale):
    """Tell an unscaled backward from gradients that were unscaled twice."""
    seen = {"logits": call.casts[0].gradient} if call.casts else {"logits": None}
    if seen["logits"] is not None:
        ratio = _ratio(seen, {"logits": right.casts[0].gradient})
        if ratio is not None and _near(ratio, 1 / scale):
            return (
                "Backward ran on the unscaled loss, and scaler.step divided by the "
                "scale all the same: scaler.scale(loss).backward()."
            )
        return (
            "Backward was scaled, and the gradients were then divided by the scale "
            "twice: scaler.step does not do it again after scaler.unscale_, but it "
            "does after a division by hand, and after update()."
        )
    return "They were divided by the scale once too often."


@pytest.mark.needs("a_step_follows_the_unscaled_gradient")
def test_the_loss_is_taken_in_float32(kata):
    """A scale of 65536 is more than float16 holds: the loss must be float32."""
    world = AmpWorld(size=6, scale=65536.0)

    call = world.begin().call(kata.amp_step, _batch(features=0.5, size=6))

    assert _moved(call), (
        "scale 65536, dtype float16: the gradients overflowed and the step was "
        "skipped. float16 ends at 65504, so the gradient of a float16 loss, which is "
        "the scale, is inf: take cross entropy inside autocast, which makes it "
        "float32, or outside on logits.float()"
    )


@given(stale=st.booleans(), size=sizes, seed=seeds)
@example(stale=False, size=4, seed=0)
@example(stale=True, size=4, seed=0)
@pytest.mark.needs("a_step_follows_the_unscaled_gradient")
def test_no_gradient_leaks_into_the_step(kata, stale, size, seed):
    """Neither a `.grad` from before the calls nor that of the call before is used."""
    world = AmpWorld(size, seed, "linear", stale=stale)
    right = world.right([False, False])

    calls = world.begin().calls(kata.amp_step, [False, False])

    first = _update_difference(calls[0], right[0])
    assert first is None, (
        f"every parameter came with a .grad of {7.0 if stale else 'None'}; in the "
        f"first call {first}.\nThe old gradient had a part in the update: clear "
        "before backward, not only after the step."
    )
    second = _update_difference(calls[1], right[1])
    both = judging.total([right[0].update, right[1].update])
    added = _update_gap(calls[1].update, both) is None
    assert second is None, (
        f"two calls, two batches: in the second call {second}."
        + "\nThat is the gradient of both batches added up: clear in each call." * added
    )


@given(
    network=st.sampled_from(["linear", "mlp", "tied", "frozen"]),
    scale=SCALES,
    part=st.sampled_from([0.25, 0.5]),
)
@example(network="mlp", scale=1024.0, part=0.25)
@example(network="tied", scale=8.0, part=0.5)
@pytest.mark.needs("a_step_follows_the_unscaled_gradient")
def test_clips_unscaled_gradients_by_global_norm(kata, network, scale, part):
    """With max_norm below the norm, the whole unscaled gradient is shortened to it."""
    world = AmpWorld(6, 0, network, scale=scale)
    gradient = _gradient(world)
    norm = norm_of(list(gradient.values()))
    (right,) = world.right(max_norm=part * norm)

    (call,) = world.begin().calls(kata.amp_step, [False], max_norm=part * norm)

    wrong = _update_difference(call, right)
    assert wrong is None, (
        f"{network} network, scale {scale:g}, gradient of norm {norm:.3g}, "
        f"max_norm={part * norm:.3g}: {wrong}."
        f"{_clip_slip(call, right, world, gradient, part * norm)}"
    )


def _gradient(world):
    """Return the right unscaled gradient of a world's first batch, by name."""
    run = world.begin_right()
    run.call(plain_step, world.batch())
    return {
        name: p.grad.clone()
        for name, p in run.model.named_parameters()
        if p.grad is not None
    }


def _clip_slip(call, right, world, gradient, max_norm):
    """Say which way of clipping gives this update."""
    scale, parts = world.scale, list(gradient.values())
    scaled = clip_factor([g * scale for g in parts], max_norm)
    whole = clip_factor(parts, max_norm)
    each = {n: g * clip_factor([g], max_norm) for n, g in gradient.items()}
    by_value = {n: g.clamp(-max_norm, max_norm) for n, g in gradient.items()}
    groups = [
        [g for g in parts if g.dim() > 1],
        [g for g in parts if g.dim() <= 1],
    ]
    by_group = {
        n: g * clip_factor(groups[g.dim() <= 1], max_norm) for n, g in gradient.items()
    }
    slips = {
        "That is the gradient as it was, not clipped: clip after backward and before "
        "scaler.step.": gradient,
        f"That clips the gradients while they are still {scale:g} times too large, and "
        "divides by the scale afterwards: scaler.unscale_(optimizer) goes "
        "first.": judging.scaled(gradient, scaled),
        "That clips each parameter by its own norm: the limit is for all "
        "together.": each,
        "That clips each parameter group by itself: the limit is for all "
        "together.": by_group,
        "That limits each entry, not the norm.": by_value,
        "That is clipped rightly, then divided by the scale once more: does update() "
        "come before scaler.step, or a division by hand?": judging.scaled(
            gradient, whole / scale
        ),
        "That limits the largest entry, not the 2-norm.": judging.scaled(
            gradient, min(1.0, max_norm / max(float(g.abs().max()) for g in parts))
        ),
        "That takes the sum of the squares for the norm: its root is "
        "missing.": judging.scaled(gradient, min(1.0, max_norm / norm_of(parts) ** 2)),
        "That is clipped rightly and still scaled.": judging.scaled(
            gradient, whole * scale
        ),
    }
    for sentence, taken in slips.items():
        if _update_gap(call.update, _update_of(taken, call, world)) is None:
            return f"\n{sentence}"
    ratio = _ratio(call.update, right.update)
    if ratio is None:
        return "\nThe direction has changed: one factor, from one norm, is for all."
    return f"\nThe update is {ratio:.4g} times the right one."


def _update_of(gradient, call, world):
    """The update that plain SGD takes with a gradient."""
    rate = {n: 0.5 if u.dim() > 1 else 0.25 for n, u in call.update.items()}
    zero = {n: torch.zeros_like(u) for n, u in call.update.items()}
    return {n: -rate[n] * gradient[n] if n in gradient else z for n, z in zero.items()}


@given(scale=SCALES, times=st.sampled_from([1.5, 4.0]))
@example(scale=8.0, times=2.0)
@pytest.mark.needs("a_step_follows_the_unscaled_gradient")
def test_a_gradient_below_max_norm_stays(kata, scale, times):
    """With max_norm above the norm of the unscaled gradient nothing is changed."""
    world = AmpWorld(6, scale=scale)
    norm = norm_of(list(_gradient(world).values()))
    (right,) = world.right()

    (call,) = world.begin().calls(kata.amp_step, [False], max_norm=times * norm)

    wrong = _update_difference(call, right)
    ratio = _ratio(call.update, right.update)
    slips = {
        "\nIt was clipped while still scaled: scaler.unscale_(optimizer) goes first.": (
            times / scale
        ),
        "\nIt was stretched to max_norm: only what is longer is shortened.": times,
    }
    slip = [s for s, r in slips.items() if ratio is not None and _near(ratio, r)]
    assert wrong is None, (
        f"scale {scale:g}, gradient of norm {norm:.3g}, max_norm={times * norm:.3g}, "
        f"which is more: {wrong}.{''.join(slip[:1])}"
    )


@given(scale=SCALES)
@example(scale=8.0)
@pytest.mark.needs("a_step_follows_the_unscaled_gradient")
def test_a_max_norm_of_zero_is_a_limit(kata, scale):
    """With max_norm=0.0 the gradient is zero, and weight decay alone is left."""
    world = AmpWorld(optimizer="decay", scale=scale)
    (right,) = world.right(max_norm=0.0)

    (call,) = world.begin().calls(kata.amp_step, [False], max_norm=0.0)

    wrong = _update_difference(call, right)
    unclipped = _update_gap(call.update, world.right()[0].update) is None
    assert wrong is None, (
        f"max_norm=0.0, SGD with weight decay: {wrong}."
        + "\nNothing was clipped: 0.0 is false in `if max_norm`; ask `is not None`."
        * unclipped
    )


@given(scale=SCALES, dtype=DTYPES)
@example(scale=8.0, dtype=torch.float16)
@example(scale=1024.0, dtype=torch.float16)
@pytest.mark.needs("a_step_follows_the_unscaled_gradient")
def test_one_sample_by_hand_matches_numpy(kata, scale, dtype):
    """Zero weights, one sample (3, 4), max_norm 1: 0.42 and 0.57 by hand."""
    run = AmpWorld(dtype=dtype, scale=scale).begin(_zero_linear())
    run.optimizer.param_groups[0]["lr"] = 1.0
    batch = torch.tensor([[3.0, 4.0]]), torch.tensor([0])
    weight_slope, _, loss = softmax_gradient(
        torch.zeros(2, 2).numpy(), 0.0, batch[0].numpy(), batch[1].numpy()
    )

    call = run.call(
        kata.amp_step, (batch[0].to(DEVICE), batch[1].to(DEVICE)), max_norm=1
    )

    slope = torch.from_numpy(weight_slope)
    right = {"net.weight": -slope / norm_of([slope])}
    wrong = difference(call.parameters, right, 1e-2)
    assert wrong is None, (
        f"zero weights, sample (3, 4), lr 1, scale {scale:g}, max_norm=1: the gradient "
        f"is ∓1.5, ∓2 of norm 3.54, so the weights become ±0.42, ±0.57; {wrong}"
    )
    assert is_close(call.loss, loss, 1e-2), (
        f"zero weights, two classes: the loss is ln 2 = {loss:.4f}, you returned "
        f"{shown(call.loss)}"
    )


def _zero_linear():
    linear = nn.Linear(2, 2, bias=False)
    nn.init.zeros_(linear.weight)
    return linear


@given(
    optimizer=st.sampled_from(["sgd", "momentum", "decay", "adam"]),
    value=st.sampled_from([math.inf, -math.inf, math.nan]),
    max_norm=st.sampled_from([None, 1.0]),
)
@example(optimizer="momentum", value=math.inf, max_norm=None)
@example(optimizer="adam", value=math.nan, max_norm=1.0)
@pytest.mark.needs("two_calls_in_a_row_run_through")
def test_an_overflow_changes_no_parameter(kata, optimizer, value, max_norm):
    """With non-finite gradients parameters and optimizer state stay bit for bit."""
    run = AmpWorld(optimizer=optimizer).begin()
    run.calls(kata.amp_step, [False], max_norm=max_norm)
    run.model.poison = value

    call = run.call(kata.amp_step, run.world.batch(1), max_norm=max_norm)

    said = f"a good step, then gradients of {value}, {optimizer}, max_norm={max_norm}: "
    wrong = _change(call)
    assert wrong is None, f"{said}{wrong}"


def _change(call):
    """Describe what an overflow changed in parameters or optimizer, None if nothing."""
    bad = _not_finite(call.parameters)
    if bad is not None:
        return (
            f"{bad} is not finite any more: the optimizer stepped. Let "
            "scaler.step(optimizer) decide, on the gradients as backward left them"
        )
    moved = difference(call.parameters, call.before, 0.0)
    if moved is not None:
        return f"the optimizer must not step, but {moved}"
    changed = _state_difference(call)
    return changed and f"the optimizer's state must stay, but {changed}"


def _state_difference(call):
    """Describe the first entry of the optimizer's state that changed, None if none."""
    before, after = call.optimizer_before, call.optimizer_state
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
            if not torch.equal(old, new):
                return f"{name} was {largest(old)}, now it is {largest(new)}"
        elif old is not new and old != new:
            return f"{name} was {shown(old)}, now it is {shown(new)}"
    return None


@given(value=st.sampled_from([math.inf, math.nan]), stale=st.booleans())
@example(value=math.inf, stale=False)
@pytest.mark.needs(
    "an_overflow_changes_no_parameter", "no_gradient_leaks_into_the_step"
)
def test_an_overflow_leaves_nothing_behind(kata, value, stale):
    """The call after an overflow steps, and follows its own gradient."""
    world = AmpWorld(optimizer="momentum", stale=stale)
    right = world.right([False, True, False])[-1]
    run = world.begin()
    run.calls(kata.amp_step, [False])
    run.model.poison = value
    run.call(kata.amp_step, world.batch(1))
    run.model.poison = None

    call = run.call(kata.amp_step, world.batch(2))

    assert _moved(call), (
        f"a good step, gradients of {value}, then a good batch: the third call did not "
        f"step. The second left {value} in .grad: clear the gradients in every call, "
        "not only after a real step"
    )
    wrong = _update_difference(call, right)
    assert wrong is None, (
        f"a good step, gradients of {value}, then a good batch: in the third call "
        f"{wrong}"
    )


@given(
    plan=plans, growth_interval=st.integers(1, 3), max_norm=st.sampled_from([None, 1.0])
)
@example(plan=[False, False], growth_interval=1, max_norm=None)
@example(plan=[False, False, False], growth_interval=2, max_norm=1.0)
@pytest.mark.needs("an_overflow_changes_no_parameter")
def test_the_scale_follows_the_scalers_rules(kata, plan, growth_interval, max_norm):
    """The scale doubles after `growth_interval` good steps, and halves on overflow."""
    world = AmpWorld(growth_interval=growth_interval)
    right = world.right(plan, max_norm=max_norm)

    calls = world.begin().calls(kata.amp_step, plan, max_norm=max_norm)

    for index, (call, true) in enumerate(zip(calls, right, strict=True)):
        assert call.scale == true.scale, (
            f"scale 8, growth_interval {growth_interval}, {_told(plan, index)}: the "
            f"scale is {call.scale:g}, right is {true.scale:g}."
            f"{_scale_rule_slip(call, plan[index])}"
        )


def _scale_rule_slip(call, overflows):
    if overflows and call.scale == call.scale_before:
        return (
            "\nIt was not reduced: scaler.update() must come on a skipped step too, "
            "after scaler.step has looked at the gradients."
        )
    if call.scale == call.scale_before:
        return (
            "\nIt stands still: does every call end with scaler.update(), on the "
            "scaler that was given?"
        )
    if not overflows and call.scale < call.scale_before:
        return (
            "\nIt came down in a good call: did something not finite stay in .grad, or "
            "reach the parameters, in the call before?"
        )
    return "\nscaler.update(), without argument and once a call, is all that it needs."


@given(
    plan=plans, growth_interval=st.integers(1, 3), max_norm=st.sampled_from([None, 1.0])
)
@example(plan=[False, True], growth_interval=1000, max_norm=None)
@example(plan=[False, False], growth_interval=1, max_norm=None)
@example(plan=[True, False], growth_interval=1, max_norm=1.0)
@pytest.mark.needs("an_overflow_leaves_nothing_behind")
def test_stepped_tells_what_the_optimizer_did(kata, plan, growth_interval, max_norm):
    """`stepped` is true on a real step, also when the scale grows, false on a skip."""
    world = AmpWorld(growth_interval=growth_interval)

    calls = world.begin().calls(kata.amp_step, plan, max_norm=max_norm)

    for index, (call, overflows) in enumerate(zip(calls, plan, strict=True)):
        assert call.claims_step == (not overflows), (
            f"scale 8, growth_interval {growth_interval}, {_told(plan, index)}: the "
            f"optimizer {_did(not overflows)}, you returned stepped="
            f"{shown(call.stepped)}.{_stepped_slip(call, overflows)}"
        )


def _stepped_slip(call, overflows):
    if call.claims_step is None:
        return "\nReturn (loss, stepped)."
    if overflows:
        return (
            f"\nA finite loss ({shown(call.loss)}) says nothing, nor does what "
            "scaler.step returns: a gradient is not finite. It shows in the scale, "
            "which update() makes smaller."
        )
    if call.scale > call.scale_before:
        return (
            f"\nThe scale went from {call.scale_before:g} to {call.scale:g}: it grew, "
            "which is no skip. Only a smaller scale means one."
        )
    return (
        f"\nThe scale is {call.scale:g} as before. What scaler.step returns says "
        "nothing: it is None on a real step of SGD as well."
    )


@given(plan=plans, growth_interval=st.integers(1, 3))
@example(plan=[True], growth_interval=1000)
@example(plan=[False, True, False], growth_interval=1000)
@example(plan=[False, False, True], growth_interval=1)
@pytest.mark.needs("an_overflow_leaves_nothing_behind")
def test_the_scheduler_follows_real_steps(kata, plan, growth_interval):
    """The scheduler steps once for each real step, and not on an overflow."""
    world = AmpWorld(growth_interval=growth_interval, scheduled=True)
    right = world.right(plan)

    calls = world.begin().calls(kata.amp_step, plan)

    for index, (call, true) in enumerate(zip(calls, right, strict=True)):
        assert call.scheduled == true.scheduled, (
            f"growth_interval {growth_interval}, {_told(plan, index)}: the scheduler "
            f"stands at {call.scheduled:g}, right is {true.scheduled:g}, one for each "
            f"real step.{_scheduler_slip(call, calls, index, plan)}"
        )
        assert call.rates_left == true.rates_left, (
            f"growth_interval {growth_interval}, {_told(plan, index)}: the learning "
            f"rates are {_listed(call.rates_left)}, right is "
            f"{_listed(true.rates_left)}: leave them to scheduler.step()"
        )


def _scheduler_slip(call, calls, index, plan):
    moved = call.scheduled - (calls[index - 1].scheduled if index else 0)
    if plan[index] and moved:
        return (
            "\nIt stepped although the optimizer did not: the learning rate decays "
            "while nothing is learnt."
        )
    if moved == 0 and call.scale > call.scale_before:
        return (
            f"\nThe scale went from {call.scale_before:g} to {call.scale:g}: it grew, "
            "which is no skip. Only a smaller scale means one."
        )
    if moved == 0:
        return "\nIt did not step although the optimizer did."
    return (
        f"\nIt moved by {moved:g} in this call: call scheduler.step() without argument."
    )


@given(max_norm=st.sampled_from([None, 1.0]))
@example(max_norm=None)
@pytest.mark.needs("two_calls_in_a_row_run_through")
def test_the_scheduler_comes_after_the_optimizer(kata, max_norm):
    """Each step is taken at the learning rate from before the scheduler's step."""
    world = AmpWorld(scheduled=True)
    right = world.right([False, False], max_norm=max_norm)

    calls = world.begin().calls(kata.amp_step, [False, False], max_norm=max_norm)

    for index, (call, true) in enumerate(zip(calls, right, strict=True)):
        assert call.rates == true.rates, (
            f"the scheduler halves the rates; call {index + 1}: the optimizer stepped "
            f"with learning rates {_rates(call)}, right is {_rates(true)}: first the "
            "optimizer, then the scheduler"
        )


def _rates(call):
    return "; ".join(map(_listed, call.rates)) or "none"


def _listed(rates):
    return ", ".join(f"{rate:g}" for rate in rates)


@given(value=st.sampled_from([math.inf, -math.inf, math.nan]))
@example(value=math.inf)
@pytest.mark.needs(
    "the_scale_follows_the_scalers_rules",
    "stepped_tells_what_the_optimizer_did",
    "the_scheduler_follows_real_steps",
)
def test_one_bad_gradient_is_an_overflow(kata, value):
    """One parameter's gradient that is not finite is enough for a skip."""
    run = AmpWorld(optimizer="momentum", scheduled=True).begin()
    run.last_poison = value

    call = run.call(kata.amp_step, run.world.batch())

    if not run.poisoned:
        return  # gradients that never went through the parameter cannot be poisoned
    said = f"the last parameter's gradient is {value}, all others are finite: "
    wrong = _change(call)
    assert wrong is None, f"{said}{wrong}"
    assert call.scale == 4, (
        f"{said}the scale was 8, now it is {call.scale:g}, right is 4"
    )
    assert call.claims_step is False, (
        f"{said}the optimizer did not step, you returned stepped={shown(call.stepped)}:"
        " ask the scale, which looks at every gradient"
    )
    assert call.scheduled == 0, f"{said}the scheduler stepped {call.scheduled:g} times"


@pytest.mark.needs(
    "the_loss_is_taken_in_float32", "the_scale_follows_the_scalers_rules"
)
def test_tiny_gradients_survive_float16(kata):
    """Gradients that float16 rounds to zero come through, since the loss is scaled."""
    world = AmpWorld(size=6, scale=65536.0)
    right_run, run = world.begin_right(_tiny_net()), world.begin(_tiny_net())
    for each in (right_run, run):
        for group in each.optimizer.param_groups:
            group["lr"] = 2.0**20
    right = right_run.call(plain_step, _batch(size=6))

    call = run.call(kata.amp_step, _batch(size=6))

    wrong = _update_difference(call, right)
    assert wrong is None, (
        f"gradients of about 1e-8, lr 2**20, scale 65536: {wrong}.\nfloat16 has "
        "nothing between 0 and 6e-8: only the gradients of the *scaled* loss survive, "
        "so it is scaler.scale(loss) on which backward must run."
    )


def _tiny_net():
    """Build a network whose one trainable layer gets gradients of about 1e-8."""
    first, head = nn.Linear(NUM_FEATURES, 4), nn.Linear(4, NUM_CLASSES)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        first.weight.copy_(torch.randn(first.weight.shape, generator=generator) / 2)
        first.bias.zero_()
        head.weight.copy_((2 * torch.eye(4) - 1) * 2.0**-23)  # float16's two smallest
        head.bias.zero_()
    return nn.Sequential(first, nn.Tanh(), head.requires_grad_(False))


@pytest.mark.needs(
    "the_forward_runs_inside_autocast",
    "the_loss_is_taken_in_float32",
    "the_scale_follows_the_scalers_rules",
    "stepped_tells_what_the_optimizer_did",
)
def test_too_large_a_scale_comes_down(kata):
    """From a scale of 2**24 calls are skipped, and halve it, until one fits."""
    world = AmpWorld(size=4, scale=2.0**24)
    right = world.begin_right()
    run = world.begin()

    for number in range(1, 13):
        true = right.call(plain_step, world.batch())
        call = run.call(kata.amp_step, world.batch())

        said = f"scale 2**24 on entry, dtype float16, call {number} on the same batch: "
        assert call.scale == true.scale, (
            f"{said}the scale is {call.scale:g}, right is {true.scale:g}: an overflow "
            "halves it, a good step leaves it"
        )
        assert call.claims_step == true.stepped, (
            f"{said}the optimizer {_did(true.stepped)}, you returned stepped="
            f"{shown(call.stepped)} (the loss, {true.loss:.3f}, is finite: it is the "
            "scaled gradients that overflow)"
        )
        wrong = _update_difference(call, true)
        assert wrong is None, f"{said}{wrong}"


@given(size=sizes, seed=seeds, scale=SCALES, overflows=st.booleans())
@example(size=4, seed=0, scale=8.0, overflows=False)
@example(size=4, seed=0, scale=1024.0, overflows=True)
@pytest.mark.needs("two_calls_in_a_row_run_through")
def test_the_returned_loss_is_not_scaled(kata, size, seed, scale, overflows):
    """It is the mean cross entropy before the update, on a skip too."""
    world = AmpWorld(size, seed, scale=scale, growth_interval=1)
    right_run = world.begin_right()
    (right,) = right_run.calls(plain_step, [overflows])
    right_run.model.poison = None
    later = right_run.call(plain_step, world.batch()).loss

    (call,) = world.begin().calls(kata.amp_step, [overflows])

    new = scale / 2 if overflows else scale * 2
    slips = {
        f"That is the loss times the scale, {scale:g}: return it unscaled.": scale,
        f"That is the scaled loss divided by the new scale, {new:g}: update() had "
        "changed it by then.": scale / new,
        "That is the loss divided by the scale: it was not scaled.": 1 / scale,
        "That is the sum over the samples, not their mean.": float(size),
    }
    slips = {sentence: right.loss * factor for sentence, factor in slips.items()}
    slips[
        "That is the loss after the update: keep that of the forward that trained."
    ] = later
    assert is_close(call.loss, right.loss, 1e-2), (
        f"{size} samples, scale {scale:g}{', an overflow' if overflows else ''}: the "
        f"loss is {right.loss:.4f}, you returned {shown(call.loss)}."
        f"{_loss_hint(call.loss, slips)}"
    )


def _loss_hint(loss, slips):
    """`judging.hint`, at the tolerance of float16."""
    for sentence, value in slips.items():
        if is_close(loss, value, 1e-2):
            return f"\n{sentence}"
    return ""


@pytest.mark.needs("the_loss_is_taken_in_float32", "the_returned_loss_is_not_scaled")
def test_a_small_loss_is_not_rounded(kata):
    """A loss of 0.0078 comes back as 0.0078."""
    net = nn.Linear(NUM_FEATURES, NUM_CLASSES)
    nn.init.zeros_(net.weight)
    with torch.no_grad():  # exp gives 1 + 1/128 in all, which float16 holds exactly
        net.bias.copy_(torch.tensor([0.0, -5.95, -5.95, -5.95]))
    features, targets = AmpWorld().batch()
    right = math.log1p(3 * math.exp(-5.95))

    call = AmpWorld().begin(net).call(kata.amp_step, (features, targets * 0))

    slips = {f"That is rounded to {n} digits.": round(right, n) for n in (1, 2, 3)}
    assert is_close(call.loss, right, 1e-2), (
        f"the loss is {right:.4f}, you returned {shown(call.loss)}."
        f"{hint(call.loss, slips)}"
    )


@given(dtype=DTYPES, max_norm=st.sampled_from([None, 0.5]), scheduled=st.booleans())
@example(dtype=torch.bfloat16, max_norm=None, scheduled=True)
@example(dtype=torch.bfloat16, max_norm=0.5, scheduled=False)
@pytest.mark.needs(
    "the_forward_runs_inside_autocast", "a_step_follows_the_unscaled_gradient"
)
def test_a_disabled_scaler_works_too(kata, dtype, max_norm, scheduled):
    """With GradScaler(enabled=False) the same code casts, clips and steps."""
    world = AmpWorld(
        4, 0, "linear", "momentum", dtype, enabled=False, scheduled=scheduled
    )
    right = world.right([False, False], max_norm=max_norm)

    calls = world.begin().calls(kata.amp_step, [False, False], max_norm=max_norm)

    for index, (call, true) in enumerate(zip(calls, right, strict=True)):
        said = f"GradScaler(enabled=False), {dtype}, call {index + 1}: "
        assert all(cast.enabled for cast in call.casts), (
            f"{said}autocast was off in the forward: it is not the scaler's to switch"
        )
        wrong = _update_difference(call, true, TOLERANCE[dtype])
        assert wrong is None, f"{said}max_norm={max_norm}: {wrong}"
        assert call.claims_step is True, (
            f"{said}the optimizer stepped, you returned stepped={shown(call.stepped)}: "
            "a disabled scaler's scale is 1.0 before and after"
        )
        assert call.scheduled == true.scheduled, (
            f"{said}the scheduler stands at {call.scheduled}, right is {true.scheduled}"
        )


@given(
    network=st.sampled_from(
        ["linear", "mlp", "dropout", "batchnorm", "frozen", "tied"]
    ),
    optimizer=st.sampled_from(["sgd", "momentum", "decay"]),
    plan=plans,
    seed=st.integers(0, 50),
)
@example(network="batchnorm", optimizer="momentum", plan=[False, False], seed=0)
@example(network="dropout", optimizer="decay", plan=[False, True, False], seed=0)
@example(network="tied", optimizer="momentum", plan=[False, False], seed=0)
@example(network="frozen", optimizer="decay", plan=[False, False], seed=0)
@pytest.mark.needs(
    "the_forward_runs_inside_autocast",
    "no_gradient_leaks_into_the_step",
    "an_overflow_changes_no_parameter",
    "stepped_tells_what_the_optimizer_did",
)
def test_trains_every_network_with_every_optimizer(
    kata, network, optimizer, plan, seed
):
    """Some calls in a row end in the parameters and buffers of the plain steps."""
    world = AmpWorld(6, seed, network, optimizer, growth_interval=2)
    right = world.right(plan)

    calls = world.begin().calls(kata.amp_step, plan)

    for index, (call, true) in enumerate(zip(calls, right, strict=True)):
        said = f"{network} network, {optimizer}, {_told(plan, index)}: "
        wrong = _update_difference(call, true)
        assert wrong is None, f"{said}{wrong}"
        if not plan[index]:
            wrong = difference(call.buffers, true.buffers, 1e-2)
            assert wrong is None, (
                f"{said}{wrong}: each forward in train mode moves BatchNorm's "
                "statistics, so there must be one a call"
            )


@pytest.mark.needs("two_calls_in_a_row_run_through")
def test_global_state_stays(kata):
    """Torch's settings stay, and the random state is not re-seeded."""
    torch.set_autocast_dtype(DEVICE, USUAL_DTYPE)

    assert_global_state_stays(
        lambda: AmpWorld().begin().calls(kata.amp_step, [False, True], max_norm=1.0)
    )

    left = torch.get_autocast_dtype(DEVICE)
    assert (torch.is_autocast_enabled(DEVICE), left) == (False, USUAL_DTYPE), (
        f"autocast was off and its dtype on {DEVICE!r} {USUAL_DTYPE}; after the call "
        f"it is {'on' if torch.is_autocast_enabled(DEVICE) else 'off'}, and {left}: "
        "`with torch.autocast(...)` puts both back"
    )


# --- How updates are compared, and told -----------------------------------------------


def _batch(seed=0, *, size=4, features=1.0):
    """Return the first batch of a world, its features multiplied."""
    drawn, targets = AmpWorld(size, seed).batch()
    return drawn * features, targets


def _update_difference(call, right, tolerance=TOLERANCE[torch.float16]):
    """Describe how the parameters moved wrongly, None if they moved rightly."""
    bad = _not_finite(call.parameters)
    if bad is not None:
        return f"{bad} is not finite any more"
    return _update_gap(call.update, right.update, tolerance)


def _update_gap(update, right, tolerance=TOLERANCE[torch.float16]):
    """The widest gap between two updates, told, when it is above the tolerance.

    The tolerance is relative to the largest entry: float16 has three digits. Where
    nothing is to move, 1e-6 is let pass.
    """
    limit = tolerance * max(float(u.abs().max()) for u in right.values()) or 1e-6
    worst, text = limit, None
    for name, true in right.items():
        gap = (update[name] - true).abs()
        if not float(gap.max()) <= worst:
            worst, at = float(gap.max()), int(gap.argmax())
            ours, theirs = float(update[name].flatten()[at]), float(true.flatten()[at])
            text = f"{name} moved by {ours:.4g}, right is {theirs:.4g}"
    return text


def _moved(call):
    return any(bool(update.any()) for update in call.update.values())


def _ratio(got, right):
    """The factor between two sets of tensors, None when they are not parallel."""
    ours = torch.cat([got[n].double().flatten() for n in right])
    theirs = torch.cat([right[n].double().flatten() for n in right])
    if not ours.isfinite().all() or not theirs.any():
        return None
    factor = float(ours @ theirs / (theirs @ theirs))
    gap = (ours - factor * theirs).abs().max()
    return factor if factor and gap <= 0.02 * ours.abs().max() else None


def _near(number, right):
    return abs(number - right) <= 0.02 * abs(right)


def _not_finite(parameters):
    """Name the first parameter that is not finite, None if all are."""
    return next((n for n, p in parameters.items() if not p.isfinite().all()), None)


def _told(plan, index):
    """Tell a plan up to one of its calls: "call 2 of (good, overflow)"."""
    words = ", ".join("overflow" if overflows else "good" for overflows in plan)
    return f"call {index + 1} of ({words})"


def _did(stepped):
    return "stepped" if stepped else "did not step"
