"""`make doctor`: each look says what it saw, and what to do where that is off."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from checks.harness import doctor, packages
from checks.harness.doctor import Finding

PIP = f"{shlex.quote(sys.executable)} -m pip install"


def test_all_is_well_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With everything there, each line is `ok` and the exit code 0."""
    monkeypatch.setenv("VENV", "0")
    monkeypatch.setattr(doctor, "nothing_stray", lambda root: Finding("no stray"))

    code = doctor.run()

    *lines, blank, last = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok   ") for line in lines)
    assert (blank, last, code) == ("", "All is well.", 0)


def test_what_is_off_is_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is 1, and what to do stands below what is off."""
    found = [Finding("fine"), Finding("broken", "mend it")]
    monkeypatch.setattr(doctor, "examine", lambda: iter(found))

    code = doctor.run()

    printed = "ok   fine\noff  broken\n     mend it\n\n1 off: see above.\n"
    assert (capsys.readouterr().out, code) == (printed, 1)


@pytest.mark.parametrize(
    ("version", "finding"),
    [
        ("2.13.0+cpu", Finding("torch 2.13.0+cpu")),
        ("2.6.0a0+git12", Finding("torch 2.6.0a0+git12")),
        (
            "2.5.1",
            Finding(
                "torch 2.5.1 is too old, torch>=2.6,<2.14 is needed",
                f"{PIP} 'torch>=2.6,<2.14'",
            ),
        ),
        (
            "2.14.0",
            Finding(
                "torch 2.14.0 is newer than tested, torch>=2.6,<2.14",
                f"{PIP} 'torch>=2.6,<2.14'",
            ),
        ),
        (None, Finding("torch is not installed", f"{PIP} 'torch>=2.6,<2.14'")),
    ],
)
def test_versions_are_held_against_the_range(
    monkeypatch: pytest.MonkeyPatch, version: str | None, finding: Finding
) -> None:
    """Too old, too new and missing each come with the command that mends it."""
    monkeypatch.setattr(packages, "installed", lambda name: version)

    assert doctor.package("torch>=2.6,<2.14") == finding


def test_broken_torch_is_told_and_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A torch that does not load is one line, and the other looks go on."""
    monkeypatch.setitem(sys.modules, "torch", None)

    finding = doctor.torch_works()

    assert finding.seen.startswith("torch does not load: ModuleNotFoundError: ")
    assert finding.to_do == f"{PIP} --force-reinstall 'torch>=2.6,<2.14'"


def test_stray_files_at_the_top_are_named(tmp_path: Path) -> None:
    """Dotfiles and what belongs there are not."""
    for name in ("README.md", ".idea", "build", "notes.txt"):
        (tmp_path / name).mkdir()

    assert doctor.nothing_stray(tmp_path) == Finding(
        "at the top, but not of this repository: build, notes.txt", "move it away"
    )


def test_requirements_are_those_of_pyproject() -> None:
    """The arrays are read whole, comments and commas included."""
    names = [
        packages.package_of(name) for name in packages.requirements("dependencies")
    ]

    assert names[:3] == ["torch", "numpy", "pytest"]
    assert packages.requirements("dev") == ["ruff", "mypy"]
    with pytest.raises(LookupError, match="no array `docs`"):
        packages.requirements("docs")
