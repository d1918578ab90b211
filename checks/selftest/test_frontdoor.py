"""The Makefile and the environment behind it, from a copy of the repository.

Most tests put a pretended `python3` first in the PATH: no network, no waiting. It runs
bootstrap.py for real, and makes a `.venv` whose Python prints what it was asked to do.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checks.harness import catalogue

ROOT = Path(__file__).parents[2]
NOT_COPIED = shutil.ignore_patterns(
    ".venv", ".git", ".practice", "__pycache__", ".*cache", ".hypothesis", "solution.py"
)
# What a `make test` round these tests, or the person who types it, has set.
NOT_INHERITED = re.compile(
    "MAKE|MFLAGS|VENV|PYTHON|NAME|FILE|TYPED|VIRTUAL_ENV|CONDA|FAKE"
)

FAKE_PYTHON = f"""\
#!/bin/sh
FAKE="$0" exec {sys.executable!r} "$FAKE_CODE" "$@"
"""
FAKE_CODE = """\
import importlib.metadata, os, pathlib, runpy, shutil, signal, sys

fake, arguments, say = os.environ.pop("FAKE"), sys.argv[1:], os.environ.get
if arguments[0] == "-c":
    exec(arguments[1])
elif arguments[:2] == ["-m", "venv"]:
    folder = pathlib.Path(arguments[2]) / "bin"
    folder.mkdir()
    shutil.copy(fake, folder / "python")
elif arguments[:2] == ["-m", "pip"]:
    print(say("FAKE_PIP", ""))
    if say("FAKE_PIP") == "killed":
        os.kill(os.getppid(), signal.SIGKILL)
    sys.exit(bool(say("FAKE_PIP")))
elif arguments[0].endswith("bootstrap.py"):
    sys.executable = fake
    if ".venv" in fake:
        sys.prefix = str(pathlib.Path(fake).parents[1])
        sys._base_executable = shutil.which("python3")
    if say("FAKE_VERSION"):
        sys.version_info = tuple(map(int, say("FAKE_VERSION").split(".")))
    if say("FAKE_LACKS"):
        sys.modules[say("FAKE_LACKS")] = None
        have = importlib.metadata.version
        def version(name):
            if name == say("FAKE_LACKS"):
                raise importlib.metadata.PackageNotFoundError
            return have(name)
        importlib.metadata.version = version
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")
else:
    print("ran", arguments)
"""


class FrontDoor:
    """A copy of the repository, to type `make` in."""

    def __init__(self, folder: Path) -> None:
        """Copy what a clone would hold, and lay the pretended Python ready."""
        self.root = folder / "a copy"
        shutil.copytree(ROOT, self.root, ignore=NOT_COPIED)
        self.bin = folder / "bin"
        self.bin.mkdir()
        for version in ("3", "3.13"):
            self.fake(f"python{version}")
        (folder / "fake.py").write_text(FAKE_CODE)
        kept = {k: v for k, v in os.environ.items() if not NOT_INHERITED.match(k)}
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        code = str(folder / "fake.py")
        self.environment = {**kept, "PATH": path, "FAKE_CODE": code}

    def fake(self, name: str) -> None:
        """Add a pretended Python to the PATH."""
        (self.bin / name).write_text(FAKE_PYTHON)
        (self.bin / name).chmod(0o755)

    def make(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Type `make WORDS`; paths in the output are shortened."""
        run = subprocess.run(
            ["make", *words],
            cwd=self.root,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        run.stdout, run.stderr = (
            text.replace(f"{self.root}/", "").replace(f"{self.bin}/", "/bin/")
            for text in (run.stdout, run.stderr)
        )
        return run

    def said(self, *words: str, **environment: str) -> str:
        """Type `make WORDS`, which fails; return what it says, less make's own line."""
        run = self.make(*words, **environment)
        assert run.returncode == 2
        assert run.stdout == ""
        text, last = run.stderr.rstrip("\n").rsplit("\n", 1)
        assert re.fullmatch(r"make: \*\*\* \[.*\] Error \d+", last)
        return text

    @property
    def state(self) -> str:
        """What .venv says of itself."""
        return (self.root / ".venv/katas-setup.txt").read_text()


@pytest.fixture
def door(tmp_path: Path) -> FrontDoor:
    """Return a fresh copy."""
    return FrontDoor(tmp_path)


# --- The words ------------------------------------------------------------------------

WORDS = """\
make WORD, where WORD is one of:
  help                                this list
  kata NAME= [FILE=]                  grade katas/NAME/solution.py
  list                                the katas: level, minutes, how far you are
  diff NAME= [GIVEUP=1] [UNIFIED=1]   your solution beside the reference
  reset NAME=                         start anew; your solution is kept
  matrix [NAME=]                      every known mistake against every check
  test                                the tests of the grader and the tool
  lint                                ruff and mypy; changes nothing
  format                              order the imports and format the code
  picture                             make the pictures in the README
  doctor                              what is installed, what is off

Start with: make kata NAME=train_epoch

The first word sets .venv up with the python3 that is found, or with PYTHON=….
An activated environment is left alone; VENV=0 uses it as it is (your torch).
On Linux without a GPU, this set before the first word saves gigabytes:
  export PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
"""


def test_bare_make_lists_its_words(door: FrontDoor) -> None:
    """`make` alone prints every word with a line each, and does nothing."""
    run = door.make()

    assert (run.stdout, run.stderr, run.returncode) == (WORDS, "", 0)
    assert all(len(line) <= 80 for line in WORDS.splitlines())
    assert not (door.root / ".venv").exists()


def test_makefile_is_for_make_3_81() -> None:
    """Nothing that macOS's GNU Make 3.81 does not know."""
    text = (ROOT / "Makefile").read_text()

    newer = r"^\.ONESHELL|^\s*\w+\s*!=|&:|\$\(file |^\s*\w+\s*:::=|\$\(let "
    assert not re.search(newer, text, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "ran"),
    [
        (["kata", "NAME=train_epoch"], [["checks.harness", "kata", "train_epoch"]]),
        (
            ["kata", "NAME=train_epoch", "FILE=it's my file.py"],
            [["checks.harness", "kata", "train_epoch", "--file", "it's my file.py"]],
        ),
        (["list"], [["checks.harness", "list"]]),
        (["diff", "NAME=train_epoch"], [["checks.harness", "diff", "train_epoch"]]),
        (
            ["diff", "NAME=train_epoch", "GIVEUP=1", "UNIFIED=1"],
            [["checks.harness", "diff", "train_epoch", "--giveup", "--unified"]],
        ),
        (["reset", "NAME=train_epoch"], [["checks.harness", "reset", "train_epoch"]]),
        (["matrix"], [["checks.harness", "matrix"]]),
        (["matrix", "NAME=evaluate"], [["checks.harness", "matrix", "evaluate"]]),
        (["picture"], [["checks.harness", "picture"]]),
        (["doctor"], [["checks.harness", "doctor"]]),
        (["test"], [["pytest", "-q", "checks/selftest"]]),
        (
            ["lint"],
            [
                ["ruff", "check", "--quiet", "."],
                ["ruff", "format", "--check", "--quiet", "."],
                ["mypy"],
            ],
        ),
        (
            ["format"],
            [
                ["ruff", "check", "--select", "I", "--fix", "--quiet", "."],
                ["ruff", "format", "--quiet", "."],
            ],
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value[0], str) else "",
)
def test_each_word_runs_its_module(
    door: FrontDoor, words: list[str], ran: list[list[str]]
) -> None:
    """A word is a line of `python -m …`, spaces and quotes in a file name included."""
    run = door.make(*words)

    assert run.stdout == "".join(f"ran {['-m', *line]}\n" for line in ran)
    assert run.returncode == 0


def test_only_words_typed_after_make_count(door: FrontDoor) -> None:
    """A NAME that WSL or a shell has exported is no kata."""
    door.make("list")

    run = door.make("kata", NAME="DESKTOP-1", FILE="x.py")

    assert run.stdout == "ran ['-m', 'checks.harness', 'kata', '']\n"


def test_ci_runs_the_tests(door: FrontDoor) -> None:
    """`.ci/run` is `make test`, from whatever folder it is started in."""
    run = subprocess.run(
        ["bash", door.root / ".ci/run"],
        cwd="/",
        env=door.environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stdout == "ran ['-m', 'pytest', '-q', 'checks/selftest']\n"
    assert run.returncode == 0


# --- A wrong NAME ---------------------------------------------------------------------


@pytest.mark.parametrize("word", ["kata", "diff", "reset"])
def test_wrong_name_is_answered_before_any_set_up(door: FrontDoor, word: str) -> None:
    """The names and the nearest; nothing is made, not even .venv."""
    before = sorted(door.root.rglob("*"))

    wrong = door.said(word, "NAME=train_epok")
    missing = door.said(word)

    known = ", ".join(kata.name for kata in catalogue.katas())
    assert wrong == (
        "there is no kata `train_epok`; did you mean `train_epoch`?\n"
        f"The katas: {known}"
    )
    assert missing == f"which kata? NAME is missing\nThe katas: {known}"
    made = set(door.root.rglob("*")) - set(before)
    assert {path for path in made if "__pycache__" not in path.parts} == set()


# --- No environment to be had ---------------------------------------------------------


def test_too_old_a_python_is_told_what_to_type(door: FrontDoor) -> None:
    """Which Python was found, and the command with one that is installed."""
    said = door.said("kata", "NAME=train_epoch", FAKE_VERSION="3.9.6")

    assert said == (
        "Python 3.10 or newer is needed; /bin/python3 is 3.9.6.\n"
        "Type:\n"
        "  make kata NAME=train_epoch PYTHON=python3.13"
    )


def test_old_pythons_can_read_the_bootstrap() -> None:
    """Python 3.6 gets the message, not a SyntaxError."""
    text = (ROOT / "checks/harness/bootstrap.py").read_text()

    ast.parse(text, feature_version=(3, 6))
    assert "from __future__" not in text  # 3.6 knows no annotations there


def test_no_python_is_told_where_to_get_one(door: FrontDoor) -> None:
    """Also when PYTHON names one that is not there."""
    said = door.said("kata", "NAME=train_epoch", "PYTHON=python9")

    assert said == (
        "python9 is not there. Install Python 3.10 or newer (www.python.org), or say"
        " where it is:\n"
        "  make kata NAME=train_epoch PYTHON=/path/to/python3"
    )


def test_missing_venv_module_is_told_how_to_get_it(door: FrontDoor) -> None:
    """Debian ships Python without it."""
    said = door.said(
        "kata", "NAME=train_epoch", FAKE_LACKS="ensurepip", FAKE_VERSION="3.12.1"
    )

    assert said == (
        "Setting up .venv (once; a minute or two, more on a slow line) …\n"
        "/bin/python3 cannot make an environment: its venv module is missing.\n"
        "On Debian, Ubuntu or WSL: sudo apt install python3.12-venv\n"
        "Then type again:\n"
        "  make kata NAME=train_epoch"
    )


@pytest.mark.parametrize(
    ("pip", "advice"),
    [
        (
            "NewConnectionError: Name or service not known\nERROR: No torch",
            "There seems to be no network (behind a proxy: set HTTPS_PROXY).",
        ),
        (
            "ERROR: No matching distribution found for torch",
            "No build of it for Python 3.12 yet? PYTHON=python3.12 takes another.",
        ),
        ("ERROR: No space left on device", "All of it: .venv/katas-setup.log"),
    ],
)
def test_failing_pip_is_quoted_and_explained(
    door: FrontDoor, pip: str, advice: str
) -> None:
    """The last words of pip, what they mean, and what to type next."""
    said = door.said("test", FAKE_PIP=pip, FAKE_VERSION="3.12.1")

    quoted = "".join(f"  | {line}\n" for line in pip.splitlines())
    assert said == (
        "Setting up .venv (once; a minute or two, more on a slow line) …\n"
        "Setting up .venv failed: pip could not install the packages.\n"
        f"{quoted}{advice}\n"
        "Then type again:\n"
        "  make test"
    )


# --- .venv ----------------------------------------------------------------------------

SETTING_UP = "Setting up .venv (once; a minute or two, more on a slow line) …\n"
UPDATING = "Bringing .venv up to pyproject.toml …\n"
READY = re.compile(r"… \.venv is ready after \d+ s\.\n")


def test_venv_is_set_up_once(door: FrontDoor) -> None:
    """With a line of progress the first time, in silence from then on."""
    before = set(door.root.iterdir())

    first, second = door.make("list"), door.make("list")

    assert READY.sub("", first.stderr) == SETTING_UP
    assert second.stderr == ""
    assert first.stdout == second.stdout == "ran ['-m', 'checks.harness', 'list']\n"
    assert set(door.root.iterdir()) - before == {door.root / ".venv"}


def test_interrupted_set_up_is_begun_again(door: FrontDoor) -> None:
    """A half-made .venv is not taken for a whole one, and nothing of it is kept."""
    door.make("list", FAKE_PIP="killed")
    assert door.state == "unfinished"
    (door.root / ".venv/half").mkdir()

    run = door.make("list")

    assert READY.sub("", run.stderr) == SETTING_UP
    assert not (door.root / ".venv/half").exists()
    assert door.make("list").stderr == ""


def test_changed_pyproject_brings_venv_up_to_date(door: FrontDoor) -> None:
    """What is installed is kept, also when pip then fails."""
    door.make("list")
    (door.root / ".venv/torch").mkdir()
    with (door.root / "pyproject.toml").open("a") as file:
        file.write("\n")

    failed = door.make("list", FAKE_PIP="no")
    updated, after = door.make("list"), door.make("list")

    assert failed.stderr.startswith(UPDATING + "Setting up .venv failed: pip could")
    assert READY.sub("", updated.stderr) == UPDATING
    assert after.stderr == ""
    assert (door.root / ".venv/torch").exists()


def test_another_python_sets_venv_up_anew(door: FrontDoor) -> None:
    """PYTHON is respected also when there is a .venv; without it .venv stays."""
    door.make("list")
    this = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert door.state.startswith(f"Python {this}, ")

    run = door.make("list", "PYTHON=python3.13", FAKE_VERSION="3.99.0")

    assert READY.sub("", run.stderr) == SETTING_UP
    assert door.state.startswith("Python 3.99, ")


def test_venv_of_somebody_else_is_never_wiped(door: FrontDoor) -> None:
    """It is completed where it works, and otherwise left to its owner."""
    python = door.root / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/nowhere")
    (door.root / ".venv/mine").mkdir()

    said = door.said("list")
    python.unlink()
    shutil.copy(door.bin / "python3", python)
    door.make("list", FAKE_PIP="killed")
    run = door.make("list")

    assert said == (
        "The .venv here is not of this tool's making, nor of /bin/python3.\n"
        "Move it away, then type the same again:\n"
        "  mv .venv .venv-old"
    )
    assert READY.sub("", run.stderr) == UPDATING
    assert (door.root / ".venv/mine").exists()


def test_activated_environment_is_left_alone_and_named(door: FrontDoor) -> None:
    """People with a torch of their own learn of VENV=0 before a download."""
    run = door.make("list", VIRTUAL_ENV="/envs/cuda")

    left_alone = "/envs/cuda, which is activated: VENV=0 uses that as it is."
    assert READY.sub("", run.stderr) == f"{SETTING_UP}  (Not in {left_alone})\n"


def test_venv_0_uses_the_environment_as_it_is(door: FrontDoor) -> None:
    """Whether it is typed or exported; no .venv is made."""
    typed, exported = door.make("list", "VENV=0"), door.make("list", VENV="0")

    assert typed.stdout == exported.stdout == "ran ['-m', 'checks.harness', 'list']\n"
    assert typed.stderr == exported.stderr == ""
    assert not (door.root / ".venv").exists()


def test_venv_0_names_what_is_missing(door: FrontDoor) -> None:
    """And the command that installs just that."""
    said = door.said("kata", "NAME=train_epoch", "VENV=0", FAKE_LACKS="torch")

    python = door.bin / "python3"
    assert said == (
        "VENV=0 uses /bin/python3 as it is, and that lacks torch>=2.6,<2.14.\n"
        "Type:\n"
        f"  {python} -m pip install 'torch>=2.6,<2.14'"
    ).replace(f"{door.bin}/", "/bin/")


# --- The whole way --------------------------------------------------------------------


def test_first_kata_lays_the_stub_out_and_grades_it(door: FrontDoor) -> None:
    """`make kata` in a clone: a solution to write in, and a verdict on it."""
    run = door.make("kata", "NAME=train_epoch", "VENV=0", f"PYTHON={sys.executable}")

    solution = door.root / "katas/train_epoch/solution.py"
    assert solution.read_text() == solution.with_name("stub.py").read_text()
    assert run.returncode == 2
    assert re.fullmatch(r"make: \*\*\* \[.*\] Error 1\n", run.stderr)
    assert "katas/train_epoch/solution.py" in run.stdout
