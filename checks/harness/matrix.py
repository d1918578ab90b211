"""The kill matrix: every known mistake and every fair variation against every check.

No check is trusted until it has been seen to fail, nor until it has let a fair answer
through. All go the way that a candidate's file goes.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

from checks.harness import catalogue, grading, naming
from checks.harness.verdict import Verdict
from checks.mistakes import Mistake, StaleEdit, mistakes_of, reference_of

REFERENCE, STUB = "the reference", "the stub"


@dataclass(frozen=True)
class Row:
    """One form of an entry, and the verdict on it."""

    label: str
    entry: Mistake
    verdict: Verdict

    @property
    def failed(self) -> set[str]:
        """The checks that failed or were stopped."""
        wrong = ("failed", "stopped")
        return {c.name for c in self.verdict.checks if c.outcome in wrong}

    @property
    def missed(self) -> set[str]:
        """The checks that should have caught the mistake and did not."""
        return set(self.entry.caught_by) - self.failed

    @property
    def problem(self) -> str | None:
        """What is wrong with this row, None if it is as it should be."""
        word, message = self.verdict.word, _said(self.verdict)
        if self.entry.is_fair:
            return None if word == "passed" else f"fair, but {word}: {message}"
        if word not in ("wrong", "stopped"):
            return f"a mistake, but {word} {message}".rstrip()
        if self.missed:
            caught = ", ".join(sorted(self.failed)) or "no check at all"
            return f"not caught by {', '.join(sorted(self.missed))}, but by {caught}"
        return None


@dataclass
class MatrixResult:
    """The matrix of one kata; `problems` is empty when nothing is wrong with it."""

    kata: str
    rows: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def num_mistakes(self) -> int:
        """How many forms of mistakes were tried."""
        return sum(not row.entry.is_fair for row in self.rows)


def examine(kata: catalogue.Kata, *, whole: bool = True) -> MatrixResult:
    """Grade the reference, the stub and every form of every entry of one kata.

    Unless `whole`, a mistake meets only the checks that it names, and their grounds:
    that is all that decides whether it is caught by them, in a fraction of the time.
    """
    result = MatrixResult(kata.name)
    texts = {REFERENCE: reference_of(kata.name), STUB: kata.stub.read_text("utf-8")}
    entries: dict[str, Mistake] = {}
    for entry in mistakes_of(kata.name):
        try:
            for label, text in entry.texts(texts[REFERENCE]):
                if label in texts:
                    result.problems.append(f"{label}: there are two of that name")
                texts[label], entries[label] = text, entry
        except StaleEdit as error:
            result.problems.append(str(error))
    requests = []
    for label, text in texts.items():
        named = entries[label].caught_by if label in entries and not whole else ()
        only = kata.with_grounds(named)
        requests.append(grading.Request(kata, label, text.encode(), only))
    grading.warm(kata)
    verdicts = {verdict.file: verdict for verdict in grading.in_order(requests)}
    if verdicts[REFERENCE].word != "passed":  # then no other verdict says anything
        result.problems = _frame_problems(verdicts)
        return result
    result.rows += [Row(label, entries[label], verdicts[label]) for label in entries]
    result.problems += _frame_problems(verdicts)
    result.problems += [f"{r.label}: {r.problem}" for r in result.rows if r.problem]
    result.problems += unused(kata.check_names(), entries.values())
    result.problems += twins(texts)
    return result


def run(args: argparse.Namespace) -> int:
    """Print the matrix of the katas in `args.names`, of all if there are none."""
    chosen = [catalogue.find(name) for name in args.names] or catalogue.katas()
    console = Console(highlight=False)
    is_fine = True
    for kata in chosen:
        result = examine(kata)
        _show(result, console)
        figures = naming.figures(kata)
        _show_figures(figures, console)
        is_fine = is_fine and not (result.problems or figures.problems())
    return 0 if is_fine else 1


def _frame_problems(verdicts: dict[str, Verdict]) -> list[str]:
    wanted = {REFERENCE: "passed", STUB: "not_ready"}
    return [
        f"{label} is {verdicts[label].word}, not {word}: {_said(verdicts[label])}"
        for label, word in wanted.items()
        if verdicts[label].word != word
    ]


def unused(names: Sequence[str], entries: Iterable[Mistake]) -> list[str]:
    """Find checks that no mistake names, and names that are no check."""
    named = {name for entry in entries for name in entry.caught_by}
    return [
        *(
            f"{name}: no mistake shows that this check can fail"
            for name in names
            if name not in named
        ),
        *(
            f"{name}: named by a mistake, but there is no such check"
            for name in sorted(named - set(names))
        ),
    ]


def twins(texts: dict[str, str]) -> list[str]:
    """Find entries that are the same text."""
    labels = defaultdict(list)
    for label, text in texts.items():
        labels[text].append(label)
    twins = [same for same in labels.values() if len(same) > 1]
    return [f"the same text: {', '.join(same)}" for same in twins]


def _said(verdict: Verdict) -> str:
    wrong = verdict.first_wrong
    return f"{wrong.name}: {wrong.message}" if wrong else verdict.message


def _show(result: MatrixResult, console: Console) -> None:
    table = Table(title=result.kata)
    for heading in ("entry", "as it should", "checks that reject it"):
        table.add_column(heading, overflow="fold")
    for row in result.rows:
        table.add_row(row.label, "no" if row.problem else "yes", _checks(row))
    console.print(table)
    num_fair = len(result.rows) - result.num_mistakes
    caught = sum(r.problem is None for r in result.rows if not r.entry.is_fair)
    passed = sum(r.problem is None for r in result.rows if r.entry.is_fair)
    console.print(
        f"{result.kata}: {caught} of {result.num_mistakes} mistakes are caught by the "
        f"check they name, {passed} of {num_fair} fair variations pass"
    )
    for problem in result.problems:
        console.print(f"  {problem}", style="red", markup=False)


def _show_figures(figures: naming.Figures, console: Console) -> None:
    console.print(figures.summary(), markup=False)
    for problem in figures.problems():
        console.print(f"  {problem}", style="red", markup=False)


def _checks(row: Row) -> Text:
    """List the checks that reject an entry, those that it names first and in bold."""
    named = sorted(row.failed & row.entry.caught_by)
    others = sorted(row.failed - row.entry.caught_by)
    text = Text("\n".join(named), style="bold")
    if others:
        text.append("\n" if named else "")
        text.append(f"and {len(others)} more", style="not bold dim")
    return text
