"""The properties of `train_epoch_accumulated`, claim by claim of its statement."""

from itertools import accumulate

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import nn

from checks import judging
from checks.accumulation_slips import batch_names, loss_slips, slip_of_step
from checks.accumulation_worlds import GroupWorld, ends_of, right_epochs
from checks.claims import (
    assert_batches_stay,
    assert_features_came_through,
    assert_flags_stay,
    assert_global_state_stays,
    modules_in,
)
from checks.judging import difference, hint, is_close, shown, shown_error
from checks.oracles import logits_with_loss, loss_at, softmax_gradient, weighted_mean
from checks.recorders import Batches, Elsewhere, GraphWatch, buffers_of, parameters_of
from checks.worlds import OPTIMIZERS, batch_sizes, build, paired_sizes, seeds

counts = st.integers(1, 4)  # of batches in a group
row_independent = st.sampled_from(["linear", "mlp", "tied"])
full_sizes = st.lists(st.integers(1, 6), min_size=1, max_size=6)  # no empty batch


@given(num_groups=st.integers(1, 3), steps=counts, seed=seeds)
@example(num_groups=2, steps=2, seed=0)
def test_steps_once_for_each_group(kata, num_groups, steps, seed):
    """As many steps as there are full groups of batches."""
    world = GroupWorld([3] * (num_groups * steps), seed, accumulation_steps=steps)

    log = world.train(kata.train_epoch_accumulated).log

    taken = log.count("step")
    assert taken == num_groups, (
        f"{world.said}: the optimizer stepped {taken} times, {_places(world, log)}; "
        f"right is {num_groups}, after {ends_of(world.groups)}."
        f"{_line(_miscount(world, log))}"
    )


@given(sizes=full_sizes, steps=counts, seed=seeds)
@example(sizes=[3, 3, 3, 3, 3], steps=2, seed=0)
@example(sizes=[3, 2], steps=4, seed=0)
@pytest.mark.needs("steps_once_for_each_group")
def test_a_smaller_last_group_is_stepped(kata, sizes, steps, seed):
    """What is left at the end, fewer batches than a group, gets a step of its own."""
    world = GroupWorld(sizes, seed, accumulation_steps=steps)

    log = world.train(kata.train_epoch_accumulated).log

    taken, right = log.count("step"), len(world.groups)
    assert taken == right, (
        f"{world.said}: {len(sizes)} batches make {right} groups, the optimizer "
        f"stepped {taken} times, {_places(world, log)}; right is after "
        f"{ends_of(world.groups)}.{_line(_miscount(world, log))}"
    )


@given(sizes=full_sizes, steps=counts, seed=seeds)
@example(sizes=[4, 2, 1], steps=2, seed=0)
def test_forwards_each_batch_once_alone(kata, sizes, steps, seed):
    """One forward a batch, in order, on that batch's rows and no others."""
    world = GroupWorld(sizes, seed, accumulation_steps=steps)

    log = world.train(kata.train_epoch_accumulated).log

    rows = [forward.rows for forward in log.forwards]
    together = [sum(sizes[i] for i in group) for group in world.groups]
    joined = "Those are the groups, joined: what fits is one batch at a time."
    joined = joined if rows == together else None
    assert rows == sizes, (
        f"{world.said}: the model was called {len(rows)} times, on {rows} rows; right "
        f"is once for each batch, on {sizes} rows.{_line(joined)}"
    )
    calls = ["unknown" if f.batch is None else f.batch + 1 for f in log.forwards]
    assert calls == list(range(1, len(sizes) + 1)), (
        f"{world.said}: the model was called on batches {calls}, right is each once, "
        "in order"
    )


@given(network=st.sampled_from(["mlp", "dropout", "batchnorm", "frozen"]), seed=seeds)
@example(network="dropout", seed=0)
def test_trains_in_train_mode(kata, network, seed):
    """Every module is in train mode at each forward, and left in train mode."""
    world = GroupWorld([3, 2, 2], seed, network, training=False)

    run = world.train(kata.train_epoch_accumulated)

    for number, forward in enumerate(run.log.forwards, start=1):
        assert all(forward.training), (
            f"the model came in eval mode; at forward {number} "
            f"{modules_in(run.model, forward.training, training=False)} "
            "still in eval mode, so dropout "
            "is off and BatchNorm's statistics stand still: model.train() goes before "
            "the first forward"
        )
    modes = tuple(module.training for module in run.model.modules())
    assert all(modes), (
        f"after the epoch {modules_in(run.model, modes, training=False)} "
        "in eval mode: a training epoch "
        "leaves the model in train mode"
    )


@given(sizes=full_sizes, steps=counts, seed=seeds)
@example(sizes=[3, 3, 3, 3, 3], steps=2, seed=0)
@example(sizes=[3, 3, 3, 3], steps=3, seed=0)
@pytest.mark.needs("steps_once_for_each_group", "a_smaller_last_group_is_stepped")
def test_each_step_closes_its_group(kata, sizes, steps, seed):
    """A step comes after the last forward of its group and before the next forward."""
    world = GroupWorld(sizes, seed, accumulation_steps=steps)

    log = world.train(kata.train_epoch_accumulated).log

    after, right = _step_places(world, log), ends_of(world.groups)
    assert after == right, (
        f"{world.said}: the optimizer stepped {_places(world, log)}, right is after "
        f"{right}.{_line(_miscount(world, log))}"
    )
    taken, forwards = 0, iter(log.forwards)
    for kind, batch in log.events:
        taken += kind == "step"
        seen = next(forwards).parameters if kind == "forward" else None
        wrong = taken and seen and difference(seen, log.steps[taken - 1].parameters)
        assert not wrong, (
            f"{world.said}: the forward of batch {(batch or 0) + 1} did not see what "
            f"step {taken} left: {wrong}"
        )


def _step_places(world, log):
    """How many batches had gone through the model, once or more, at each step."""
    ends = list(accumulate(world.sizes))
    forwards, seen, places = iter(log.forwards), {}, []
    for place, (kind, batch) in enumerate(log.events):
        if kind == "forward":
            unknown = ("unknown", place)
            seen.setdefault(unknown if batch is None else batch, next(forwards).rows)
        if kind == "step":
            places.append(sum(end <= sum(seen.values()) for end in ends))
    return places


def _places(world, log):
    """Where the steps came, as a part of a sentence."""
    after = _step_places(world, log)
    return f"after {after} batches" if after else "after none"


def _miscount(world, log):
    """Name the slip behind steps of a wrong number or at wrong places."""
    after, right = _step_places(world, log), ends_of(world.groups)
    n, k = len(world.sizes), world.steps
    shifted = list(range(1, n + 1, k))
    slips = [
        ([], "Does the optimizer that you were given ever step?"),
        (
            [*range(k + 1, n, k + 1), n],
            f"Those are groups of {k + 1}: look at the comparison.",
        ),
        ([n], "That is one step an epoch: step when each group is complete."),
        (right[:-1], f"The last group, of {n % k or k}, was dropped."),
        (
            [*range(1, n + 1)],
            "That is one step a batch: step when a group is complete.",
        ),
        ([n] * len(right), "All steps came at the end of the epoch."),
        (
            [*right, n],
            "There is one more step at the end: when the epoch divides evenly, nothing "
            "is left for a step after the loop.",
        ),
        *(
            (
                places,
                "That is i % accumulation_steps == 0 with i from 0, so the first batch "
                "makes a group by itself: count the batches up to this one, i + 1.",
            )
            for places in (shifted, [*shifted, n])
        ),
    ]
    return next((text for places, text in slips if places == after), None)


@given(size=st.integers(1, 6), steps=counts, seed=seeds, network=row_independent)
@example(size=2, steps=3, seed=0, network="mlp")
@pytest.mark.needs("steps_once_for_each_group", "each_step_closes_its_group")
def test_a_step_follows_its_groups_mean(kata, size, steps, seed, network):
    """One group of equal batches: the update is −lr times the mean loss's gradient."""
    world = GroupWorld([size] * steps, seed, network, accumulation_steps=steps)

    run = world.train(kata.train_epoch_accumulated)

    _assert_updates(world, run, right_epochs(world))


@given(
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    seed=seeds,
    network=row_independent,
)
@example(sizes=[2, 5, 4], seed=0, network="mlp")
@pytest.mark.needs("a_step_follows_its_groups_mean")
def test_every_sample_weighs_the_same(kata, sizes, seed, network):
    """One full group of uneven batches: each weighs by its samples."""
    world = GroupWorld(sizes, seed, network, accumulation_steps=len(sizes))

    run = world.train(kata.train_epoch_accumulated)

    _assert_updates(world, run, right_epochs(world))


@given(
    size=st.integers(1, 4),
    full=st.integers(0, 1),
    left=st.integers(1, 3),
    steps=st.integers(2, 4),
)
@example(size=3, full=1, left=1, steps=2)
@example(size=2, full=0, left=3, steps=4)
@pytest.mark.needs("a_step_follows_its_groups_mean", "a_smaller_last_group_is_stepped")
def test_a_smaller_last_group_is_normalised(kata, size, full, left, steps):
    """A group of fewer batches is divided by what it has, not by a full group."""
    num_batches = full * steps + min(left, steps - 1)
    world = GroupWorld([size] * num_batches, accumulation_steps=steps)

    run = world.train(kata.train_epoch_accumulated)

    _assert_updates(world, run, right_epochs(world))


@given(size=st.integers(1, 4), steps=st.integers(1, 3), seed=seeds)
@example(size=3, steps=2, seed=0)
@pytest.mark.needs("a_step_follows_its_groups_mean", "each_step_closes_its_group")
def test_no_gradient_leaks_between_groups(kata, size, steps, seed):
    """Each update uses its own group alone, in a second epoch too."""
    world = GroupWorld([size] * (2 * steps), seed, accumulation_steps=steps)

    run = world.train(kata.train_epoch_accumulated, epochs=2)

    _assert_updates(world, run, right_epochs(world, epochs=2))


@given(size=st.integers(1, 4), steps=st.integers(1, 3), seed=seeds)
@example(size=3, steps=2, seed=0)
@pytest.mark.needs("a_step_follows_its_groups_mean")
def test_no_gradient_leaks_from_before_the_call(kata, size, steps, seed):
    """A `.grad` that is there on entry has no part in the first update."""
    world = GroupWorld([size] * steps, seed, stale=True, accumulation_steps=steps)

    run = world.train(kata.train_epoch_accumulated)

    _assert_updates(world, run, right_epochs(world), "; every .grad came holding 7.0")


@given(sizes=st.lists(st.sampled_from([0, 3]), min_size=2, max_size=7).filter(any))
@example(sizes=[3, 0, 3, 3])
@example(sizes=[0, 3, 3, 0])
@example(sizes=[3, 3, 3, 0])
@pytest.mark.needs(
    "a_step_follows_its_groups_mean", "a_smaller_last_group_is_normalised"
)
def test_an_empty_batch_does_not_count(kata, sizes):
    """A batch without samples: no forward, no place in a group, no weight."""
    world = GroupWorld(sizes)

    run = world.train(kata.train_epoch_accumulated)

    empty = [forward for forward in run.log.forwards if forward.rows == 0]
    assert not empty, (
        f"{world.said}: the model was called on {len(empty)} empty batches; pass over "
        "a batch when len(targets) == 0"
    )
    taken, right = run.log.count("step"), len(world.groups)
    assert taken == right, (
        f"{world.said}: the {len(world.known())} batches with samples make {right} "
        f"groups, the optimizer stepped {taken} times: an empty batch takes no place "
        "in a group"
    )
    _assert_updates(world, run, right_epochs(world))
    assert not judging.is_nan(run.returned), (
        f"{world.said}: you returned {shown(run.returned)}: the mean over nothing is "
        "NaN, and NaN times 0 is still NaN"
    )


@given(sizes=batch_sizes, steps=counts, seed=seeds, network=row_independent)
@example(sizes=[4, 1, 0, 2, 6, 5], steps=2, seed=0, network="mlp")
@pytest.mark.needs(
    "every_sample_weighs_the_same",
    "a_smaller_last_group_is_normalised",
    "no_gradient_leaks_between_groups",
    "an_empty_batch_does_not_count",
)
def test_a_group_equals_its_batches_joined(kata, sizes, steps, seed, network):
    """Rows apart from each other: a step is that of the group as one batch."""
    world = GroupWorld(sizes, seed, network, accumulation_steps=steps)

    run = world.train(kata.train_epoch_accumulated)

    joined = right_epochs(world, together=True)
    _assert_updates(world, run, joined, "; against each group as one batch")


@given(
    network=st.sampled_from(
        ["linear", "mlp", "dropout", "batchnorm", "frozen", "tied"]
    ),
    optimizer=st.sampled_from(["sgd", "momentum", "decay", "adam"]),
    sizes=paired_sizes,
    steps=st.integers(1, 3),
)
@example(network="batchnorm", optimizer="adam", sizes=[4, 2, 3], steps=2)
@example(network="dropout", optimizer="momentum", sizes=[4, 2, 3], steps=2)
@example(network="tied", optimizer="decay", sizes=[4, 2, 3], steps=2)
@example(network="frozen", optimizer="adam", sizes=[4, 2, 3], steps=2)
@pytest.mark.needs(
    "trains_in_train_mode",
    "forwards_each_batch_once_alone",
    "a_group_equals_its_batches_joined",
)
def test_trains_every_network_with_every_optimizer(
    kata, network, optimizer, sizes, steps
):
    """Two epochs end in the parameters and buffers of a plain loop over the groups."""
    world = GroupWorld(sizes, 0, network, optimizer, accumulation_steps=steps)

    run = world.train(kata.train_epoch_accumulated, epochs=2)

    right = right_epochs(world, epochs=2).run
    said = f"{network} network, {optimizer}, {world.said}, two epochs: at the end "
    wrong = difference(run.parameters, right.parameters)
    assert wrong is None, (
        f"{said}{wrong}.\nPlain SGD was right: does the step leave the optimizer's "
        "state, decay and learning rate as they are?"
    )
    wrong = difference(run.buffers, right.buffers)
    assert wrong is None, (
        f"{said}{wrong}: each forward in train mode moves BatchNorm's statistics, so "
        "there must be one a batch"
    )


@given(seed=seeds, sizes=st.tuples(*[st.integers(1, 5)] * 3))
@example(seed=0, sizes=(4, 1, 2))
@pytest.mark.needs("a_smaller_last_group_is_normalised")
def test_two_groups_match_numpy(kata, seed, sizes):
    """A linear model after two steps is where softmax minus one-hot puts it."""
    world = GroupWorld(sizes, seed, "linear")
    weight, bias = (p.detach().numpy().copy() for p in world.begin().model.parameters())
    batches = [(x.numpy(), y.numpy()) for x, y in world.batches()]
    for group in world.groups:
        shares = [sizes[i] / sum(sizes[j] for j in group) for i in group]
        slopes = [softmax_gradient(weight, bias, *batches[i]) for i in group]
        pairs = list(zip(shares, slopes, strict=True))
        weight = weight - 0.1 * sum(share * slope[0] for share, slope in pairs)
        bias = bias - 0.1 * sum(share * slope[1] for share, slope in pairs)

    run = world.train(kata.train_epoch_accumulated)

    right = {
        "net.weight": torch.from_numpy(weight),
        "net.bias": torch.from_numpy(bias),
    }
    wrong = difference(run.parameters, right)
    assert wrong is None, (
        f"{world.said}: two SGD steps by hand (softmax minus one-hot, mean over "
        f"{sizes[0] + sizes[1]}, then over {sizes[2]} samples): at the end {wrong}"
    )


def test_batches_of_4_and_1_and_2_weigh(kata):
    """Mean losses of 1, 3 and 2 on 4, 1 and 2 samples: the loss is 11/7."""
    losses, sizes = [1.0, 3.0, 2.0], [4, 1, 2]
    batches = [
        (logits_with_loss(loss).repeat(n, 1), torch.zeros(n, dtype=torch.long))
        for loss, n in zip(losses, sizes, strict=True)
    ]
    model = nn.Linear(2, 2, bias=False, dtype=torch.float64)
    nn.init.eye_(model.weight)
    optimizer = OPTIMIZERS["standstill"](list(model.parameters()))

    returned = kata.train_epoch_accumulated(model, batches, optimizer, 2)

    assert is_close(returned, 11 / 7), (
        "batches of 4, 1 and 2 samples with mean losses 1, 3 and 2, "
        "accumulation_steps=2, learning rate 0: the loss is "
        "(4·1 + 1·3 + 2·2) / 7 = 1.5714, you returned "
        f"{shown(returned)}.{hint(returned, loss_slips(losses, sizes, 2))}"
    )


@given(sizes=batch_sizes, steps=counts, seed=seeds)
@example(sizes=[4, 0, 1, 2], steps=2, seed=0)
@pytest.mark.needs("batches_of_4_and_1_and_2_weigh", "an_empty_batch_does_not_count")
def test_mean_loss_weighs_every_sample_once(kata, sizes, steps, seed):
    """The returned loss is a mean over samples, whatever the groups are."""
    world = GroupWorld(sizes, seed, optimizer="standstill", accumulation_steps=steps)
    right = right_epochs(world)

    returned = world.train(kata.train_epoch_accumulated).returned

    assert is_close(returned, right.mean_loss), (
        f"{world.said}, learning rate 0: the mean loss is {right.mean_loss:.4f}, you "
        f"returned {shown(returned)}."
        f"{hint(returned, loss_slips(right.losses, right.sizes, steps))}"
    )


@given(sizes=full_sizes, steps=counts, seed=seeds)
@example(sizes=[4, 2, 3], steps=2, seed=0)
@pytest.mark.needs(
    "mean_loss_weighs_every_sample_once", "a_group_equals_its_batches_joined"
)
def test_loss_is_measured_before_each_update(kata, sizes, steps, seed):
    """The returned loss is that of the forwards that trained, not of later ones."""
    world = GroupWorld(sizes, seed, accumulation_steps=steps)
    right = right_epochs(world)

    returned = world.train(kata.train_epoch_accumulated).returned

    assert is_close(returned, right.mean_loss), (
        f"{world.said}: in the forwards that trained the mean loss is "
        f"{right.mean_loss:.4f}, you returned {shown(returned)}."
        f"{hint(returned, _late(world, right))}"
        f"{hint(returned, loss_slips(right.losses, right.sizes, steps))}"
    )


def _late(world, right):
    """The mean losses that are measured after the steps."""
    batches, states = world.batches(), right.states
    own, end = (
        [
            loss_at(right.run.model, state[number], batches[i])
            for number, group in enumerate(world.groups)
            for i in group
        ]
        for state in (states, states[-1:] * len(states))
    )
    return {
        "That is the mean loss measured after each group's step: keep the value of the "
        "forward that trained.": weighted_mean(own, right.sizes),
        "That is the mean loss measured when the epoch was over: keep the value of the "
        "forward that trained.": weighted_mean(end, right.sizes),
    }


def test_returns_a_float(kata):
    """What comes back is a Python float."""
    returned = GroupWorld([3, 2, 1]).train(kata.train_epoch_accumulated).returned

    assert isinstance(returned, float), (
        f"train_epoch_accumulated returned {shown(returned)}, a "
        f"{type(returned).__name__}; asked is a float: loss.item() also lets the graph "
        "go"
    )


def test_frees_each_graph_before_the_next_forward(kata):
    """When a forward starts, nothing that another one saved for backward is alive."""
    world = GroupWorld([3, 2, 4, 1, 2])
    looks = _watched(kata, world)

    outlive = any(look.saved for look in looks if look.batch % 2 == 0)
    why = (
        "They outlive their group's step too: is it retain_graph=True or create_graph="
        "True, or are losses of several groups added up before backward?"
        if outlive
        else "Losses added up for one backward a group hold every graph of it, and "
        "take the memory of the big batch. Go backward after each forward."
    )
    for look in looks:
        kept = ", ".join(str(batch + 1) for batch in look.saved)
        assert not kept, (
            f"{world.said}: when batch {look.batch + 1} was forwarded, the tensors "
            f"saved for the backward of batch {kept} were still in memory.\n{why}"
        )


def test_keeps_no_graph(kata):
    """When a forward starts, no graph older than the batch just before is alive."""
    world = GroupWorld([3, 2, 4, 1, 2], accumulation_steps=3)

    for look in _watched(kata, world):
        old = [batch for batch in look.graphs if batch < look.batch - 1]
        assert not old, (
            f"{world.said}: when batch {look.batch + 1} was forwarded, the graph of "
            f"batch {old[0] + 1} was still alive: what you add up or keep carries its "
            "history, so memory grows with each batch; add up loss.item() or a "
            "detached tensor"
        )


def _watched(kata, world):
    """Train with a watch on the graphs; return what it saw at each forward."""
    watch = GraphWatch(build(world.network, world.seed), world.known())
    optimizer = OPTIMIZERS["sgd"](list(watch.parameters()))
    kata.train_epoch_accumulated(watch, world.batches(), optimizer, world.steps)
    return watch.looks


@given(sizes=batch_sizes, steps=st.integers(1, 3), seed=seeds)
@example(sizes=[3, 2, 4, 2, 3], steps=2, seed=0)
@example(sizes=[3, 0, 2, 4], steps=1, seed=0)
def test_reads_at_most_a_group_ahead(kata, sizes, steps, seed):
    """A generator is enough, and no more than a group waits for its forward."""
    world = GroupWorld(sizes, seed, accumulation_steps=steps)
    run = world.begin()
    stream = iter(Batches(world.batches(), run.log))

    error = judging.error_of(
        lambda: kata.train_epoch_accumulated(run.model, stream, run.optimizer, steps)
    )

    waiting = set()
    for kind, batch in run.log.events:
        if kind == "asked":
            assert len(waiting) <= steps, (
                f"{world.said}: when batch {batch + 1} was asked for, {len(waiting)} "
                f"batches waited for their forward, at most {steps} may: hold one "
                "group of batches, never the epoch"
            )
            waiting |= {batch} if sizes[batch] else set()
        if kind == "forward":
            waiting.discard(min(waiting, default=None) if batch is None else batch)
    _assert_needs_no_length(error)
    asked = run.log.count("asked")
    assert asked == len(sizes), f"{len(sizes)} batches were there, {asked} were read"


def _assert_needs_no_length(error):
    """Say what a generator lacks; let other errors of the solution through."""
    for word in ("has no len()", "not subscriptable", "has no attribute"):
        assert word not in str(error), (
            f"the batches came from a generator; {shown_error(error)}. It has no "
            "length and no items to pick: the last group is what is left when the loop "
            "ends"
        )
    if error is not None:
        raise error


def test_batches_are_gone_through_once(kata):
    """A second pass over the batches would cost a second epoch."""
    world = GroupWorld([3, 2, 4])
    run = world.begin()
    stream = Batches(world.batches(), run.log)

    error = judging.error_of(
        lambda: kata.train_epoch_accumulated(run.model, stream, run.optimizer, 2)
    )

    _assert_needs_no_length(error)
    assert stream.passes == 1, (
        f"the batches were gone through {stream.passes} times: one pass serves the "
        "training, the counting and the loss"
    )


def test_moves_batches_to_the_device(kata):
    """Features and targets come from another device and are moved with `.to`."""
    world = GroupWorld([3, 2, 1])
    run = world.begin()
    batches = [(Elsewhere(x), Elsewhere(y)) for x, y in world.batches()]

    error = judging.error_of(
        lambda: kata.train_epoch_accumulated(
            run.model, batches, run.optimizer, 2, device="cpu"
        )
    )

    if error is not None and "device" not in str(error):
        raise error
    assert error is None, (
        "features and targets were on another device than the model, which is on "
        f"`device`: {shown_error(error)}\nMove both: features.to(device), "
        "targets.to(device)"
    )


def test_accumulation_steps_is_a_positive_int(kata):
    """Anything else: ValueError, before a batch is read."""
    for steps in (0, -1, 2.0, 1.5, "2", None):
        run = GroupWorld([3, 2]).begin()
        stream = iter(Batches(GroupWorld([3, 2]).batches(), run.log))

        error = judging.error_of(
            lambda r=run, s=stream, k=steps: r.call(
                lambda: kata.train_epoch_accumulated(r.model, s, r.optimizer, k)
            )
        )

        said = f"accumulation_steps={steps!r}: "
        ended = shown_error(error) if error else f"it returned {shown(run.returned)}"
        assert isinstance(error, ValueError), (
            f"{said}{ended}; right is ValueError, below 1 as for what is no int"
        )
        asked = run.log.count("asked")
        assert not asked, (
            f"{said}ValueError came after {asked} batches had been read: look at the "
            "argument first"
        )


@given(num_empty=st.integers(0, 3), network=st.sampled_from(["mlp", "batchnorm"]))
@example(num_empty=0, network="mlp")
@example(num_empty=2, network="mlp")
def test_empty_data_is_refused(kata, num_empty, network):
    """Without a sample: ValueError, no forward, no step, nothing changed."""
    world = GroupWorld([0] * num_empty, 0, network, "decay", stale=True)
    before, run = world.begin(), world.begin()

    error = judging.error_of(
        lambda: run.call(
            lambda: kata.train_epoch_accumulated(
                run.model, iter(world.batches()), run.optimizer, 2
            )
        )
    )

    said = f"{num_empty} empty batches" if num_empty else "no batch at all"
    ended = shown_error(error) if error else f"it returned {shown(run.returned)}"
    assert isinstance(error, ValueError), (
        f"{said}: {ended}; the mean of no losses does not exist, so raise ValueError"
    )
    assert not run.log.forwards, f"{said}: the model was called all the same"
    assert not run.log.steps, (
        f"{said}: the optimizer stepped all the same: is there a step after the loop "
        "that does not ask whether a group is open?"
    )
    wrong = difference(run.parameters, parameters_of(before.model))
    wrong = wrong or difference(run.buffers, buffers_of(before.model))
    assert wrong is None, f"{said}: the model changed, {wrong}"


@given(
    sizes=paired_sizes,
    seed=seeds,
    network=st.sampled_from(["mlp", "frozen", "image", "embedding"]),
)
@example(sizes=[3, 2], seed=0, network="frozen")
@example(sizes=[3, 2], seed=0, network="image")
@example(sizes=[3, 2], seed=0, network="embedding")
def test_inputs_and_requires_grad_stay(kata, sizes, seed, network):
    """Features reach the model as they came; nothing of the caller's is changed."""
    world = GroupWorld(sizes, seed, network)
    run = world.begin()
    batches, copies = world.batches(), world.batches()

    kata.train_epoch_accumulated(run.model, batches, run.optimizer, 2)

    assert_features_came_through(run.log, copies)
    assert_batches_stay(batches, copies)
    assert_flags_stay(run.model, world.begin().model)


def test_global_state_stays(kata):
    """Torch's settings stay, and the random state is not re-seeded."""
    world = GroupWorld([3, 2, 1])

    assert_global_state_stays(lambda: world.train(kata.train_epoch_accumulated))


def _assert_updates(world, run, right, more=""):
    """Compare the parameters after each update, and at the end, with the right ones."""
    start = parameters_of(world.begin().model)
    states = [start, *(step.parameters for step in run.log.steps)]
    per_epoch = len(world.groups)
    for index, true in enumerate(right.states):
        got = states[index + 1] if index + 1 < len(states) else run.parameters
        wrong = difference(got, true)
        if wrong is None:
            continue
        epoch, number = divmod(index, per_epoch)
        names = batch_names(world.groups[number])
        slip = slip_of_step(world, [*states[epoch * per_epoch : index + 1], got])
        raise AssertionError(
            f"{world.said}{more}: after update {number + 1}, of {names}, "
            f"{'in the second epoch ' * epoch}{wrong}.{slip}"
        )
    wrong = difference(run.parameters, right.states[-1])
    assert wrong is None, f"{world.said}{more}: at the end {wrong}, after all steps"


def _line(text):
    """A sentence on a line of its own, "" for None."""
    return f"\n{text}" if text else ""
