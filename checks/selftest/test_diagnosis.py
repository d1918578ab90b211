"""Tests of naming: on records made by hand, and on solutions written from scratch."""

import math
from itertools import combinations

import pytest

from checks.harness import catalogue, naming, study
from checks.harness.diagnosis import Form, Study, departures, diagnose, evidence
from checks.recorded import agree

NAMED = [kata for kata in catalogue.katas() if study.has_worlds(kata)]

STUDY = Study(
    reference={"loss": 1.4, "steps": 3, "mode": "train"},
    forms=(
        Form("halves", {"loss": 0.7}),
        Form("skips", {"steps": 2}),
        Form("skips-and-stays-in-eval", {"steps": 2, "mode": "eval"}),
    ),
)


def made(**changes):
    """Return the reference's record with some changes."""
    return {**STUDY.reference, **changes}


@pytest.mark.parametrize(
    ("record", "names"),
    [
        (made(), ()),
        (made(loss=0.7), ("halves",)),
        (made(steps=2), ("skips",)),
        (made(steps=2, mode="eval"), ("skips-and-stays-in-eval",)),
        (made(loss=0.7, steps=2), ("halves", "skips")),
        (made(loss=0.8), ()),
        (made(loss=0.7, mode="eval"), ()),
        (made(loss=math.nan), ()),
        (made(extra=1), ()),
    ],
)
def test_names_what_explains_every_departure(record, names):
    """A mistake is named when nothing is left over, and as few as will do."""
    assert diagnose(record, STUDY) == names


def test_two_explanations_are_none():
    """Where two mistakes explain the same, neither is named."""
    forms = (Form("one", {"loss": 0.7}), Form("other", {"loss": 0.7}))

    assert diagnose(made(loss=0.7), Study(STUDY.reference, forms)) == ()


def test_values_agree_to_rounding():
    """Recorded numbers need not be equal to the bit; NaN is NaN."""
    assert agree([1.0, math.nan], [1.0 + 1e-9, math.nan])
    assert not agree([1.0], [1.1])
    assert not agree(1.0, None)


def test_evidence_gives_the_numbers():
    """The sentence of a mistake can be backed by what this file did."""
    text = evidence(made(loss=0.7), STUDY, "halves")

    assert text == "loss: 0.7000; right is 1.4000"


@pytest.mark.parametrize("kata", NAMED, ids=lambda kata: kata.name)
def test_no_two_mistakes_look_the_same(kata):
    """Each mistake departs from the reference, and no two in the same way."""
    forms = study.study_of(kata.name).forms

    assert all(form.symptoms for form in forms), [
        form.id for form in forms if not form.symptoms
    ]
    twins = [
        (one.id, other.id)
        for one, other in combinations(forms, 2)
        if one.id != other.id and not departures(one.symptoms, other.symptoms)
    ]
    assert not twins


@pytest.mark.timeout(1200)  # a busy machine; one file hangs no longer than its limits
@pytest.mark.parametrize("kata", NAMED, ids=lambda kata: kata.name)
def test_rewritten_solutions_are_judged_and_named(kata):
    """Right ones pass, wrong ones do not; known mistakes are named, none wrongly."""
    figures = naming.figures(kata)

    print(figures.summary())
    assert not figures.problems()
    assert sum(bool(s.known) for s in figures.solutions) >= 10
    assert sum(len(s.known) == 2 for s in figures.solutions) >= 3
    assert sum(naming.UNKNOWN in s.labels for s in figures.solutions) >= 3
