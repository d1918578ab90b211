"""The word `grade`: any files of one kata, from any folder, each with its verdict."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from checks.harness import catalogue, report
from checks.harness.cli import WrongCommand
from checks.harness.verdict import Verdict

FAULT, NOT_PASSED, FINE = 3, 1, 0


def run(args: argparse.Namespace) -> int:
    """Grade the files in `args.files`; print each verdict as soon as it is known.

    With `args.json` standard output carries one line of JSON a file and nothing else.
    """
    kata = catalogue.find(args.name)
    sources = _read(args.files)
    from checks.harness import grading  # torch: a wrong command need not wait for it

    verdicts = []
    for verdict in grading.grade(kata, sources):
        _print(verdict, kata, as_json=args.json)
        verdicts.append(verdict)
    return exit_code(verdicts)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """Return 3 for a fault of ours among the verdicts, 1 for any not passed, else 0."""
    words = {verdict.word for verdict in verdicts}
    if "fault" in words:
        return FAULT
    return NOT_PASSED if words - {"passed"} else FINE


def _read(files: Iterable[str]) -> list[tuple[str, bytes]]:
    sources, missing = [], []
    for file in files:
        try:
            sources.append((file, Path(file).read_bytes()))
        except OSError as error:
            missing.append(f"{file}: {error.strerror}")
    if missing:
        raise WrongCommand(
            "nothing was graded, for these cannot be read\n"
            + "\n".join(f"  {line}" for line in missing)
        )
    return sources


def _print(verdict: Verdict, kata: catalogue.Kata, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(verdict.as_json()), flush=True)
        return
    print(f"\n== {verdict.file}", flush=True)
    report.print_verdict(verdict, kata=kata)
