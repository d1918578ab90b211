"""What is kept of a candidate's work: nothing of it is ever lost."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checks.harness import files, practice
from checks.harness.catalogue import Kata
from checks.harness.cli import WrongCommand
from checks.harness.verdict import Check, Verdict, Word
from checks.selftest import demo

WORK = "def double(number):\n    return 2 * number\n"
ASIDE = r"\.practice/set-aside/demo/\d{4}-\d\d-\d\d-\d{6}-\d{6}\.py"
PLACES = "Problem:   katas/demo/README.md\nYour file: katas/demo/solution.py"


@pytest.fixture
def kata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kata:
    """Return the kata of a small repository; print without colour."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return demo.make(tmp_path)


@pytest.fixture
def grade(monkeypatch: pytest.MonkeyPatch) -> Callable[[Word], None]:
    """Return a function that lays down the verdict that comes."""

    def will_be(word: Word) -> None:
        def answer(kata: Kata, path: Path, content: bytes) -> Verdict:
            check = Check("doubles", "passed" if word == "passed" else "failed", "no")
            message = "grader fault: a wire\nis\nloose"
            return Verdict(kata.name, str(path), word, (check,), 0.1, message)

        monkeypatch.setattr(practice, "_grade", answer)

    return will_be


def raising(number: int) -> Callable[..., Any]:
    """Return a function that raises the operating system's error of that number."""

    def call(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return call


def all_files(root: Path) -> set[str]:
    """Return all files under `root`, hidden ones too."""
    found = (path for path in root.rglob("*") if not path.is_dir())
    return {str(path.relative_to(root)) for path in found}


# --- make kata ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "code"),
    [("passed", 0), ("wrong", 1), ("not_ready", 1), ("stopped", 1), ("fault", 3)],
)
def test_exit_code_is_the_verdicts(
    kata: Kata, grade: Callable[[Word], None], word: Word, code: int
) -> None:
    """0 for a pass, 3 for a fault of ours, 1 for all else."""
    grade(word)

    assert practice.practise(kata) == code


def test_first_time_makes_the_file(
    kata: Kata, grade: Callable[[Word], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the stub; where it is, and where the problem, comes first."""
    grade("wrong")

    practice.practise(kata)
    first = capsys.readouterr().out
    practice.practise(kata)
    second = capsys.readouterr().out

    assert kata.solution.read_text() == demo.STUB
    assert first.startswith(f"{PLACES}  (new, made from the stub)\n\ndemo: wrong")
    assert second.startswith(f"{PLACES}\n\ndemo: wrong")
    assert all_files(kata.root) == {*demo.FILES, "katas/demo/solution.py"}


def test_a_solution_is_never_overwritten(kata: Kata) -> None:
    """Neither one that is there, nor one that comes while the file is made."""
    kata.solution.write_text(WORK)
    assert practice.begin(kata) is False

    with files.prepared(b"the stub", kata.solution) as ready:
        assert files.put(ready, kata.solution) is False

    assert kata.solution.read_text() == WORK


def test_file_systems_without_links_do(
    kata: Kata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the file is made by renaming; one that is there still stays."""
    monkeypatch.setattr(os, "link", raising(errno.EPERM))

    assert practice.begin(kata) is True
    assert practice.begin(kata) is False
    with files.prepared(b"the stub", kata.solution) as ready:
        assert files.put(ready, kata.solution) is False

    assert kata.solution.read_text() == demo.STUB


def test_full_disk_leaves_no_half_file(
    kata: Kata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What, where and what to do; nothing is made."""
    monkeypatch.setattr(os, "fsync", raising(errno.ENOSPC))

    with pytest.raises(WrongCommand) as caught:
        practice.practise(kata)

    assert str(caught.value) == (
        "katas/demo/solution.py cannot be made: No space left on device\n"
        "Next: make room on the disk, then type the same again."
    )
    assert all_files(kata.root) == set(demo.FILES)


def test_missing_file_is_a_wrong_command(kata: Kata) -> None:
    """A FILE that is not there is named; nothing is made."""
    with pytest.raises(WrongCommand) as caught:
        practice.practise(kata, str(kata.root / "no.py"))

    assert str(caught.value) == (
        "no.py cannot be read: No such file or directory\n"
        "Next: name a file that can be, or none: make kata NAME=demo"
    )
    assert all_files(kata.root) == set(demo.FILES)


# --- What is kept ---------------------------------------------------------------------


def test_a_pass_is_remembered(kata: Kata, grade: Callable[[Word], None]) -> None:
    """The last text that passed is kept, whatever comes after."""
    assert (practice.state(kata), practice.has_passed(kata)) == ("new", False)
    kata.solution.write_text(WORK)
    grade("wrong")
    practice.practise(kata)
    assert (practice.state(kata), practice.has_passed(kata)) == ("tried", False)

    grade("passed")
    practice.practise(kata)
    kata.solution.write_text("broken")
    grade("wrong")
    practice.practise(kata)

    assert (practice.state(kata), practice.has_passed(kata)) == ("passed", True)
    assert practice.passed_text(kata).read_text() == WORK


def test_a_pass_of_another_file_is_not_yours(
    kata: Kata, grade: Callable[[Word], None]
) -> None:
    """The reference passes too. FILE may name the kata's own, which counts."""
    grade("passed")

    practice.practise(kata, str(kata.reference))
    assert not practice.has_passed(kata)

    practice.practise(kata, str(kata.root / "katas/../katas/demo/solution.py"))
    assert practice.has_passed(kata)


def test_a_verdict_comes_though_nothing_can_be_kept(
    kata: Kata, grade: Callable[[Word], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """That a pass could not be kept is said last; the exit code is that of a pass."""
    grade("passed")
    practice.home(kata).write_text("a file, where the folder should be")

    code = practice.practise(kata)

    printed = capsys.readouterr().out
    assert "demo: passed" in printed
    assert printed.endswith(
        "\nThat you passed could not be kept in .practice: Not a directory\n"
    )
    assert code == 0


def test_a_fault_is_written_down(
    kata: Kata, grade: Callable[[Word], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """All that is known is in a file, which the report names."""
    grade("fault")

    practice.practise(kata)

    kept = practice.home(kata) / "faults/demo.txt"
    assert kept.read_text().startswith("grader fault: a wire\nis\nloose\n\n{")
    assert "All that is known of it: .practice/faults/demo.txt\n" in (
        capsys.readouterr().out
    )


# --- make reset -----------------------------------------------------------------------


def test_reset_moves_the_work_aside(
    kata: Kata, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is printed brings it back."""
    kata.solution.write_text(WORK)

    code = practice.start_anew(kata)

    printed = capsys.readouterr().out
    assert re.fullmatch(
        f"Your work is now {ASIDE}\n"
        r"katas/demo/solution\.py is the stub again\." + "\n"
        "To get your work back:\n"
        rf"  cp {ASIDE} katas/demo/solution\.py" + "\n",
        printed,
    )
    assert kata.solution.read_text() == demo.STUB
    assert (kata.root / printed.splitlines()[-1].split()[1]).read_text() == WORK
    assert (code, practice.state(kata)) == (0, "tried")


def test_each_reset_keeps_its_own(kata: Kata) -> None:
    """A later one overwrites nothing."""
    texts = {f"attempt {number}" for number in range(3)}

    for text in texts:
        kata.solution.write_text(text)
        practice.set_aside(kata)

    kept = (practice.home(kata) / "set-aside/demo").iterdir()
    assert {path.read_text() for path in kept} == texts


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "is not there"), (demo.STUB, "is the stub")]
)
def test_nothing_to_reset(
    kata: Kata,
    capsys: pytest.CaptureFixture[str],
    content: str | None,
    reason: str,
) -> None:
    """It says so, and makes nothing."""
    if content:
        kata.solution.write_text(content)
    before = all_files(kata.root)

    code = practice.start_anew(kata)

    assert capsys.readouterr().out == (
        f"Nothing to reset: katas/demo/solution.py {reason}.\n"
        "Next: write it, then type\n"
        "  make kata NAME=demo\n"
    )
    assert (code, all_files(kata.root)) == (0, before)


def test_reset_reaches_another_file_system(
    kata: Kata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file cannot be renamed it is copied."""
    kata.solution.write_text(WORK)
    monkeypatch.setattr(os, "replace", raising(errno.EXDEV))

    kept = practice.set_aside(kata)

    assert (kept.read_text(), kata.solution.read_text()) == (WORK, demo.STUB)


def test_reset_of_a_link_keeps_what_it_leads_to(kata: Kata) -> None:
    """The file elsewhere stays, and its text is set aside."""
    elsewhere = kata.root / "elsewhere.py"
    elsewhere.write_text(WORK)
    kata.solution.symlink_to("../../elsewhere.py")

    kept = practice.set_aside(kata)

    assert (kept.read_text(), elsewhere.read_text()) == (WORK, WORK)
    assert kata.solution.read_text() == demo.STUB


@pytest.mark.parametrize("function", ["fsync", "replace", "link"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_reset_that_fails_changes_nothing(
    kata: Kata, monkeypatch: pytest.MonkeyPatch, function: str, number: int
) -> None:
    """Full disk or read-only folder: the work is where it was, and it is said why."""
    kata.solution.write_text(WORK)
    if function == "link":  # both ways to lay the stub out
        monkeypatch.setattr(files, "put", raising(number))
    else:
        monkeypatch.setattr(os, function, raising(number))

    with pytest.raises(WrongCommand) as caught:
        practice.start_anew(kata)

    advice = {
        errno.ENOSPC: "make room on the disk, then type the same again.",
        errno.EACCES: "make doctor  (says what is off)",
    }
    assert str(caught.value) == (
        "katas/demo/solution.py cannot be set aside, and is as it was: "
        f"{os.strerror(number)}\nNext: {advice[number]}"
    )
    assert kata.solution.read_text() == WORK
    assert all_files(kata.root) == {*demo.FILES, "katas/demo/solution.py"}
