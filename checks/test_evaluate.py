"""The properties of `evaluate`, one check a numbered claim of its statement."""

import math

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
from checks.evaluate_worlds import (
    GRAD_ADVICE,
    PassThrough,
    Right,
    call_broken,
    comes_from_the_break,
    enter,
    far_apart,
    grad_story,
    modes_story,
    nan_slip,
    near_slip,
    pair,
    story,
    without_end,
)
from checks.judging import difference, hint, is_close, shown, shown_error
from checks.oracles import logits_with_loss
from checks.recorders import (
    Batches,
    Elsewhere,
    buffers_of,
    gradients_of,
    parameters_of,
)
from checks.worlds import World, batch_sizes, seeds

square_sizes = st.lists(st.sampled_from([4, 1]), min_size=1, max_size=4)
"""As many samples as classes, or one: a slip in a shape is left to its own checks."""

plain_networks = st.sampled_from(["linear", "mlp", "frozen", "tied"])
all_networks = st.sampled_from(
    ["linear", "mlp", "frozen", "tied", "dropout", "batchnorm"]
)


def test_returns_loss_and_accuracy(kata):
    """What comes back is a tuple of two, the loss first."""
    world = World([4, 4], seed=7)
    right = Right(world)

    returned = world.evaluate(kata.evaluate).returned

    said = f"batches of {world.sizes} samples: you returned {shown(returned)}"
    assert isinstance(returned, tuple), (
        f"{said}, a {type(returned).__name__}; asked is a tuple: (loss, accuracy)"
    )
    assert len(returned) == 2, f"{said}; asked is a tuple of two: (loss, accuracy)"
    first, second = returned
    swapped = is_close(first, right.accuracy) and is_close(second, right.loss)
    assert not swapped or is_close(right.loss, right.accuracy), (
        f"{said}; that is (accuracy, loss), asked is (loss, accuracy)"
    )


@given(size=st.integers(1, 6), seed=seeds, network=plain_networks)
@example(size=4, seed=7, network="mlp")
@pytest.mark.needs("returns_loss_and_accuracy")
def test_loss_is_mean_cross_entropy(kata, size, seed, network):
    """One batch: the loss is the mean cross entropy of the raw logits."""
    world = World([size], seed, network)
    right = Right(world)

    loss, _ = pair(world.evaluate(kata.evaluate).returned)

    assert is_close(loss, right.loss), (
        f"one batch of {size} samples: its mean cross entropy is {right.loss:.4f}, you "
        f"returned a loss of {shown(loss)}."
        f"{hint(loss, right.batch_slips()) or near_slip(loss, right.loss)}"
    )


@given(size=st.integers(1, 6), seed=seeds, network=plain_networks)
@example(size=4, seed=7, network="mlp")
@pytest.mark.needs("returns_loss_and_accuracy")
def test_accuracy_is_the_share_of_right_predictions(kata, size, seed, network):
    """One batch: right predictions (largest logit) divided by samples."""
    world = World([size], seed, network)
    right = Right(world)

    _, accuracy = pair(world.evaluate(kata.evaluate).returned)

    assert is_close(accuracy, right.accuracy), (
        f"one batch of {size} samples, {right.num_right} predicted right: the accuracy "
        f"is {right.accuracy:.4f}, you returned {shown(accuracy)}."
        + (
            hint(accuracy, right.accuracy_slips())
            or near_slip(accuracy, right.accuracy)
        )
    )


@pytest.mark.needs(
    "loss_is_mean_cross_entropy", "accuracy_is_the_share_of_right_predictions"
)
@pytest.mark.needs("loss_is_mean_cross_entropy")
def test_logits_far_apart_are_measured_too(kata):
    """Logits hundreds apart have their loss, and an infinite loss is not left out."""
    batches, right = far_apart()

    loss, _ = pair(kata.evaluate(PassThrough(), batches))
    endless, accuracy = pair(kata.evaluate(PassThrough(), without_end()))

    assert is_close(loss, right), (
        f"logits such as [0, 900, 1000] with class 1: the mean loss is {right:.1f}, "
        f"you returned {shown(loss)}. exp overflows and softmax underflows there; "
        "cross entropy of the raw logits does not"
    )
    assert not math.isfinite(judging.number(endless)), (
        "a sample whose class has logit -inf has an infinite loss, so has the mean; "
        f"you returned {shown(endless)}: no sample may be left out of it"
    )
    assert is_close(accuracy, 0.5), (
        "of two samples one is right, the other has an infinite loss: the accuracy is "
        f"0.5, you returned {shown(accuracy)}"
    )


def test_batches_of_4_and_1_weigh_to_1_4(kata):
    """Mean losses 1 and 3, 3 of 4 and 0 of 1 right: loss 1.4, accuracy 0.6."""
    losses = ((0.2, 0.2, 0.2, 3.4), (3.0,))  # below log 2: predicted right
    batches = [
        (torch.stack([logits_with_loss(x) for x in row]), torch.zeros(len(row)).long())
        for row in losses
    ]
    model = nn.Linear(2, 2, bias=False, dtype=torch.float64)
    nn.init.eye_(model.weight)

    loss, accuracy = pair(kata.evaluate(model, batches))

    said = "batches of 4 and 1 samples, mean losses 1 and 3, 3 and 0 predicted right: "
    loss_slips = {
        "That is (1 + 3) / 2, the mean of the batch means.": 2.0,
        "That is 4·1 + 1·3, divided by the number of batches.": 3.5,
        "That is 4·1 + 1·3, not divided by the five samples.": 7.0,
        "That is 1 + 3, the sum of the batch means.": 4.0,
        "That is (1 + 3) / 5: multiply each mean by its batch's size first.": 0.8,
        "That is the last batch's loss alone.": 3.0,
    }
    assert is_close(loss, 1.4), (
        f"{said}the loss is (4·1 + 1·3) / 5 = 1.4, you returned {shown(loss)}."
        f"{hint(loss, loss_slips)}"
    )
    accuracy_slips = {
        "That is (3/4 + 0/1) / 2, the mean of the batch accuracies.": 0.375,
        "That is 3, the number of right predictions.": 3.0,
        "That is 3/4 + 0/1, the sum of the batch accuracies.": 0.75,
        "That is in percent; asked is a share between 0 and 1.": 60.0,
        "That is (3 + 0) / 2: divide by samples, not by batches.": 1.5,
        "That is the last batch's accuracy, or a division without its decimals.": 0.0,
    }
    assert is_close(accuracy, 0.6), (
        f"{said}the accuracy is (3 + 0) / 5 = 0.6, you returned {shown(accuracy)}."
        f"{hint(accuracy, accuracy_slips)}"
    )


@given(sizes=batch_sizes, seed=seeds)
@example(sizes=[4, 3], seed=32)
@example(sizes=[2, 5, 3], seed=9)
@example(sizes=[1] * 130, seed=0)
@pytest.mark.needs("loss_is_mean_cross_entropy")
def test_loss_weighs_every_sample_once(kata, sizes, seed):
    """The loss is a mean over samples, whatever the batches' sizes."""
    world = World([n for n in sizes if n], seed)
    right = Right(world)

    loss, _ = pair(world.evaluate(kata.evaluate).returned)

    assert is_close(loss, right.loss), (
        f"batches of {world.sizes} samples: the mean loss is {right.loss:.4f}, you "
        f"returned {shown(loss)}.{hint(loss, right.loss_slips())}"
    )


@given(sizes=batch_sizes, seed=seeds)
@example(sizes=[4, 3], seed=32)
@example(sizes=[2, 5, 3], seed=9)
@example(sizes=[1500, 3], seed=0)  # more right ones than eight bits can count
@pytest.mark.needs("accuracy_is_the_share_of_right_predictions")
def test_accuracy_weighs_every_sample_once(kata, sizes, seed):
    """The accuracy is right predictions over samples, whatever the batches' sizes."""
    world = World([n for n in sizes if n], seed)
    right = Right(world)

    _, accuracy = pair(world.evaluate(kata.evaluate).returned)

    assert is_close(accuracy, right.accuracy), (
        f"batches of {world.sizes} samples, {right.hits} predicted right: the accuracy "
        f"is {right.num_right}/{sum(world.sizes)} = {right.accuracy:.4f}, you returned "
        f"{shown(accuracy)}.{hint(accuracy, right.accuracy_slips())}"
    )


@pytest.mark.needs("returns_loss_and_accuracy")
def test_both_numbers_are_floats(kata):
    """Loss and accuracy are Python floats."""
    returned = World([4, 4], seed=32).evaluate(kata.evaluate).returned

    for what, value in zip(("loss", "accuracy"), returned, strict=True):
        assert isinstance(value, float), (
            f"the {what} is {shown(value)}, a {type(value).__name__}; asked is a "
            "float: .item() makes a number of a tensor"
        )


@given(sizes=batch_sizes, seed=seeds, at=st.integers(0, 5))
@example(sizes=[4, 3], seed=31, at=1)
@example(sizes=[4, 3], seed=31, at=0)
@pytest.mark.needs("loss_weighs_every_sample_once", "accuracy_weighs_every_sample_once")
def test_an_empty_batch_is_passed_over(kata, sizes, seed, at):
    """A batch without samples: no forward, nothing in the means."""
    world = World([*sizes[:at], 0, *sizes[at:]], seed)
    right = Right(world)

    run = world.evaluate(kata.evaluate)

    said = f"batches of {world.sizes} samples: "
    empty = sum(forward.rows == 0 for forward in run.log.forwards)
    assert not empty, (
        f"{said}the model was called on {empty} empty batches; pass over a batch when "
        "len(targets) == 0"
    )
    loss, accuracy = pair(run.returned)
    assert is_close(loss, right.loss), (
        f"{said}the mean loss is {right.loss:.4f}, you returned {shown(loss)}."
        f"{hint(loss, right.loss_slips())}{nan_slip(loss)}"
    )
    assert is_close(accuracy, right.accuracy), (
        f"{said}the accuracy is {right.accuracy:.4f}, you returned {shown(accuracy)}."
        f"{hint(accuracy, right.accuracy_slips())}{nan_slip(accuracy)}"
    )


@given(sizes=square_sizes, seed=seeds, network=plain_networks)
@example(sizes=[4, 4, 1], seed=0, network="mlp")
def test_calls_the_model_once_a_batch(kata, sizes, seed, network):
    """One forward a batch, in order, serves the loss and the accuracy."""
    world = World(sizes, seed, network)

    run = world.evaluate(kata.evaluate)

    calls = [forward.batch for forward in run.log.forwards]
    rows = [forward.rows for forward in run.log.forwards]
    in_order = all(batch in (index, None) for index, batch in enumerate(calls))
    assert (in_order, rows) == (True, list(world.sizes)), (
        f"batches of {world.sizes} samples: the model was called {len(calls)} times, "
        f"on {rows} rows; right is {len(world.sizes)} times, once for each batch as it "
        "came, in order. The same logits give the loss and the predictions."
    )


@given(
    sizes=square_sizes,
    seed=seeds,
    network=st.sampled_from(["mlp", "dropout", "batchnorm", "frozen"]),
    entry=st.sampled_from(["train", "eval", "one child in train"]),
)
@example(sizes=[4, 4], seed=0, network="dropout", entry="train")
@example(sizes=[4, 4], seed=0, network="dropout", entry="one child in train")
def test_evaluates_in_eval_mode(kata, sizes, seed, network, entry):
    """Every module is in eval mode in every forward, whatever mode it came in."""
    world = World(sizes, seed, network)
    run = enter(world, entry)

    with torch.set_grad_enabled(True):
        kata.evaluate(run.model, world.batches())

    for number, forward in enumerate(run.log.forwards, start=1):
        assert not any(forward.training), (
            f"the model came with {modes_story(entry)}; in forward {number} of "
            f"{len(run.log.forwards)} "
            f"{modules_in(run.model, forward.training, training=True)} in train "
            "mode, so dropout drops and BatchNorm uses and moves its statistics: "
            "model.eval(), called on the whole model, goes before the first forward"
        )


@given(
    network=st.sampled_from(["mlp", "dropout", "batchnorm", "frozen"]),
    entry=st.sampled_from(["train", "eval", "one child in train"]),
)
@example(network="dropout", entry="train")
@example(network="dropout", entry="eval")
@pytest.mark.needs("evaluates_in_eval_mode")
def test_leaves_the_model_in_eval_mode(kata, network, entry):
    """Afterwards every module is in eval mode, also when it came in train mode."""
    world = World([4, 4], 0, network)
    run = enter(world, entry)

    with torch.set_grad_enabled(True):
        kata.evaluate(run.model, world.batches())

    modes = [module.training for module in run.model.modules()]
    assert not any(modes), (
        f"the model came with {modes_story(entry)}; after the evaluation "
        f"{modules_in(run.model, modes, training=True)} "
        "in train mode. Here the caller is promised eval "
        "mode: do not put an old mode back, and set it on the model that was handed in"
    )


breakages = st.tuples(st.sampled_from(["batch", "model"]), st.integers(0, 2))


@given(breakage=breakages, network=st.sampled_from(["mlp", "dropout"]))
@example(breakage=("batch", 1), network="dropout")
@example(breakage=("model", 0), network="dropout")
@example(breakage=("batch", 0), network="dropout")
@pytest.mark.needs("evaluates_in_eval_mode", "leaves_the_model_in_eval_mode")
def test_eval_mode_survives_an_error(kata, breakage, network):
    """Every module is left in eval mode when a batch or the model raises."""
    broken = call_broken(kata, World([4, 4, 4], 0, network), breakage)

    modes = [module.training for module in broken.model.modules()]
    assert not any(modes), (
        f"the model came in train mode, and {story(breakage)}; afterwards "
        f"{modules_in(broken.model, modes, training=True)} "
        "in train mode: model.eval() goes before the "
        "first batch is asked for, and nothing undoes it"
    )


@given(sizes=square_sizes, seed=seeds, network=plain_networks)
@example(sizes=[4, 4], seed=0, network="mlp")
def test_no_gradient_is_recorded(kata, sizes, seed, network):
    """Gradients are switched off in every forward."""
    world = World(sizes, seed, network)

    run = world.evaluate(kata.evaluate)

    for number, forward in enumerate(run.log.forwards, start=1):
        assert not forward.grad_enabled, (
            f"in forward {number} of {len(run.log.forwards)} torch.is_grad_enabled() "
            "was True: autograd keeps every activation for a backward that never "
            "comes. The call of the model itself must be under torch.no_grad()"
        )


@given(grad=st.booleans())
@example(grad=True)
@example(grad=False)
def test_grad_mode_is_as_before(kata, grad):
    """The caller's grad mode, on or off, is afterwards as it was."""
    world = World([4, 4])
    run = world.begin()

    with torch.set_grad_enabled(grad):
        kata.evaluate(run.model, world.batches())
        after = torch.is_grad_enabled()
        inference = torch.is_inference_mode_enabled()

    assert after == grad, f"{grad_story(grad, after)}.{GRAD_ADVICE[after]}"
    assert not inference, (
        "you left torch's inference mode on: what the caller computes from now on can "
        "never be trained on; enter it with `with`, or as a decorator"
    )


@given(breakage=breakages, grad=st.booleans())
@example(breakage=("batch", 1), grad=True)
@example(breakage=("batch", 1), grad=False)
@example(breakage=("model", 0), grad=True)
@pytest.mark.needs("grad_mode_is_as_before")
def test_grad_mode_survives_an_error(kata, breakage, grad):
    """The caller's grad mode is as it was when a batch or the model raises."""
    broken = call_broken(kata, World([4, 4, 4]), breakage, grad)

    assert broken.grad_after == grad, (
        f"{story(breakage)}: {grad_story(grad, broken.grad_after)}."
        f"{GRAD_ADVICE[broken.grad_after]} `with torch.no_grad():`, a decorator or "
        "try/finally also undo it on the way out of an exception"
    )
    assert not broken.inference_after, (
        f"{story(breakage)}, and torch's inference mode was still on afterwards"
    )


@given(breakage=breakages)
@example(breakage=("batch", 1))
@example(breakage=("model", 1))
def test_errors_reach_the_caller(kata, breakage):
    """What the batches or the model raise comes through."""
    broken = call_broken(kata, World([4, 4, 4]), breakage)

    end = shown_error(broken.error)
    assert broken.error is not None, (
        f"{story(breakage)}; you returned {shown(broken.returned)} as if nothing had "
        "happened: that is no measure of the data that was handed in. Let the "
        "exception through"
    )
    assert comes_from_the_break(broken.error), (
        f"{story(breakage)}; {end}, from which the caller cannot "
        "tell what happened. Let the exception through"
    )


def test_no_kind_of_error_is_swallowed(kata):
    """Whatever the model raises comes through: want of memory, a wrong value, a key."""
    for kind in (torch.OutOfMemoryError, ValueError, KeyError, TypeError):
        broken = call_broken(kata, World([4, 4, 4]), ("model", 1), kind=kind)

        assert broken.error is not None, (
            f"the model raised {kind.__name__} on batch 2 of 3; you returned "
            f"{shown(broken.returned)} as if nothing had happened: a batch that fails "
            "is no batch to leave out. Let the exception through"
        )


@given(sizes=square_sizes, seed=seeds, network=all_networks, stale=st.booleans())
@example(sizes=[4, 4], seed=0, network="batchnorm", stale=True)
@example(sizes=[4, 4], seed=0, network="frozen", stale=False)
@pytest.mark.needs("evaluates_in_eval_mode")
def test_nothing_of_the_model_changes(kata, sizes, seed, network, stale):
    """Parameters, buffers, every `.grad` and every `requires_grad` stay."""
    world = World(sizes, seed, network, stale=stale)
    before, run = world.begin().model, world.begin()

    with torch.set_grad_enabled(True):
        kata.evaluate(run.model, world.batches())

    said = f"{network} network, batches of {sizes} samples: afterwards "
    for kind, state in (("parameter", parameters_of), ("buffer", buffers_of)):
        wrong = difference(state(run.model), state(before))
        assert wrong is None, f"{said}the {kind} {wrong}: an evaluation only looks"
    _look_at_gradients(said, gradients_of(run.model), gradients_of(before))
    assert_flags_stay(run.model, before)


def _look_at_gradients(said, gradients, right):
    """Gradients that were there stay, and none appears."""
    gone = sorted(right.keys() - gradients.keys())
    assert not gone, (
        f"{said}the .grad of {', '.join(gone)} is None, it was full of 7.0: gradients "
        "are the caller's, who may be in the middle of an accumulation"
    )
    new = sorted(gradients.keys() - right.keys())
    assert not new, (
        f"{said}{', '.join(new)} has a .grad, it had none: an evaluation runs no "
        "backward"
    )
    wrong = difference(gradients, right)
    assert wrong is None, (
        f"{said}the .grad of {wrong}: gradients are the caller's, neither cleared nor "
        "added to"
    )


@given(
    sizes=square_sizes, seed=seeds, network=st.sampled_from(["dropout", "batchnorm"])
)
@example(sizes=[4, 4], seed=0, network="dropout")
@example(sizes=[4, 1], seed=0, network="batchnorm")
@pytest.mark.needs("returns_loss_and_accuracy")
def test_evaluation_repeats_itself_under_dropout(kata, sizes, seed, network):
    """Called twice, with a training mode in between, it returns the same."""
    world = World([*sizes, 4], seed, network)
    run = world.begin()

    returned = []
    with torch.set_grad_enabled(True):
        for _ in range(2):
            run.model.train()
            returned.append(pair(kata.evaluate(run.model, world.batches())))

    first, again = returned
    dropped = any(any(forward.training) for forward in run.log.forwards)
    for what, one, two in zip(("loss", "accuracy"), first, again, strict=True):
        assert is_close(two, judging.number(one)), (
            f"{network} network, batches of {world.sizes} samples, evaluated twice: "
            f"the {what} was {shown(one)}, then {shown(two)}. "
            + (
                "Modules were in train mode."
                if dropped
                else "What does your code keep from one call to the next?"
            )
        )


@given(sizes=square_sizes, seed=seeds)
@example(sizes=[4, 4, 1], seed=0)
def test_batches_are_read_one_at_a_time(kata, sizes, seed):
    """A generator is enough, and batch k + 1 is asked for after batch k's forward."""
    world = World(sizes, seed)
    run = world.begin()
    stream = Batches(world.batches(), run.log)

    with torch.set_grad_enabled(True):
        kata.evaluate(run.model, iter(stream))

    done = 0
    for kind, batch in run.log.events:
        if kind == "asked":
            assert done >= batch, (
                f"when batch {batch + 1} was asked for, {done} of the {batch} batches "
                "before had been forwarded: take one, forward it, then ask for the "
                "next; all of them together may not fit into memory"
            )
        done += kind == "forward"
    assert run.log.count("asked") == len(world.sizes), (
        f"{len(world.sizes)} batches were there, {run.log.count('asked')} were read"
    )


def test_batches_are_gone_through_once(kata):
    """A second pass over the batches would find a generator empty."""
    world = World([4, 4])
    run = world.begin()
    stream = Batches(world.batches(), run.log)

    kata.evaluate(run.model, stream)

    assert stream.passes == 1, (
        f"the batches were gone through {stream.passes} times: one pass serves the "
        "counting, the loss and the accuracy"
    )


def test_moves_batches_to_the_device(kata):
    """Features and targets come from another device and are moved with `.to`."""
    world = World([4, 4])
    cases = (
        ("features", "cpu", Elsewhere, torch.clone),
        ("targets", torch.device("cpu"), torch.clone, Elsewhere),
    )
    for what, device, put_x, put_y in cases:
        batches = [(put_x(x), put_y(y)) for x, y in world.batches()]
        model = world.begin().model

        error = judging.error_of(
            lambda m=model, b=batches, d=device: kata.evaluate(m, b, device=d)
        )

        assert error is None, (
            f"the {what} were on another device than the model, which is on `device`, "
            f"{device!r}: {shown_error(error)}\nMove them, and keep what `.to` "
            f"returns: {what} = {what}.to(device)"
        )


@given(num_empty=st.integers(0, 3), network=st.sampled_from(["mlp", "batchnorm"]))
@example(num_empty=0, network="mlp")
@example(num_empty=2, network="mlp")
def test_empty_data_is_refused(kata, num_empty, network):
    """Without a sample: ValueError, no forward, nothing changed."""
    world = World([0] * num_empty, 0, network)
    before, run = world.begin().model, world.begin()

    error = judging.error_of(
        lambda: run.call(lambda: kata.evaluate(run.model, iter(world.batches())))
    )

    said = f"{num_empty} empty batches" if num_empty else "no batch at all"
    ended = shown_error(error) if error else f"it returned {shown(run.returned)}"
    assert isinstance(error, ValueError), (
        f"{said}: {ended}; the mean of nothing does not exist, and a 0 or NaN would "
        "pass for a result, so raise ValueError"
    )
    assert not run.log.forwards, f"{said}: the model was called all the same"
    for state in (parameters_of, buffers_of):
        wrong = difference(state(run.model), state(before))
        assert wrong is None, f"{said}: the model changed, {wrong}"


@given(sizes=square_sizes, seed=seeds)
@example(sizes=[4, 4], seed=0)
def test_inputs_stay_as_they_came(kata, sizes, seed):
    """Features reach the model in their dtype and shape; no input is changed."""
    world = World(sizes, seed)
    run, batches, copies = world.begin(), world.batches(), world.batches()

    with torch.set_grad_enabled(True):
        kata.evaluate(run.model, batches)

    assert_features_came_through(run.log, copies)
    assert_batches_stay(batches, copies)


def test_global_state_stays(kata):
    """Torch's settings stay, and the random state is not re-seeded."""
    assert_global_state_stays(lambda: World([4, 4]).evaluate(kata.evaluate))
