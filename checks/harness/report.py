"""Every word that a candidate reads about a verdict."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from checks.harness.catalogue import Kata
from checks.harness.printing import clipped, console, say, say_command, short
from checks.harness.verdict import Check, Outcome, Verdict, Word

SIGNS: dict[Outcome, tuple[str, str]] = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "stopped": ("✗", "red"),
    "not_checked": ("–", "dim"),
}
STYLES: dict[Word, str] = {
    "passed": "bold green",
    "wrong": "bold red",
    "not_ready": "bold yellow",
    "stopped": "bold red",
    "fault": "bold magenta",
}
LINES_SHOWN = 20  # of what the candidate's code printed
NOT_RUN = "not run"  # what the grader says of checks that it did not come to
ADVICE = "\nNext: "  # before the last part of a message that says what to do


def print_places(kata: Kata, path: Path, *, is_new: bool, to: Console) -> None:
    """Say where the problem is and the candidate's file, which may be new."""
    made = "  (new, made from the stub)" if is_new else ""
    say(to, f"Problem:   {short(kata.statement, kata.root)}")
    say(to, f"Your file: {short(path, kata.root)}{made}")
    say(to)


def print_verdict(
    verdict: Verdict,
    to: Console | None = None,
    *,
    kata: Kata,
    kept_in: Path | None = None,
) -> None:
    """Print a verdict: what is wrong, how each check ended, what to do next.

    `kept_in` is the file that holds all that is known of a fault of the grader.
    """
    to = to or console()
    whole = _shown_whole(verdict)
    say(to, _headline(verdict), STYLES[verdict.word])
    _print_named(to, verdict.named)
    if whole:
        say(to)
        say(to, f"{SIGNS[whole.outcome][0]} {_claim(whole)}", "bold")
        say(to, _split(whole.message)[0], indent=2)
    elif verdict.word == "fault":
        _print_fault(to, verdict, kept_in, kata)
    elif verdict.message:
        say(to)
        say(to, _split(verdict.message)[0])
    _print_others(to, verdict, whole)
    _print_output(to, verdict.output)
    if verdict.word == "passed":
        _print_after_a_pass(to, verdict, kata)
    else:
        _print_next(to, verdict, whole, kata)


def _shown_whole(verdict: Verdict) -> Check | None:
    """Return the check that decides: the first red one, or that which was stopped."""
    if verdict.word == "wrong":
        return verdict.first_wrong
    if verdict.word == "stopped":
        return next((c for c in verdict.checks if c.outcome == "stopped"), None)
    return None


def _headline(verdict: Verdict) -> str:
    checks, name = verdict.checks, verdict.kata
    time = f"({verdict.seconds:.1f} s)"
    failed = sum(check.outcome == "failed" for check in checks)
    said = {
        "passed": f"passed, {_all(len(checks))} {time}",
        "wrong": f"wrong, {failed} of {_num(len(checks), 'check')} failed {time}",
        "not_ready": "not ready",
        "stopped": f"stopped {time}",
        "fault": "fault of the grader; your file was not judged",
    }
    return f"{name}: {said[verdict.word]}"


def _all(number: int) -> str:
    return "its one check holds" if number == 1 else f"all {number} checks hold"


def _num(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _claim(check: Check) -> str:
    """Read a check's name as a sentence: weigh_to_1_4 is "weigh to 1.4"."""
    return re.sub(r"(?<=\d)_(?=\d)", ".", check.name).replace("_", " ")


def _split(message: str) -> tuple[str, str]:
    """Take a message apart: what is wrong, and what to do, which may be empty."""
    what, _, advice = message.partition(ADVICE)
    return what, advice


def _print_named(to: Console, named: Sequence[str]) -> None:
    if named:
        say(to)
        say(to, "What your code does is a known mistake:", "bold")
        for sentence in named:
            say(to, sentence, indent=2)


def _print_fault(
    to: Console, verdict: Verdict, kept_in: Path | None, kata: Kata
) -> None:
    lines = verdict.message.removeprefix("grader fault: ").rstrip().splitlines()
    if kept_in and len(lines) > 2:
        lines = [lines[0], "  …", lines[-1]]
    say(to)
    say(to, "\n".join(lines))
    if kept_in:
        say(to, f"All that is known of it: {short(kept_in, kata.root)}")


def _print_others(to: Console, verdict: Verdict, whole: Check | None) -> None:
    """Print a line for each check that has not been shown whole, where any ran."""
    ran = {"passed"} if verdict.word == "not_ready" else {"passed", "failed", "stopped"}
    if verdict.word == "fault" or not any(c.outcome in ran for c in verdict.checks):
        return
    not_run = [c for c in verdict.checks if c.message == NOT_RUN]
    others = [c for c in verdict.checks if c is not whole and c not in not_run]
    say(to)
    for check in others:
        sign, style = SIGNS[check.outcome]
        line = f"{sign} {_claim(check)}"
        if check.message:
            line += f": {' '.join(_split(check.message)[0].split())}"
        say(to, clipped(line, to.width), style)
    if not_run:
        say(to, f"– {_num(len(not_run), 'check')} not run", "dim")


def _print_output(to: Console, output: str) -> None:
    lines = output.rstrip().splitlines()
    if not lines:
        return
    say(to)
    say(to, "Your code printed:", "bold")
    for line in lines[:LINES_SHOWN]:
        say(to, clipped(f"  | {line}", to.width))
    cut = len(lines) - LINES_SHOWN
    if cut > 0:  # very long output reaches us cut already
        say(to, f"  … and at least {_num(cut, 'line')} more")


def _print_next(to: Console, verdict: Verdict, whole: Check | None, kata: Kata) -> None:
    say(to)
    if verdict.word == "fault":
        say(to, "Next: see whether the tool is whole here; if it is, open an issue of")
        say(to, "this repository with your file and the text above.")
        say_command(to, "make doctor")
        return
    message = whole.message if whole else verdict.message
    advice = _split(message)[1] or f"change {_file(verdict, kata)}, then type"
    say(to, f"Next: {advice}")
    say_command(to, _command(verdict, kata))


def _print_after_a_pass(to: Console, verdict: Verdict, kata: Kata) -> None:
    say(to)
    if _is_own(verdict, kata):
        say(to, "Next: read your solution beside the reference")
        say_command(to, f"make diff NAME={kata.name}")
        say(to)
    questions = follow_ups(kata)
    if questions:
        sheet = short(kata.sheet, kata.root)
        say(to, f"What an interviewer asks next (answers: {sheet}):")
        for question in questions:
            say(to, f"  · {question}")


def follow_ups(kata: Kata) -> list[str]:
    """Return the questions of the sheet's section `## Then ask`: its `###` headings."""
    if not kata.sheet.exists():
        return []
    text = kata.sheet.read_text(encoding="utf-8")
    _, _, rest = text.partition("\n## Then ask\n")
    section = re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^### (.+?)\s*$", section, re.MULTILINE)


def _command(verdict: Verdict, kata: Kata) -> str:
    """Return what to type to have the same file graded again."""
    again = f"make kata NAME={kata.name}"
    if _is_own(verdict, kata):
        return again
    return f"{again} FILE={shlex.quote(_file(verdict, kata))}"


def _is_own(verdict: Verdict, kata: Kata) -> bool:
    return Path(verdict.file) == kata.solution


def _file(verdict: Verdict, kata: Kata) -> str:
    return short(Path(verdict.file), kata.root)
