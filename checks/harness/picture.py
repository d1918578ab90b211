"""The pictures in the README: a failing and a passing run, from real verdicts."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from rich.console import Console

from checks.harness import catalogue, grading, report
from checks.harness.printing import say, short

FOLDER = catalogue.ROOT / ".github" / "pictures"
KATA, MISTAKE = "train_epoch", "mean-of-batch-means"
WIDTH = 88


def run(args: argparse.Namespace) -> int:
    """Grade the reference, and the reference with one known mistake; draw both."""
    from checks.mistakes import mistakes_of, reference_of

    kata = catalogue.find(KATA)
    right = reference_of(KATA)
    mistake = next(m for m in mistakes_of(KATA) if m.id == MISTAKE)
    wrong = dict(mistake.texts(right))[MISTAKE]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in (("failing", wrong), ("passing", right)):
        path = FOLDER / f"{name}.svg"
        path.write_text(_drawn(kata, text, name), encoding="utf-8")
        say(Console(), short(Path(path), catalogue.ROOT))
    return 0


def _drawn(kata: catalogue.Kata, text: str, name: str) -> str:
    """Return the SVG of what a candidate with this text in their file would read."""
    sources = [(str(kata.solution), text.encode())]
    verdict = next(grading.grade(kata, sources))
    to = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        highlight=False,
        markup=False,
    )
    report.print_places(kata, kata.solution, is_new=False, to=to)
    report.print_verdict(verdict, to, kata=kata)
    return to.export_svg(title=f"make kata NAME={kata.name}", unique_id=name)
