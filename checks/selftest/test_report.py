"""What a candidate reads about a verdict, to the letter, at 80 columns."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from checks.harness import listing, printing, report
from checks.harness.catalogue import Kata
from checks.harness.verdict import Check, Verdict, Word
from checks.selftest import demo

RIGHT = Check("doubles_a_number", "passed")
WRONG = Check(
    "refuses_nan",
    "failed",
    "float('nan') was given: you returned [0.5], right is that double raises ValueError"
    "\nLook at how NaN compares with itself: [bold]nan != nan[/bold].",
)
LEFT_OUT = Check(
    "refuses_text", "not_checked", "not checked before `refuses_nan` holds"
)


@pytest.fixture
def kata(tmp_path: Path) -> Kata:
    """Return the kata of a small repository."""
    return demo.make(tmp_path)


def verdict(
    kata: Kata,
    word: Word,
    *checks: Check,
    message: str = "",
    output: str = "",
    file: Path | None = None,
) -> Verdict:
    """Make a verdict on the kata's solution."""
    return Verdict(
        kata=kata.name,
        file=str(file or kata.solution),
        word=word,
        checks=checks,
        seconds=0.449,
        message=message,
        output=output,
    )


def printed(kata: Kata, given: Verdict) -> str:
    """Return how a verdict is printed at 80 columns."""
    to = demo.plain()
    report.print_verdict(given, to, kata=kata)
    return demo.text(to)


# --- The five verdicts ----------------------------------------------------------------


def test_passed_leads_on(kata: Kata) -> None:
    """A tick a check, then the diff and the questions that come next."""
    assert printed(kata, verdict(kata, "passed", RIGHT, RIGHT)) == (
        """\
demo: passed, all 2 checks hold (0.4 s)

✓ doubles a number
✓ doubles a number

Next: read your solution beside the reference
  make diff NAME=demo

What an interviewer asks next (answers: reference/demo.md):
  · What of [0.5], and of strings?
  · Why not `number + number`?
"""
    )


def test_passed_of_another_file_offers_no_diff(kata: Kata) -> None:
    """`make diff` compares the kata's own solution."""
    given = verdict(kata, "passed", RIGHT, file=kata.root / "other.py")

    assert "make diff" not in printed(kata, given)


def test_wrong_shows_the_first_failing_check_whole(kata: Kata) -> None:
    """The others have a line each; brackets are no markup."""
    other = Check("returns_a_float", "failed", "2 was given:\nyou returned None" * 9)

    assert printed(kata, verdict(kata, "wrong", RIGHT, WRONG, LEFT_OUT, other)) == (
        """\
demo: wrong, 2 of 4 checks failed (0.4 s)

✗ refuses nan
  float('nan') was given: you returned [0.5], right is that double raises
  ValueError
  Look at how NaN compares with itself: [bold]nan != nan[/bold].

✓ doubles a number
– refuses text: not checked before `refuses_nan` holds
✗ returns a float: 2 was given: you returned None2 was given: you returned None…

Next: change katas/demo/solution.py, then type
  make kata NAME=demo
"""
    )


def test_known_mistakes_come_first(kata: Kata) -> None:
    """Their sentences stand above the failing check."""
    says = "You compare with ==, which no NaN equals: [0.5] would. " * 2

    given = replace(verdict(kata, "wrong", WRONG), named=(says.strip(),))

    text = printed(kata, given)

    assert text.startswith(
        """\
demo: wrong, 1 of 1 check failed (0.4 s)

What your code does is a known mistake:
  You compare with ==, which no NaN equals: [0.5] would. You compare with ==,
  which no NaN equals: [0.5] would.

✗ refuses nan
"""
    )


def test_not_ready_says_what_where_and_next(kata: Kata) -> None:
    """Nothing was checked, so no check is listed."""
    left_out = Check("doubles_a_number", "not_checked", "not run")
    message = (
        "SyntaxError: '(' was never closed\n  solution.py line 3: x = [bold](\n"
        "Next: mend that line; nothing of the file can run before."
    )

    given = verdict(kata, "not_ready", left_out, message=message)

    assert printed(kata, given) == (
        """\
demo: not ready

SyntaxError: '(' was never closed
  solution.py line 3: x = [bold](

Next: mend that line; nothing of the file can run before.
  make kata NAME=demo
"""
    )


def test_half_written_code_shows_what_holds(kata: Kata) -> None:
    """Not ready, though some checks pass without the rest."""
    message = "not written yet: your code still raises NotImplementedError"
    unwritten = Check("refuses_nan", "failed", message)

    given = verdict(kata, "not_ready", RIGHT, unwritten, message=message)

    assert printed(kata, given) == (
        f"""\
demo: not ready

{message}

✓ doubles a number
✗ refuses nan: not written yet: your code still raises NotImplementedError

Next: change katas/demo/solution.py, then type
  make kata NAME=demo
"""
    )


def test_stopped_says_where_it_stood(kata: Kata) -> None:
    """The check that was stopped, what came before, how many were not run."""
    reason = "your code did not end within 10 s\n  solution.py line 4: pass"
    stopped = Check("refuses_nan", "stopped", f"{reason}\nNext: find what never ends.")
    others = [Check(f"other_{n}", "not_checked", "not run") for n in range(2)]
    file = kata.root / "my file.py"

    given = verdict(kata, "stopped", RIGHT, stopped, *others, file=file)

    assert printed(kata, given) == (
        """\
demo: stopped (0.4 s)

✗ refuses nan
  your code did not end within 10 s
    solution.py line 4: pass

✓ doubles a number
– 2 checks not run

Next: find what never ends.
  make kata NAME=demo FILE='my file.py'
"""
    )


def test_fault_is_ours(kata: Kata) -> None:
    """No check is shown; where to read all of it, where to report it."""
    message = "grader fault: the checks could not be run\nTraceback\n  …\nKeyError: 1"
    to = demo.plain()

    report.print_verdict(
        verdict(kata, "fault", LEFT_OUT, message=message),
        to,
        kata=kata,
        kept_in=kata.root / ".practice/faults/demo.txt",
    )

    assert demo.text(to) == (
        """\
demo: fault of the grader; your file was not judged

the checks could not be run
  …
KeyError: 1
All that is known of it: .practice/faults/demo.txt

Next: see whether the tool is whole here; if it is, open an issue of
this repository with your file and the text above.
  make doctor
"""
    )


# --- What the candidate's code printed ------------------------------------------------


def test_output_is_shown_and_cut(kata: Kata) -> None:
    """Twenty lines at most, and nothing in them commands the terminal."""
    output = "\x1b[2J[red]loss[/red]\t.5\r\n" + "x" * 100 + "\n" + "more\n" * 30

    text = printed(kata, verdict(kata, "wrong", WRONG, output=output))

    _, shown = text.split("\n\nYour code printed:\n")
    lines = shown.split("\n\n")[0].splitlines()
    assert lines[0] == "  | \\x1b[2J[red]loss[/red] .5"
    assert lines[1] == "  | " + "x" * 75 + "…"
    assert lines[2:] == ["  | more"] * 18 + ["  … and at least 12 lines more"]


# --- Terminals and files --------------------------------------------------------------


def test_colour_only_where_there_is_a_terminal(kata: Kata) -> None:
    """The text is the same, and says all without the colour."""
    stream = io.StringIO()
    coloured = Console(
        file=stream, force_terminal=True, width=80, highlight=False, markup=False
    )
    given = verdict(kata, "wrong", RIGHT, WRONG)

    report.print_verdict(given, coloured, kata=kata)

    assert "\x1b[" in stream.getvalue()
    assert "\x1b" not in printed(kata, given)


@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
def test_colour_can_be_refused(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """NO_COLOR=1 and TERM=dumb are respected, also in a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv(variable, "dumb")
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)

    printing.say(printing.console(), "wrong", "red")

    assert stream.getvalue() == "wrong\n"


def test_a_file_is_80_columns_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """However wide the terminal is from which it is written."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stdout", io.StringIO())

    assert printing.console().width == 80


def test_an_encoding_without_ticks_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs have a stand-in, all else its escape; nothing raises."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))

    to = printing.console()
    printing.say(to, "✓ ✗ – … · 3×2 ü \udcff")
    to.file.flush()

    assert raw.getvalue() == b"+ x - ... * 3x2 \\xfc \\udcff\n"


def test_what_is_to_be_copied_is_never_broken() -> None:
    """A command stays on one line, however long."""
    to = demo.plain()

    printing.say_command(to, "make kata NAME=x FILE=" + "a b" * 40)

    assert demo.text(to).count("\n") == 1


# --- The list -------------------------------------------------------------------------


def test_list_says_how_far_you_are(kata: Kata) -> None:
    """Level, minutes, state and topics, broken to 80 columns; what to type next."""
    topics = ("one thing", "a second thing", "a third one of them", "a fourth one")
    long = Kata("a_longer_name", "engineering", 120, topics, kata.root)
    to = demo.plain()
    kata.solution.write_text("def double(number): return 2 * number\n")

    listing.print_list([kata, long], to)

    assert demo.text(to) == (
        """\
kata           level        min  state  trains
demo           warm-up        5  tried  doubling, NaN
a_longer_name  engineering  120  new    one thing, a second thing, a third one
                                        of them, a fourth one

0 of 2 passed.
Next: make kata NAME=demo
"""
    )


def test_nothing_here_waits_for_torch() -> None:
    """The list, the diff and a reset answer at once."""
    code = "import sys; from checks.harness import diff, listing, practice, report; "
    code += "print([n for n in ('torch', 'pytest', 'hypothesis') if n in sys.modules])"
    root = Path(__file__).parents[2]

    run = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True
    )

    assert run.stdout == "[]\n"
