"""The kill matrix of each kata, and that the matrix itself sees what is wrong."""

from __future__ import annotations

import pytest

from checks.harness import catalogue, matrix
from checks.harness.verdict import Check, Verdict
from checks.mistakes import Mistake


@pytest.mark.timeout(1800)  # a busy machine; one file hangs no longer than its limits
@pytest.mark.parametrize("kata", catalogue.katas(), ids=lambda kata: kata.name)
def test_every_mistake_is_caught_and_every_fair_answer_passes(kata):
    """By the check that the mistake names; and each check is named by some mistake."""
    result = matrix.examine(kata, whole=False)

    assert result.problems == []
    assert result.num_mistakes >= len(kata.check_names()) / 2
    assert len(result.rows) - result.num_mistakes >= 8, "too few fair variations"


def row(entry, word, **outcomes):
    """Make the row of an entry whose verdict is `word`, with checks as given."""
    checks = tuple(
        Check(name, outcome, "" if outcome == "passed" else "said")
        for name, outcome in outcomes.items()
    )
    verdict = Verdict("tiny", entry.id, word, checks, 0.0, message="")
    return matrix.Row(entry.id, entry, verdict)


SLIP = Mistake(id="slip", says="", caught_by={"weighs"})
FAIR = Mistake(id="fair", says="")

ROWS = {
    "caught": (row(SLIP, "wrong", weighs="failed", counts="passed"), None),
    "caught-by-stopping": (row(SLIP, "stopped", weighs="stopped"), None),
    "caught-by-another": (
        row(SLIP, "wrong", weighs="passed", counts="failed"),
        "not caught by weighs, but by counts",
    ),
    "named-check-not-checked": (
        row(SLIP, "wrong", weighs="not_checked", counts="failed"),
        "not caught by weighs, but by counts",
    ),
    "uncaught": (row(SLIP, "passed", weighs="passed"), "a mistake, but passed"),
    "a-fault": (
        row(SLIP, "fault", weighs="failed"),
        "a mistake, but fault weighs: said",
    ),
    "fair": (row(FAIR, "passed", weighs="passed"), None),
    "fair-but-refused": (
        row(FAIR, "wrong", weighs="failed"),
        "fair, but wrong: weighs: said",
    ),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_row_says_what_is_wrong_with_it(case):
    """Nothing, where all is as it should be."""
    made, problem = ROWS[case]

    assert made.problem == problem


def test_checks_and_names_must_match():
    """A check that no mistake names, and a name that is no check, are both told."""
    assert matrix.unused(["weighs", "counts"], [SLIP, FAIR]) == [
        "counts: no mistake shows that this check can fail"
    ]
    assert matrix.unused([], [SLIP]) == [
        "weighs: named by a mistake, but there is no such check"
    ]


def test_two_entries_of_one_text_are_told():
    """They would be one entry under two names."""
    assert matrix.twins({"a": "x", "b": "y", "c": "x"}) == ["the same text: a, c"]
