"""The properties of `checkpoint`, one check a numbered claim of its statement."""

import copy
import io
import os
import re

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn

from checks import judging
from checks.checkpoint_files import (
    NO_SUCH_GPU,
    PathWatch,
    Payload,
    Peek,
    Place,
    Unpicklable,
    folder,
    listing,
    written_on_a_gpu,
)
from checks.checkpoint_worlds import (
    KEYS,
    MODEL_MISFITS,
    OTHER_MISFITS,
    SCALERS,
    SCHEDULERS,
    Training,
    difference,
)
from checks.claims import assert_global_state_stays
from checks.judging import error_of, shown, shown_error

networks = st.sampled_from(["mlp", "batchnorm", "tied", "frozen"])
optimizers = st.sampled_from(["momentum", "adam"])
schedulers = st.sampled_from(sorted(SCHEDULERS))
maybe_schedulers = st.sampled_from([None, "lambda"])
maybe_scalers = st.sampled_from([None, *SCALERS])

fewer = settings(max_examples=8)  # where an example trains, saves and loads


def test_file_is_read_with_weights_only(kata):
    """The file is one dict that `torch.load(path, weights_only=True)` reads."""
    parts = Training().trained(1)

    with folder() as place:
        _save(kata, place / "last.pt", parts)
        _read(place / "last.pt")


@given(scheduler=maybe_schedulers, scaler=maybe_scalers)
@example(scheduler="lambda", scaler="on")
@example(scheduler=None, scaler=None)
@example(scheduler=None, scaler="disabled")
@pytest.mark.needs("file_is_read_with_weights_only")
def test_file_holds_the_named_keys(kata, scheduler, scaler):
    """A key for each object that was given, and none for one that was not."""
    parts = Training("mlp", "momentum", scheduler, scaler).trained(1)

    with folder() as place:
        _save(kata, place / "last.pt", parts)
        content = _read(place / "last.pt")

    given_keys = [KEYS[name] for name in parts.given()]
    said = f"saved with {', '.join(parts.given())}: the file's keys are {list(content)}"
    for key in ("epoch", "best_metric", *given_keys):
        assert key in content, f"{said}; `{key}` is not there"
    for key in KEYS.values():
        assert key in given_keys or key not in content, (
            f"{said}; `{key}` is there though no such object was given: leave the key "
            "out, a None would be taken for a state"
        )


@fewer
@given(epoch=st.integers(0, 100), best=st.floats(-10, 10))
@example(epoch=7, best=0.25)
@example(epoch=0, best=0.0)
@example(epoch=1, best=float("inf"))
@example(epoch=1, best=float("-inf"))
@pytest.mark.needs("file_holds_the_named_keys")
def test_file_holds_epoch_and_best_metric(kata, epoch, best):
    """Both stand in the file as they were given; zero and infinity are values too."""
    parts = Training("linear", "sgd", None, None).fresh()

    with folder() as place:
        _save(kata, place / "last.pt", parts, epoch, best)
        content = _read(place / "last.pt")

    for key, right in (("epoch", epoch), ("best_metric", best)):
        value = content.get(key)
        assert judging.number(value) == right, (
            f"saved with epoch={epoch}, best_metric={best}: the file's {key} is "
            f"{shown(value)}, right is {right}{_number_slip(value, right)}"
        )


@fewer
@given(
    network=networks,
    optimizer=optimizers,
    scheduler=schedulers,
    steps=st.integers(1, 5),
)
@example(network="batchnorm", optimizer="adam", scheduler="lambda", steps=4)
@example(network="tied", optimizer="momentum", scheduler="onecycle", steps=4)
@pytest.mark.needs("file_holds_the_named_keys")
def test_file_holds_every_state_whole(kata, network, optimizer, scheduler, steps):
    """What stands under the keys, loaded by torch, makes fresh objects like the old."""
    world = Training(network, optimizer, scheduler)
    parts, fresh = world.trained(steps), world.fresh(seed=1)
    right, untouched = parts.states(), fresh.states()

    with folder() as place:
        _save(kata, place / "last.pt", parts)
        content = _read(place / "last.pt")

    for name, part in fresh.given().items():
        key = KEYS[name]
        said = f"{network} network, {optimizer}, {steps} steps: the file's {key} "
        error = error_of(lambda p=part, k=key: p.load_state_dict(content[k]))
        assert error is None, (
            f"{said}cannot be loaded into a fresh {name} by load_state_dict: "
            f"{shown_error(error)}: {_tail(error)}"
        )
        got = fresh.states()[key]
        wrong = difference(got, right[key], at=key)
        assert wrong is None, (
            f"{said}makes a fresh {name} where {wrong}"
            f"{_fresh_slip(got, untouched[key], name)}"
        )


@fewer
@given(epoch=st.integers(0, 100), best=st.floats(-10, 10))
@example(epoch=7, best=0.25)
@example(epoch=0, best=0.0)
@example(epoch=1, best=float("inf"))
@example(epoch=1, best=float("-inf"))
@pytest.mark.needs("file_holds_epoch_and_best_metric")
def test_loading_returns_epoch_and_best_metric(kata, epoch, best):
    """A dict of these two as they were saved, and of nothing else."""
    world = Training("linear", "sgd", None, None)
    content = {**world.content(0, epoch, best), "git": "1a2b3c"}

    with folder() as place:
        torch.save(content, place / "last.pt")
        returned = kata.load_checkpoint(place / "last.pt", model=world.fresh().model)

    said = f"the file's epoch is {epoch}, its best_metric {best}: "
    assert isinstance(returned, dict), (
        f"{said}load_checkpoint returned {shown(returned)}, asked is a dict"
    )
    assert sorted(map(str, returned)) == ["best_metric", "epoch"], (
        f"{said}the dict that you returned has the keys {sorted(map(str, returned))}, "
        "asked are `epoch` and `best_metric`, and nothing else"
    )
    for key, right, kind in (("epoch", epoch, int), ("best_metric", best, float)):
        value = returned.get(key)
        assert judging.number(value) == right, (
            f"{said}you returned {key} {shown(value)}{_number_slip(value, right)}"
        )
        assert isinstance(value, kind), (
            f"{said}you returned {key} as a {type(value).__name__}, asked is "
            f"{kind.__name__}"
        )


@fewer
@given(
    network=networks,
    optimizer=optimizers,
    scheduler=schedulers,
    scaler=maybe_scalers,
    steps=st.integers(1, 5),
)
@example("batchnorm", "adam", "lambda", "on", 4)
@example("tied", "momentum", "onecycle", "on", 4)
@example("frozen", "adam", "sequential", "disabled", 2)
@pytest.mark.needs("file_holds_the_named_keys")
def test_loading_restores_every_object(
    kata, network, optimizer, scheduler, scaler, steps
):
    """A file with the named keys, and more, sets each object that is given."""
    world = Training(network, optimizer, scheduler, scaler)
    fresh, right = world.fresh(seed=1), world.states(steps)
    untouched = fresh.states()

    with folder() as place:
        torch.save({**world.content(steps), "notes": ["mine"]}, place / "last.pt")
        kata.load_checkpoint(place / "last.pt", **fresh.given())

    said = f"{network} network, {optimizer}, {scheduler} schedule, {steps} steps: "
    states = fresh.states()
    for name in fresh.given():
        key, got = KEYS[name], states[KEYS[name]]
        wrong = difference(got, right[key], at=key)
        assert wrong is None, (
            f"{said}after loading into fresh objects {wrong}"
            f"{_fresh_slip(got, untouched[key], name)}"
        )


@pytest.mark.needs("loading_restores_every_object")
def test_parameters_stay_the_same_objects(kata):
    """The values go into the parameters that are there: the optimizer holds them."""
    world = Training("tied", "momentum")
    fresh = world.fresh(seed=1)
    before = dict(fresh.model.named_parameters(remove_duplicate=False))

    with folder() as place:
        torch.save(world.content(2), place / "last.pt")
        kata.load_checkpoint(place / "last.pt", **fresh.given())

    after = dict(fresh.model.named_parameters(remove_duplicate=False))
    for name, parameter in before.items():
        assert after.get(name) is parameter, (
            f"after loading, {name} is another Parameter object than before: the "
            "optimizer still steps the old one, so the model would never train again. "
            "Copy the values into the parameters that are there"
        )
    held = [p for group in fresh.optimizer.param_groups for p in group["params"]]
    mine = {id(parameter) for parameter in before.values()}
    assert all(id(parameter) in mine for parameter in held), (
        "after loading, the optimizer holds other parameters than the model's"
    )


@pytest.mark.needs("file_holds_the_named_keys")
def test_momentum_carries_on_by_1_9(kata):
    """A gradient of 1, lr 1, momentum 0.9: the step after the cut is −1.9, not −1."""

    def fresh():
        weight = nn.ParameterDict({"weight": nn.Parameter(torch.zeros(()))})
        return weight, torch.optim.SGD(weight.parameters(), lr=1.0, momentum=0.9)

    def step(model, optimizer):
        before = model["weight"].item()
        model["weight"].grad = torch.ones(())
        optimizer.step()
        return model["weight"].item() - before

    (model, optimizer), (model_2, optimizer_2) = fresh(), fresh()
    step(model, optimizer)

    with folder() as place:
        path = place / "last.pt"
        kata.save_checkpoint(
            path, model=model, optimizer=optimizer, epoch=0, best_metric=0.0
        )
        kata.load_checkpoint(path, model=model_2, optimizer=optimizer_2)

    moves = []
    error = error_of(lambda: moves.append(step(model_2, optimizer_2)))

    said = (
        "SGD with lr 1 and momentum 0.9, a gradient of 1, one step before the "
        "checkpoint: the step after it is −(0.9·1 + 1) = −1.9, yours "
    )
    assert error is None, f"{said}{shown_error(error).removeprefix('it ')}"
    slips = {
        "That is a step without any momentum.": -1.0,
        "The model did not move: the optimizer steps other parameters than its.": 0.0,
    }
    assert judging.is_close(moves[0], -1.9), (
        f"{said}was {moves[0]:.4g}{judging.hint(moves[0], slips)}"
    )


@given(network=st.sampled_from(["batchnorm", "frozen"]), training=st.booleans())
@example(network="batchnorm", training=True)
@example(network="frozen", training=False)
@pytest.mark.needs("file_holds_every_state_whole", "loading_restores_every_object")
def test_nothing_else_of_the_objects_changes(kata, network, training):
    """Saving only reads the objects, loading the file; modes and flags stay."""
    world = Training(network, "momentum")
    parts = world.trained(2)
    parts.model.train(training)
    list(parts.model.children())[1].train(not training)
    before, parameters = parts.states(), list(parts.model.parameters())
    flags = _flags(parts.model)

    with folder() as place:
        _save(kata, place / "last.pt", parts)
        changed = parts.changed(before, parameters)
        after_save, saved = _flags(parts.model), (place / "last.pt").read_bytes()
        kata.load_checkpoint(place / "last.pt", **parts.given())
        path = place / "last.pt"
        kept = path.exists() and path.read_bytes() == saved

    assert changed is None, f"after saving, {changed}: a save only reads"
    assert kept, "after loading, the file is not what it was: a load only reads"
    for what, after in (("saving", after_save), ("loading", _flags(parts.model))):
        for name, flag in flags.items():
            assert after.get(name) == flag, (
                f"before {what} {name} was {flag}, now it is {after.get(name)}: the "
                "caller sets it, a checkpoint does not hold it"
            )


@fewer
@given(
    network=networks,
    optimizer=optimizers,
    scheduler=st.sampled_from([None, *SCHEDULERS]),
    scaler=maybe_scalers,
    cut=st.integers(1, 4),
)
@example("batchnorm", "adam", "lambda", "on", 4)
@example("tied", "momentum", "onecycle", "on", 2)
@example("mlp", "momentum", "sequential", None, 2)
@pytest.mark.needs(
    "file_holds_every_state_whole",
    "loading_restores_every_object",
    "parameters_stay_the_same_objects",
    "nothing_else_of_the_objects_changes",
)
def test_training_goes_on_bit_for_bit(kata, network, optimizer, scheduler, scaler, cut):
    """A run that is cut and resumed ends where the uninterrupted one does."""
    world = Training(network, optimizer, scheduler, scaler)
    first, second, right = world.trained(cut), world.fresh(1), world.states(cut + 3)

    with folder() as place:
        _save(kata, place / "last.pt", first)
        kata.load_checkpoint(place / "last.pt", **second.given())
    error = error_of(lambda: world.train(second, range(cut, cut + 3)))

    said = (
        f"{network} network, {optimizer}, {scheduler} schedule, {scaler} scaler; "
        f"{cut} steps, save, load into fresh objects, 3 steps more: "
    )
    assert error is None, (
        f"{said}training {shown_error(error).removeprefix('it ')}. Something was set "
        "by another way than its load_state_dict"
    )
    wrong = difference(second.states(), right)
    assert wrong is None, f"{said}{wrong}, where the run without a break ends"


@given(asked=st.sets(st.sampled_from(["optimizer", "scheduler", "scaler"])))
@example(asked=set())
@example(asked={"scheduler"})
@pytest.mark.needs("loading_restores_every_object")
def test_states_not_asked_for_are_passed_over(kata, asked):
    """Whatever the file holds, or does not hold, for an object that is not given."""
    world = Training("mlp", "momentum")
    fresh = world.fresh(seed=1)
    content = world.content(2)
    unasked = [KEYS[name] for name in KEYS if name not in {"model", *asked}]
    lacking, odd = {**content}, {**content}
    for key in unasked:
        del lacking[key]
        odd[key] = {"of": "another kind"}
    arguments = {n: p for n, p in fresh.given().items() if n in {"model", *asked}}
    before = fresh.states()

    with folder() as place:
        for content_now, said in (
            (lacking, "is not in the file"),
            (odd, "does not fit"),
        ):
            torch.save(content_now, place / "last.pt")
            error = error_of(
                lambda: kata.load_checkpoint(place / "last.pt", **arguments)
            )
            assert error is None, (
                f"asked for {', '.join(arguments)}; what is not asked for "
                f"({', '.join(unasked)}) {said}: {shown_error(error)}, but nobody "
                "needs it here"
            )

    for key in unasked:
        wrong = difference(fresh.states()[key], before[key], "was", key)
        assert wrong is None, f"{key} was not asked for, yet {wrong}"


@given(missing=st.sampled_from(sorted(KEYS)))
@example(missing="scheduler")
@example(missing="optimizer")
@example(missing="scaler")
@example(missing="model")
@pytest.mark.needs("loading_restores_every_object")
def test_a_missing_state_is_a_key_error(kata, missing):
    """A state that is asked for and not in the file: KeyError that names the key."""
    world = Training("mlp", "momentum")
    parts, key = world.trained(2, seed=1), KEYS[missing]
    content = world.content(2)
    del content[key]

    error, changed = _load(kata, content, parts)

    said = f"the file has no {key}, and a {missing} is given: "
    assert isinstance(error, KeyError), (
        f"{said}{shown_error(error)}, asked is a KeyError: a run that resumes "
        "without it goes wrong in silence"
    )
    assert key in str(error), f"{said}the KeyError says {error}, not `{key}`"
    assert changed is None, f"{said}{_half_done(error, changed)}"


@fewer
@given(
    misfit=st.sampled_from(sorted(MODEL_MISFITS)),
    network=st.sampled_from(["mlp", "tied"]),
)
@example(misfit="wider", network="mlp")
@example(misfit="prefixed", network="mlp")
@example(misfit="one short", network="mlp")
@example(misfit="one more", network="mlp")
@example(misfit="one row", network="mlp")
@example(misfit="transposed", network="mlp")
@pytest.mark.needs("loading_restores_every_object")
def test_a_model_that_does_not_fit_is_refused(kata, misfit, network):
    """Another name or shape: RuntimeError, and not a layer has changed."""
    world = Training(network, "momentum")
    parts = world.trained(2, seed=1)
    content = world.content(2)
    words, spoil = MODEL_MISFITS[misfit]
    spoil(content["model_state_dict"])

    error, changed = _load(kata, content, parts)

    said = f"the model state in the file {words}: "
    assert isinstance(error, RuntimeError), (
        f"{said}{shown_error(error)}, asked is a RuntimeError, as the strict "
        "load_state_dict raises it"
    )
    assert changed is None, f"{said}{_half_done(error, changed)}"


@given(misfit=st.sampled_from(sorted(OTHER_MISFITS)))
@example(misfit="another group")
@example(misfit="another kind")
@example(misfit="disabled")
@pytest.mark.needs("loading_restores_every_object")
def test_another_state_that_does_not_fit_raises(kata, misfit):
    """What torch raises for it comes through, and nothing has changed."""
    world = Training("mlp", "momentum", "sequential")
    parts = world.trained(2, seed=1)
    content = world.content(2)
    name, words, spoil = OTHER_MISFITS[misfit]
    spoil(content)
    state = copy.deepcopy(content[KEYS[name]])
    right = error_of(lambda: world.fresh().given()[name].load_state_dict(state))

    error, changed = _load(kata, content, parts)

    said = f"the {name} state in the file {words}: "
    assert isinstance(error, type(right)), (
        f"{said}{shown_error(error)}, torch's load_state_dict raises "
        f"{type(right).__name__}: let it come through"
    )
    assert changed is None, f"{said}{_half_done(error, changed)}"


@given(others=st.sets(st.sampled_from(["another group", "another kind"]), min_size=1))
@example(others={"another group"})
@pytest.mark.needs("a_model_that_does_not_fit_is_refused")
def test_the_model_is_checked_first(kata, others):
    """Where other states do not fit either, the error is the model's."""
    world = Training("mlp", "momentum", "sequential")
    parts = world.trained(2, seed=1)
    content = world.content(2)
    MODEL_MISFITS["wider"][1](content["model_state_dict"])
    for misfit in sorted(others):
        OTHER_MISFITS[misfit][2](content)

    error, changed = _load(kata, content, parts)

    names = sorted({OTHER_MISFITS[misfit][0] for misfit in others})
    said = f"neither the model nor the {' and the '.join(names)} in the file fits: "
    assert isinstance(error, RuntimeError), (
        f"{said}{shown_error(error)}, asked is the RuntimeError of the model, which is "
        "checked before the others"
    )
    assert changed is None, f"{said}{_half_done(error, changed)}"


@fewer
@given(
    model=st.sampled_from(["fits", "wider", "missing"]),
    optimizer=st.sampled_from(["fits", "another group", "missing", "not asked"]),
    scheduler=st.sampled_from(["fits", "another stage", "missing", "not asked"]),
    scaler=st.sampled_from(["fits", "half", "disabled", "missing", "not asked"]),
)
@example("fits", "fits", "fits", "half")
@example("fits", "fits", "another stage", "fits")
@example("fits", "fits", "fits", "missing")
@pytest.mark.needs(
    "a_missing_state_is_a_key_error",
    "a_model_that_does_not_fit_is_refused",
    "another_state_that_does_not_fit_raises",
)
def test_loading_is_all_or_nothing(kata, model, optimizer, scheduler, scaler):
    """Whatever is wrong with whichever state: all objects are set, or none."""
    world = Training("batchnorm", "adam", "sequential")
    parts = world.trained(2, seed=1)
    content, right = world.content(3), world.states(3)
    ways = dict(zip(KEYS, (model, optimizer, scheduler, scaler), strict=True))
    asked = {n: p for n, p in parts.given().items() if ways[n] != "not asked"}
    for name, way in ways.items():
        if way == "missing":
            del content[KEYS[name]]
        elif name == "model" and way != "fits":
            MODEL_MISFITS[way][1](content["model_state_dict"])
        elif way in OTHER_MISFITS:
            OTHER_MISFITS[way][2](content)

    error, changed = _load(kata, content, parts, asked)

    wrong = {n: way for n, way in ways.items() if way not in ("fits", "not asked")}
    said = f"in the file are {', '.join(f'{n}: {w}' for n, w in ways.items())}; "
    if wrong:
        assert error is not None, f"{said}{shown_error(None)}, as if all were well"
        assert changed is None, f"{said}{_half_done(error, changed)}"
        return
    assert error is None, f"{said}{shown_error(error)}, though all fits"
    states = parts.states()
    for key in (KEYS[name] for name in asked):
        off = difference(states[key], right[key], at=key)
        assert off is None, f"{said}after loading {off}"


@given(
    where=st.sampled_from(["optimizer", "scheduler", "scheduler.state_dict()"]),
    existing=st.booleans(),
)
@example(where="optimizer", existing=True)
@example(where="scheduler", existing=False)
@pytest.mark.needs("file_holds_every_state_whole")
def test_a_failed_save_keeps_the_old_file(kata, where, existing):
    """When saving fails midway its error comes through and the old file is whole."""
    world = Training("mlp", "momentum")

    with folder() as place:
        path = place / "last.pt"
        if existing:
            torch.save(world.content(1), path)
        old = path.read_bytes() if existing else None
        error = error_of(lambda: _save(kata, path, _poisoned(world, where)))
        new = path.read_bytes() if path.exists() else None

    said = f"an object in the {where} cannot be pickled, so saving fails midway: "
    assert error is not None, (
        f"{said}save_checkpoint returned as if all were well: let the error through"
    )
    if existing:
        assert new == old, (
            f"{said}the old file had {len(old)} bytes, afterwards "
            f"{'it is gone' if new is None else f'it has {len(new)}'}"
            f"{'' if new is None else _still_loads(new)}. Write to another name first, "
            "and put it in place when it is complete"
        )
    assert existing or new is None, (
        f"{said}there was no file before, now there is one of {len(new)} bytes that "
        "no save has completed: the next start would take it for a checkpoint"
    )


@pytest.mark.needs("a_failed_save_keeps_the_old_file")
def test_path_always_holds_a_whole_file(kata):
    """At every moment of a save there is the old file or the new one."""
    world = Training("mlp", "momentum")
    parts = world.trained(1)

    with folder() as place:
        path = place / "last.pt"
        torch.save(world.content(1), path)
        parts.scheduler.peek = peek = Peek(path)
        inode = path.stat().st_ino
        with PathWatch(path) as watch:
            _save(kata, path, parts)
        in_place = path.exists() and path.stat().st_ino == inode
        in_place = in_place and path.read_bytes() != peek.content

    rename = (
        ". A process that is killed at that moment has lost the old file: write the "
        "new one under another name, complete, and let a rename put it in place"
    )
    torn = [text for text in peek.holds if text]
    assert not torn, (
        f"{path.name}, looked at while the states were being written: {torn[0]}{rename}"
    )
    assert not watch.deeds, (
        f"during the save the old {path.name} was {watch.deeds[0]}{rename}"
    )
    assert not in_place, f"the old {path.name} was overwritten in place{rename}"


@pytest.mark.needs("a_failed_save_keeps_the_old_file")
def test_temporary_file_lies_beside_the_target(kata):
    """What is renamed to the target comes from its folder, so from its file system."""
    parts = Training("mlp", "momentum").trained(1)

    with folder() as place:
        path = place / "runs" / "last.pt"
        path.parent.mkdir()
        with PathWatch(path) as watch:
            _save(kata, path, parts)
            _save(kata, path, parts)

    for source in watch.sources:
        assert path.parent in source.parents, (
            f"{path} was put in place from {source}, in another folder. That may be "
            "another file system, where a rename fails or turns into a slow copy over "
            "the old file: make the temporary file in the target's folder"
        )


@fewer
@given(
    fails=st.booleans(),
    existing=st.booleans(),
    name=st.sampled_from(["last.pt", "checkpoint", "a.b.c", "two words.pt"]),
)
@example(fails=False, existing=False, name="last.pt")
@example(fails=True, existing=True, name="last.pt")
@example(fails=True, existing=False, name="last.pt")
@pytest.mark.needs("file_is_read_with_weights_only")
def test_leaves_no_other_file(kata, fails, existing, name):
    """Saved or failed, the folder holds what was there before, and the file."""
    world = Training("linear", "momentum")
    parts = _poisoned(world, "optimizer") if fails else world.trained(1)

    with folder() as place:
        (place / "notes.txt").write_text("mine")
        if existing:
            torch.save(world.content(0), place / name)
        error_of(lambda: _save(kata, place / name, parts))
        files = listing(place)

    assert fails or name in files, (
        f"saved as {name!r}: there is no such file then, the folder holds {files}"
    )
    left = [file for file in files if file not in ("notes.txt", name)]
    assert not left, (
        f"after a save that {'failed' if fails else 'went well'}, {len(left)} file(s) "
        f"beside {name!r} are left: {left}. Remove what is temporary, also when an "
        "error passes through"
    )
    assert "notes.txt" in files, "notes.txt, another file in the folder, is gone"


@given(
    kind=st.sampled_from(["str", "Path", "PathLike"]),
    parents=st.sampled_from([0, 1, 3]),
)
@example(kind="str", parents=0)
@example(kind="Path", parents=0)
@example(kind="PathLike", parents=0)
@example(kind="Path", parents=3)
@pytest.mark.needs("file_holds_the_named_keys")
def test_takes_any_path_and_makes_its_parents(kata, kind, parents):
    """A path may be a `str`, a `Path` or `PathLike`; missing folders are made."""
    world = Training("linear", "momentum", None, None)

    with folder() as place:
        target = place.joinpath(*["runs", "today", "a"][:parents], "last.pt")
        path = {"str": str, "Path": lambda p: p, "PathLike": Place}[kind](target)
        said = f"path is a {kind}, {parents} of its parent folders are missing: "
        for call in ("save", "save again", "load"):
            parts = world.trained(1)
            error = error_of(
                lambda c=call, q=parts: (
                    kata.load_checkpoint(path, **q.given())
                    if c == "load"
                    else _save(kata, path, q)
                )
            )
            assert error is None, f"{said}{call}: {shown_error(error)}"
            assert call == "load" or target.is_file(), (
                f"{said}{call}: there is no such file then, but {listing(place)}"
            )


@pytest.mark.needs("takes_any_path_and_makes_its_parents")
def test_takes_a_bare_file_name(kata):
    """`last.pt` alone means the working directory."""
    parts = Training("linear", "momentum", None, None).trained(1)

    with folder() as place:
        os.chdir(place)
        for path in ("last.pt", os.path.join("runs", "last.pt")):
            error = error_of(lambda p=path: _save(kata, p, parts))
            assert error is None, (
                f"save_checkpoint({path!r}): {shown_error(error)}. A bare name has no "
                "folder part: os.path.dirname gives an empty text"
            )
            assert path in listing(place), (
                f"saved as {path!r}: the working directory holds {listing(place)}"
            )
            os.chdir(place)
            error = error_of(lambda p=path: kata.load_checkpoint(p, model=parts.model))
            assert error is None, f"load_checkpoint({path!r}): {shown_error(error)}"


def test_a_missing_file_is_file_not_found(kata):
    """Without a file: FileNotFoundError, nothing made and nothing changed."""
    parts = Training("mlp", "momentum").trained(1)
    before, parameters = parts.states(), list(parts.model.parameters())

    with folder() as place:
        path = place / "runs" / "last.pt"
        error = error_of(lambda: kata.load_checkpoint(path, **parts.given()))
        made = listing(place)

    assert isinstance(error, FileNotFoundError), (
        f"there is no file: {shown_error(error)}, asked is FileNotFoundError: a wrong "
        "path must not look like a fresh start"
    )
    assert not made, f"there is no file to load, yet loading made {made}"
    changed = parts.changed(before, parameters)
    assert changed is None, f"there is no file, yet {changed}"


@pytest.mark.needs("loading_restores_every_object")
def test_never_runs_code_from_the_file(kata):
    """A file that holds more than data is refused, and its code does not run."""
    world = Training("mlp", "momentum")
    parts = world.trained(2)
    before, parameters = parts.states(), list(parts.model.parameters())

    with folder() as place:
        content = {**world.content(1), "notes": Payload(place / "owned")}
        torch.save(content, place / "last.pt")
        error = error_of(
            lambda: kata.load_checkpoint(place / "last.pt", **parts.given())
        )
        ran = (place / "owned").exists()

    assert not ran, (
        "the file held an object that makes a folder when it is unpickled, and the "
        "folder was made: loading ran code from the file. weights_only=True admits "
        "tensors and plain data alone"
    )
    assert error is not None, (
        "the file held an object that weights_only=True refuses, yet loading returned"
    )
    changed = parts.changed(before, parameters)
    assert changed is None, f"the file was refused, yet {changed}"


@given(location=st.sampled_from(["default", "cpu", torch.device("cpu")]))
@example(location="default")
@example(location="cpu")
@pytest.mark.needs("loading_restores_every_object")
def test_a_file_from_a_gpu_loads_without_one(kata, location):
    """The tensors of the file are read to `map_location`, by default the CPU."""
    world = Training("mlp", "adam")
    fresh = world.fresh(seed=1)
    arguments = {} if location == "default" else {"map_location": location}

    with folder() as place:
        (place / "last.pt").write_bytes(written_on_a_gpu(world.content(2)))
        error = error_of(
            lambda: kata.load_checkpoint(
                place / "last.pt", **fresh.given(), **arguments
            )
        )

    said = f"a file of tensors from {NO_SUCH_GPU}, map_location={location!s}: "
    assert error is None, (
        f"{said}{shown_error(error)}\nWithout map_location torch.load puts tensors "
        "back on the device that they came from"
    )
    wrong = difference(fresh.states(), world.states(2))
    assert wrong is None, f"{said}{wrong}"


@pytest.mark.needs("loading_restores_every_object")
def test_map_location_is_not_ignored(kata):
    """A device that is not there is an error, as in `torch.load`."""
    world = Training("mlp", "momentum")
    parts = world.trained(1, seed=1)

    error, changed = _load(kata, world.content(2), parts, map_location=NO_SUCH_GPU)

    assert error is not None, (
        f"map_location={NO_SUCH_GPU!r}, a device that is not there: it returned all "
        "the same, so map_location was not used; torch.load would have raised"
    )
    assert changed is None, (
        f"map_location={NO_SUCH_GPU!r}: {_half_done(error, changed)}"
    )


@pytest.mark.needs("file_holds_every_state_whole", "loading_restores_every_object")
def test_global_state_stays(kata):
    """Torch's settings and the working directory stay; nothing is re-seeded."""
    parts = Training("linear", "momentum").trained(1)
    here = os.getcwd()
    with folder() as place:

        def save_and_load():
            _save(kata, place / "last.pt", parts)
            kata.load_checkpoint(place / "last.pt", **parts.given())

        assert_global_state_stays(save_and_load)
        there = os.getcwd()

    assert there == here, f"the working directory was {here}, now it is {there}"


def _save(kata, path, parts, epoch=3, best_metric=0.25):
    """Call the candidate's save with all objects that there are."""
    kata.save_checkpoint(path, **parts.given(), epoch=epoch, best_metric=best_metric)


def _load(kata, content, parts, asked=None, **arguments):
    """Let the candidate load a file of `content`; return the error and what changed."""
    before, parameters = parts.states(), list(parts.model.parameters())
    with folder() as place:
        torch.save(content, place / "last.pt")
        error = error_of(
            lambda: kata.load_checkpoint(
                place / "last.pt", **(asked or parts.given()), **arguments
            )
        )
    return error, parts.changed(before, parameters)


def _read(path):
    """Read a file that the candidate wrote as anybody would."""
    assert path.is_file(), (
        f"save_checkpoint returned, and there is no {path.name}; the folder holds "
        f"{listing(path.parent)}"
    )
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        found = re.search(r"GLOBAL ([\w.]+)", str(error))
        held = (
            f"it holds a {found[1]}, an object and not its state"
            if found
            else str(error).split("\n")[0][:200]
        )
        raise AssertionError(
            f"torch.load(path, weights_only=True) cannot read the file: {held}. Save "
            "state_dict()s and plain numbers"
        ) from None
    assert isinstance(content, dict), (
        f"the file holds a {type(content).__name__}, asked is one dict"
    )
    return content


def _poisoned(world, where):
    """A run whose saving fails midway."""
    parts = world.trained(1)
    if where == "optimizer":
        first = parts.optimizer.param_groups[0]["params"][0]
        parts.optimizer.state[first]["extra"] = Unpicklable()
    elif where == "scheduler":
        parts.scheduler.extra = Unpicklable()
    else:
        parts.scheduler.state_dict = Unpicklable().__reduce__
    return parts


def _still_loads(content):
    try:
        torch.load(io.BytesIO(content), weights_only=True)
    except Exception:
        return " and cannot be read"
    return ""


def _half_done(error, changed):
    """Say that loading changed something, though it ended in an error."""
    return (
        f"{shown_error(error)}, and yet {changed}.\nWhen loading raises, every object "
        "must be as before. load_state_dict changes what it gets to before it raises, "
        "and what was loaded before stays loaded; to put things back takes copies, "
        "since a state_dict() shares memory with its object"
    )


def _fresh_slip(got, untouched, name):
    if difference(got, untouched) is None:
        return f"\nThat is the {name} as it was before: its state was not set at all."
    return ""


def _number_slip(value, right):
    number = judging.number(value)
    if number == right + 1:
        return "\nThat is one more: who resumes adds the one, save what you are given."
    if right in (0, 0.0) and number != right:
        return "\nZero is a value, though it counts as false in `or` and `if`."
    return ""


def _tail(error):
    lines = [line.strip() for line in str(error).splitlines()[1:] if line.strip()]
    return " ".join(lines)[:200]


def _flags(model):
    """The mode of every module and requires_grad of every parameter, by name."""
    modes = {f"{n or 'model'}.training": m.training for n, m in model.named_modules()}
    wants = {f"{n}.requires_grad": p.requires_grad for n, p in model.named_parameters()}
    return {**modes, **wants}
