"""The words `kata` and `reset`, and what is kept of a candidate's work.

All of it is under `.practice/`: `passed/NAME.py` is the last text that passed,
`set-aside/NAME/` what `make reset` took away. Nothing of a candidate's is overwritten.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from checks.harness import catalogue, files, report
from checks.harness.catalogue import Kata
from checks.harness.cli import WrongCommand
from checks.harness.printing import console, say, say_command, short
from checks.harness.verdict import Verdict

EXIT_CODES = {"passed": 0, "fault": 3}  # 1 for any other verdict


def kata(args: argparse.Namespace) -> int:
    """Grade the candidate's file, `args.file` or the kata's own, and say how it is."""
    return practise(catalogue.find(args.name), args.file)


def reset(args: argparse.Namespace) -> int:
    """Set the candidate's file aside and lay the stub out anew."""
    return start_anew(catalogue.find(args.name))


def practise(kata: Kata, file: str | None = None) -> int:
    """Grade `file`, or the kata's own solution, which is made if it is missing."""
    to = console()
    path = Path(os.path.abspath(file)) if file else kata.solution
    is_new = path == kata.solution and begin(kata)
    content = _read(path, kata)
    report.print_places(kata, path, is_new=is_new, to=to)
    verdict = _grade(kata, path, content)
    is_own_pass = verdict.word == "passed" and path == kata.solution
    problem = _try_to_remember(kata, content) if is_own_pass else ""
    kept_in = _keep_fault(kata, verdict)
    report.print_verdict(verdict, to, kata=kata, kept_in=kept_in)
    if problem:
        say(to, f"\nThat you passed could not be kept in .practice: {problem}")
    return EXIT_CODES.get(verdict.word, 1)


def begin(kata: Kata) -> bool:
    """Make the candidate's file from the stub if it is missing; return whether it was.

    Raises `WrongCommand` when it cannot be written.
    """
    if os.path.lexists(kata.solution):
        return False
    with (
        _explained(f"{short(kata.solution, kata.root)} cannot be made"),
        files.prepared(kata.stub.read_bytes(), kata.solution) as ready,
    ):
        return files.put(ready, kata.solution)


def start_anew(kata: Kata) -> int:
    """Set the candidate's file aside, lay out the stub, and say how to get it back."""
    to, own = console(), short(kata.solution, kata.root)
    reason = _nothing_to_reset(kata)
    if reason:
        say(to, f"Nothing to reset: {own} {reason}.")
        say(to, "Next: write it, then type")
        say_command(to, f"make kata NAME={kata.name}")
        return 0
    kept = short(set_aside(kata), kata.root)
    say(to, f"Your work is now {kept}")
    say(to, f"{own} is the stub again.")
    say(to, "To get your work back:")
    say_command(to, f"cp {shlex.quote(kept)} {shlex.quote(own)}")
    return 0


def set_aside(kata: Kata) -> Path:
    """Move the candidate's file under `.practice/`, put the stub in its place.

    Returns where the work is now. Raises `WrongCommand` when that cannot be done; the
    work is then where it was.
    """
    own = short(kata.solution, kata.root)
    with (
        _explained(f"{own} cannot be set aside, and is as it was"),
        files.prepared(kata.stub.read_bytes(), kata.solution) as stub,
    ):
        kept = files.reserved(home(kata) / "set-aside" / kata.name)
        try:
            files.move(kata.solution, kept)
        except OSError:
            kept.unlink()
            raise
        try:
            files.put(stub, kata.solution)
        except OSError:
            files.move(kept, kata.solution)
            raise
    return kept


def state(kata: Kata) -> str:
    """Return how far the candidate is with a kata: new, tried or passed."""
    if has_passed(kata):
        return "passed"
    worked = kata.solution.exists() and not is_stub(kata)
    aside = (home(kata) / "set-aside" / kata.name).exists()
    return "tried" if worked or aside else "new"


def is_stub(kata: Kata) -> bool:
    """Whether the candidate's file is the stub, to the letter."""
    return kata.solution.read_bytes() == kata.stub.read_bytes()


def has_passed(kata: Kata) -> bool:
    """Whether the candidate's own file has ever passed."""
    return passed_text(kata).exists()


def passed_text(kata: Kata) -> Path:
    """Return where the last text that passed is kept; it need not be there."""
    return home(kata) / "passed" / f"{kata.name}.py"


def remember_pass(kata: Kata, content: bytes) -> None:
    """Keep the text that passed."""
    path = passed_text(kata)
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.prepared(content, path) as ready:
        os.replace(ready, path)


def home(kata: Kata) -> Path:
    """Return the folder of all that is kept."""
    return kata.root / ".practice"


def _grade(kata: Kata, path: Path, content: bytes) -> Verdict:
    from checks.harness import grading  # torch: what comes before need not wait for it

    return next(grading.grade(kata, [(str(path), content)]))


def _read(path: Path, kata: Kata) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongCommand(
            f"{short(path, kata.root)} cannot be read: {error.strerror}\n"
            f"Next: name a file that can be, or none: make kata NAME={kata.name}"
        ) from error


def _try_to_remember(kata: Kata, content: bytes) -> str:
    """Keep the text that passed; return why that cannot be done, or an empty text."""
    try:
        remember_pass(kata, content)
    except OSError as error:
        return f"{error.strerror}"
    return ""


def _keep_fault(kata: Kata, verdict: Verdict) -> Path | None:
    """Write down all that is known of a fault of the grader; return where it is."""
    if verdict.word != "fault":
        return None
    path = home(kata) / "faults" / f"{kata.name}.txt"
    told = (verdict.message, json.dumps(verdict.as_json(), indent=2), verdict.output)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(told), encoding="utf-8", errors="replace")
        return path
    return None


def _nothing_to_reset(kata: Kata) -> str:
    if not os.path.lexists(kata.solution):
        return "is not there"
    return "is the stub" if kata.solution.exists() and is_stub(kata) else ""


@contextlib.contextmanager
def _explained(problem: str) -> Iterator[None]:
    """Turn an error of the file system into what a person can read and do."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = (
            "make room on the disk, then type the same again."
            if full
            else "make doctor  (says what is off)"
        )
        raise WrongCommand(f"{problem}: {error.strerror}\nNext: {advice}") from error
