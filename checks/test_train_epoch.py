"""The properties of `train_epoch`, one check a numbered claim of its statement."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import nn

from checks import judging
from checks.claims import (
    assert_batches_stay,
    assert_features_came_through,
    assert_flags_stay,
    assert_global_state_stays,
    modules_in,
)
from checks.judging import (
    difference,
    hint,
    is_close,
    same,
    shown,
    shown_error,
    shown_sizes,
    total,
)
from checks.oracles import (
    logits_with_loss,
    right_epoch,
    softmax_gradient,
)
from checks.recorders import Batches, Elsewhere, GraphWatch, parameters_of
from checks.worlds import (
    OPTIMIZERS,
    World,
    batch_sizes,
    build,
    paired_sizes,
    seeds,
)


@given(sizes=batch_sizes, seed=seeds)
@example(sizes=[4, 2, 1], seed=0)
@example(sizes=[1] * 60, seed=0)
def test_steps_once_for_each_batch(kata, sizes, seed):
    """The optimizer steps once for each batch that has samples."""
    world = World([n for n in sizes if n], seed)

    run = world.train(kata.train_epoch)

    steps, right = run.log.count("step"), len(world.sizes)
    assert steps == right, (
        f"batches of {shown_sizes(world.sizes)} samples: the optimizer stepped "
        f"{steps} times, right is {right}, once for each batch"
    )


@given(sizes=batch_sizes, seed=seeds)
@example(sizes=[4, 2, 1], seed=0)
def test_calls_the_model_once_a_batch(kata, sizes, seed):
    """One forward a batch serves the update and the report."""
    world = World([n for n in sizes if n], seed)

    run = world.train(kata.train_epoch)

    calls = len(run.log.forwards)
    assert calls == len(world.sizes), (
        f"batches of {world.sizes} samples: the model was called {calls} times, "
        f"right is {len(world.sizes)}, once for each batch: the forward that trains "
        "also gives the loss to report"
    )


@given(network=st.sampled_from(["mlp", "dropout", "batchnorm", "frozen"]), seed=seeds)
@example(network="dropout", seed=0)
def test_trains_in_train_mode(kata, network, seed):
    """Every module is in train mode at each forward, and left in train mode."""
    world = World([3, 2], seed, network, training=False)

    run = world.train(kata.train_epoch)

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


@given(size=st.integers(1, 6), seed=seeds, network=st.sampled_from(["linear", "mlp"]))
@example(size=4, seed=0, network="mlp")
def test_a_step_follows_the_gradient_of_its_batch(kata, size, seed, network):
    """One batch: the update is −lr times the gradient of its mean cross entropy."""
    world = World([size], seed, network)
    right = right_epoch(world)

    run = world.train(kata.train_epoch)

    wrong = difference(run.parameters, right.run.parameters)
    assert wrong is None, (
        f"one batch of {size} samples, plain SGD: after the step {wrong}."
        f"{_first_step_slip(world, run, right)}"
    )


def _first_step_slip(world, run, right):
    """Say how the first step of a plain SGD run went wrong, where it can be told."""
    before = parameters_of(world.begin().model)
    ratio = _ratio(before, run.parameters, right.run.parameters)
    if same(run.parameters, before):
        return (
            "\nThe parameters did not move at all: was the gradient cleared between "
            "backward and step, or the step taken before there was one?"
        )
    if difference(run.parameters, right.run.parameters, 1e-6) is None:
        return (
            "\nThat is right to float32 rounding only: the model is float64, and "
            "something on the way to the loss was cast down."
        )
    if ratio is not None:
        number = sum(world.sizes)
        of_size = ", the number of samples: mean, not sum" if ratio == number else ""
        return f"\nThe update is {ratio:.4g} times the right one{of_size}."
    (batch,) = world.batches()
    model = world.begin().model
    loss = nn.CrossEntropyLoss()(model(batch[0]).softmax(1), batch[1])
    grads = torch.autograd.grad(loss, list(model.parameters()))
    twice = {n: b - 0.1 * g for (n, b), g in zip(before.items(), grads, strict=True)}
    if same(run.parameters, twice):
        return (
            "\nThat is the gradient of a softmax before the loss: cross entropy takes "
            "raw logits and applies log-softmax itself."
        )
    return "\nThe direction is not that of the gradient of mean cross entropy."


def _ratio(before, after, right):
    """The factor between two updates, None when they are not parallel."""
    ours = torch.cat([(after[n] - before[n]).flatten() for n in before])
    theirs = torch.cat([(right[n] - before[n]).flatten() for n in before])
    factor = float(ours @ theirs / (theirs @ theirs))
    parallel = torch.allclose(ours, factor * theirs, rtol=0, atol=1e-9)
    return round(factor, 6) if parallel and factor else None


def _since(run, right):
    """Say from which update on a run went another way than it should."""
    pairs = zip(run.log.steps, right.log.steps, strict=False)
    for index, (step, true) in enumerate(pairs):
        if not same(step.parameters, true.parameters):
            first = index == len(right.log.steps) // 2
            why = ", the first of the second epoch: was the optimizer's state lost?"
            followed = same(step.gradients, true.gradients)
            return f"; they agree before update {index + 1}{why if first else ''}" + (
                "\nIts gradient was right, its step was not." if followed else ""
            )
    return ""


@given(sizes=batch_sizes, seed=seeds)
@example(sizes=[4, 2, 3], seed=0)
@pytest.mark.needs("steps_once_for_each_batch")
def test_each_forward_sees_the_step_before(kata, sizes, seed):
    """A batch is forwarded after the step of the batch before, and sees its result."""
    world = World([n for n in sizes if n], seed)

    log = world.train(kata.train_epoch).log

    steps = 0
    forwards = iter(log.forwards)
    for kind, batch in log.events:
        steps += kind == "step"
        if kind != "forward" or batch is None:
            continue
        said = f"batches of {world.sizes} samples: the forward of batch {batch + 1} "
        assert steps >= batch, (
            f"{said}came after {steps} steps, right is {batch}: its gradient then "
            "belongs to parameters that the steps in between have changed"
        )
        seen = next(forwards).parameters
        wrong = steps and seen and difference(seen, log.steps[steps - 1].parameters)
        assert not wrong, f"{said}saw old parameters: after step {steps} {wrong}"


@given(
    sizes=batch_sizes, seed=seeds, network=st.sampled_from(["linear", "mlp", "tied"])
)
@example(sizes=[4, 2, 3], seed=0, network="mlp")
@pytest.mark.needs(
    "a_step_follows_the_gradient_of_its_batch", "each_forward_sees_the_step_before"
)
def test_no_gradient_leaks(kata, sizes, seed, network):
    """Each update uses the gradient of its batch alone, in a second epoch too."""
    world = World([n for n in sizes if n], seed, network)
    right = right_epoch(world, epochs=2)

    run = world.train(kata.train_epoch, epochs=2)

    for index, (step, true) in enumerate(
        zip(run.log.steps, right.run.log.steps, strict=True)
    ):
        wrong = difference(step.parameters, true.parameters)
        assert wrong is None, (
            f"batches of {world.sizes} samples, two epochs: after update {index + 1} "
            f"{wrong}.{_leak(step, right.gradients[: index + 1])}"
        )


def _leak(step, gradients):
    """Say which earlier batches' gradients are in a step's, where it can be told."""
    alone = difference(step.gradients, gradients[-1])
    if alone is None:
        return "\nThe gradient was right, but the step did not follow it."
    for first in range(len(gradients) - 1):
        if same(step.gradients, total(gradients[first:])):
            return (
                f"\nThe gradient it used, {alone}, is that of batches {first + 1} to "
                f"{len(gradients)} added up: clear the gradients for each batch."
            )
    return (
        f"\nThe gradient it used, {alone}; right is that of this batch alone, at the "
        "parameters that the step before left."
    )


@given(sizes=batch_sizes, seed=seeds)
@example(sizes=[4, 2], seed=0)
@pytest.mark.needs(
    "a_step_follows_the_gradient_of_its_batch", "steps_once_for_each_batch"
)
def test_no_gradient_leaks_from_before_the_call(kata, sizes, seed):
    """A `.grad` that is there on entry has no part in the first update."""
    world = World([n for n in sizes if n], seed, stale=True)
    right = right_epoch(world)

    run = world.train(kata.train_epoch)

    first, true = run.log.steps[0], right.run.log.steps[0]
    wrong = difference(first.parameters, true.parameters)
    assert wrong is None, (
        f"every parameter came with a .grad of 7.0; after the first update {wrong}."
        "\nThe old gradient went into the update: clear before the first backward, not "
        "only after the steps."
    )


@given(sizes=batch_sizes, seed=seeds, at=st.integers(0, 5))
@example(sizes=[3, 0, 2], seed=0, at=3)
@example(sizes=[3, 2], seed=0, at=0)
@pytest.mark.needs("a_step_follows_the_gradient_of_its_batch")
def test_an_empty_batch_is_passed_over(kata, sizes, seed, at):
    """A batch without samples: no forward, no step, nothing in the mean."""
    world = World([*sizes[:at], 0, *sizes[at:]], seed, optimizer="momentum")
    right = right_epoch(world)

    run = world.train(kata.train_epoch)

    said = f"batches of {world.sizes} samples: "
    forwards = [forward.rows for forward in run.log.forwards if forward.rows == 0]
    assert not forwards, (
        f"{said}the model was called on {len(forwards)} empty batches; pass over a "
        "batch when len(targets) == 0"
    )
    steps, full = len(run.log.steps), len(right.sizes)
    assert steps == full, (
        f"{said}the optimizer stepped {steps} times, right is {full}: "
        + (
            "with momentum a step on an empty batch moves the model"
            if steps > full
            else "those after an empty one count as ever, so pass over it and go on"
        )
    )
    wrong = difference(run.parameters, right.run.parameters)
    assert wrong is None, f"{said}after the epoch {wrong}"
    assert not judging.is_nan(run.returned), (
        f"{said}you returned {shown(run.returned)}: the mean over nothing is NaN, and "
        "NaN times 0 is still NaN"
    )


@given(
    network=st.sampled_from(
        ["linear", "mlp", "dropout", "batchnorm", "frozen", "tied"]
    ),
    optimizer=st.sampled_from(["sgd", "momentum", "decay", "adam"]),
    sizes=paired_sizes,
    seed=seeds,
)
@example(network="batchnorm", optimizer="adam", sizes=[4, 2, 3], seed=0)
@example(network="dropout", optimizer="momentum", sizes=[4, 2, 3], seed=0)
@example(network="tied", optimizer="decay", sizes=[4, 2, 3], seed=0)
@example(network="frozen", optimizer="adam", sizes=[4, 2, 3], seed=0)
@pytest.mark.needs(
    "trains_in_train_mode", "no_gradient_leaks", "an_empty_batch_is_passed_over"
)
def test_trains_every_network_with_every_optimizer(
    kata, network, optimizer, sizes, seed
):
    """Two epochs end in the parameters and buffers of the plain loop."""
    world = World(sizes, seed, network, optimizer)
    right = right_epoch(world, epochs=2)

    run = world.train(kata.train_epoch, epochs=2)

    said = f"{network} network, {optimizer}, batches of {sizes} samples, two epochs: "
    wrong = difference(run.parameters, right.run.parameters)
    assert wrong is None, f"{said}at the end {wrong}{_since(run, right.run)}"
    wrong = difference(run.buffers, right.run.buffers)
    assert wrong is None, (
        f"{said}at the end {wrong}: each forward in train mode moves BatchNorm's "
        "statistics, so there must be one a batch"
    )


def test_batches_of_4_and_1_weigh_to_1_4(kata):
    """Mean losses of 1 on four samples and 3 on one: the loss is 1.4."""
    batches = [
        (logits_with_loss(loss).repeat(n, 1), torch.zeros(n, dtype=torch.long))
        for loss, n in ((1.0, 4), (3.0, 1))
    ]
    model = nn.Linear(2, 2, bias=False, dtype=torch.float64)
    nn.init.eye_(model.weight)
    optimizer = OPTIMIZERS["standstill"](list(model.parameters()))

    returned = kata.train_epoch(model, batches, optimizer)

    slips = {
        "That is (1 + 3) / 2, the mean of the batch means.": 2.0,
        "That is 4·1 + 1·3, divided by the number of batches.": 3.5,
        "That is 4·1 + 1·3, not divided by the five samples.": 7.0,
        "That is 1 + 3, the sum of the batch means.": 4.0,
        "That is (1 + 3) / 5: multiply each mean by its batch's size first.": 0.8,
        "That is the last batch's loss alone.": 3.0,
        "That is (4·1 + 4·3) / 5: the last batch has its own size.": 3.2,
    }
    assert is_close(returned, 1.4), (
        "batches of 4 and 1 samples with mean losses 1 and 3, learning rate 0: "
        f"the loss is (4·1 + 1·3) / 5 = 1.4, you returned {shown(returned)}."
        f"{hint(returned, slips)}"
    )


@given(sizes=batch_sizes, seed=seeds)
@example(sizes=[4, 0, 1], seed=0)
@example(sizes=[2, 5, 3], seed=1)
@example(sizes=[3, 1] * 30, seed=0)
@pytest.mark.needs("an_empty_batch_is_passed_over")
def test_mean_loss_weighs_every_sample_once(kata, sizes, seed):
    """The returned loss is a mean over samples, whatever the batches' sizes."""
    world = World(sizes, seed, optimizer="standstill")
    right = right_epoch(world)

    returned = world.train(kata.train_epoch).returned

    assert is_close(returned, right.mean_loss), (
        f"batches of {shown_sizes(sizes)} samples, learning rate 0: the mean loss is "
        f"{right.mean_loss:.4f}, you returned {shown(returned)}."
        f"{hint(returned, right.averaging_slips())}"
    )


@given(sizes=batch_sizes, seed=seeds)
@example(sizes=[4, 2], seed=0)
@pytest.mark.needs("mean_loss_weighs_every_sample_once", "no_gradient_leaks")
def test_loss_is_measured_before_each_update(kata, sizes, seed):
    """The returned loss is that of the forwards that trained, not of a later one."""
    world = World([n for n in sizes if n], seed)
    right = right_epoch(world)

    returned = world.train(kata.train_epoch).returned

    assert is_close(returned, right.mean_loss), (
        f"batches of {world.sizes} samples: measured before each update the mean loss "
        f"is {right.mean_loss:.4f}, you returned {shown(returned)}."
        f"{hint(returned, right.averaging_slips())}"
    )


def test_returns_a_float(kata):
    """What comes back is a Python float."""
    returned = World([3, 2]).train(kata.train_epoch).returned

    assert isinstance(returned, float), (
        f"train_epoch returned {shown(returned)}, a {type(returned).__name__}; "
        "asked is a float: loss.item() also lets the graph go"
    )


def test_keeps_no_graph(kata):
    """When a forward starts, no graph older than the batch just before is alive."""
    world = World([3, 2, 4, 1])
    watch = GraphWatch(build(world.network, world.seed), world.known())
    optimizer = OPTIMIZERS["sgd"](list(watch.parameters()))

    kata.train_epoch(watch, world.batches(), optimizer)

    for look in watch.looks:
        old = [batch for batch in look.graphs if batch < look.batch - 1]
        assert not old, (
            f"when batch {look.batch + 1} was forwarded, the graph of batch "
            f"{old[0] + 1} was still "
            "alive: what you add up or keep carries its history, so memory grows with "
            "each batch; add up loss.item() or a detached tensor"
        )


@given(sizes=batch_sizes, seed=seeds)
@example(sizes=[3, 2, 4], seed=0)
def test_batches_are_read_one_at_a_time(kata, sizes, seed):
    """A generator is enough, and batch k + 1 is asked for after batch k's step."""
    world = World([n for n in sizes if n], seed)
    run = world.begin()
    stream = Batches(world.batches(), run.log)

    kata.train_epoch(run.model, iter(stream), run.optimizer)

    done = 0
    for kind, batch in run.log.events:
        if kind == "asked":
            assert done == batch, (
                f"when batch {batch + 1} was asked for, {done} of the {batch} batches "
                "before had been stepped: take one, train on it, then ask for the next"
            )
        done += kind == "step"
    assert run.log.count("asked") == len(world.sizes), (
        f"{len(world.sizes)} batches were there, {run.log.count('asked')} were read"
    )


def test_batches_are_gone_through_once(kata):
    """A second pass over the batches would cost a second epoch."""
    world = World([3, 2])
    run = world.begin()
    stream = Batches(world.batches(), run.log)

    kata.train_epoch(run.model, stream, run.optimizer)

    assert stream.passes == 1, (
        f"the batches were gone through {stream.passes} times: one pass serves the "
        "training, the counting and the loss"
    )


def test_moves_batches_to_the_device(kata):
    """Features and targets come from another device and are moved with `.to`."""
    world = World([3, 2])
    run = world.begin()
    for device in ("cpu", torch.device("cpu")):
        batches = [(Elsewhere(x), Elsewhere(y)) for x, y in world.batches()]

        error = judging.error_of(
            lambda b=batches, d=device: kata.train_epoch(
                run.model, b, run.optimizer, device=d
            )
        )

        left = any(forward.elsewhere for forward in run.log.forwards)
        assert error is None, (
            "features and targets were on another device than the model, which is on "
            f"`device`: {shown_error(error)}\nThe "
            f"{'features reached the model' if left else 'targets seem to be'} where "
            "they were. `.to` returns a moved copy; both must be moved"
        )


@given(num_empty=st.integers(0, 3), network=st.sampled_from(["mlp", "batchnorm"]))
@example(num_empty=0, network="mlp")
@example(num_empty=2, network="mlp")
def test_empty_data_is_refused(kata, num_empty, network):
    """Without a sample: ValueError, no forward, no step, nothing changed."""
    world = World([0] * num_empty, 0, network, "decay", stale=True)
    before = world.begin()
    run = world.begin()

    error = judging.error_of(
        lambda: run.call(
            lambda: kata.train_epoch(run.model, iter(world.batches()), run.optimizer)
        )
    )

    said = f"{num_empty} empty batches" if num_empty else "no batch at all"
    ended = shown_error(error) if error else f"you returned {shown(run.returned)}"
    assert isinstance(error, ValueError), (
        f"{said}: {ended}; the mean of no losses does not exist, so raise ValueError"
    )
    assert not run.log.forwards, f"{said}: the model was called all the same"
    assert not run.log.steps, f"{said}: the optimizer stepped all the same"
    wrong = difference(run.parameters, parameters_of(before.model))
    assert wrong is None, f"{said}: the parameters changed, {wrong}"


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
    world = World(sizes, seed, network)
    run = world.begin()
    batches, copies = world.batches(), world.batches()

    kata.train_epoch(run.model, batches, run.optimizer)

    assert_features_came_through(run.log, copies)
    assert_batches_stay(batches, copies)
    assert_flags_stay(run.model, world.begin().model)


def test_global_state_stays(kata):
    """Torch's settings stay, and the random state is not re-seeded."""
    assert_global_state_stays(lambda: World([3, 2]).train(kata.train_epoch))


@given(seed=seeds, sizes=st.tuples(st.integers(1, 5), st.integers(1, 5)))
@example(seed=0, sizes=(4, 1))
@pytest.mark.needs("a_step_follows_the_gradient_of_its_batch")
def test_two_sgd_steps_match_numpy(kata, seed, sizes):
    """A linear model after two SGD steps is where softmax minus one-hot puts it."""
    world = World(sizes, seed, "linear")
    model = world.begin().model
    weight, bias = (p.detach().numpy().copy() for p in model.parameters())
    updates = []
    for features, targets in world.batches():
        slope = softmax_gradient(weight, bias, features.numpy(), targets.numpy())
        weight, bias = weight - 0.1 * slope[0], bias - 0.1 * slope[1]
        updates.append(slope)

    run = world.train(kata.train_epoch)

    right = {
        "net.weight": torch.from_numpy(weight),
        "net.bias": torch.from_numpy(bias),
    }
    wrong = difference(run.parameters, right)
    assert wrong is None, (
        f"two SGD steps by hand (softmax minus one-hot, mean over {sizes[0]}, then "
        f"over {sizes[1]} samples): at the end {wrong}"
    )
