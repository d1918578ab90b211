"""Where the tool runs: `.venv`, made and kept up to date here, or the Python at hand.

Imports the standard library alone: it runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from checks.harness.packages import PYPROJECT, is_recent_enough, requirements

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "katas-setup.log"
# `UNFINISHED`, or what .venv was made from; somebody's own .venv has no such file.
STATE = VENV / "katas-setup.txt"
UNFINISHED = "unfinished"

SECONDS_BETWEEN_SIGNS = 20.0
NO_NETWORK = re.compile(
    "NewConnectionError|Failed to establish|name resolution|unreachable|timed out"
    "|Connection refused|ConnectTimeout|ProxyError"
)
NEXT = "Then type again:"


class SetupFailed(Exception):
    """There is no environment to run in: why, and the command to type next.

    Where `type_next` is empty, that is the command that was typed.
    """

    def __init__(self, reason: str, type_next: str = "") -> None:
        """Keep both."""
        super().__init__(reason)
        self.type_next = type_next


def require_packages(arguments: list[str]) -> None:
    """Raise `SetupFailed` when this Python lacks what `python ARGUMENTS` needs.

    A version above the range passes: it will mostly do, and `make doctor` says so.
    """
    names = requirements("dependencies")
    if arguments[:2] in (["-m", "ruff"], ["-m", "mypy"]):
        names += requirements("dev")
    lacking = [name for name in names if not is_recent_enough(name)]
    if lacking:
        raise SetupFailed(
            f"VENV=0 uses {sys.executable} as it is, and that lacks"
            f" {', '.join(lacking)}.\nType:",
            pip_command(lacking),
        )


def is_as_it_is() -> bool:
    """Whether VENV=0 was typed: the Python that runs is used as it is."""
    return os.environ.get("VENV") == "0"


def pip_command(packages: list[str]) -> str:
    """Return the command by which a person installs packages into this Python."""
    return shlex.join([sys.executable, "-m", "pip", "install", *packages])


def state_of_venv() -> str:
    """Return what `STATE` says, or an empty text."""
    return STATE.read_text("utf-8") if STATE.exists() else ""


def wanted_state() -> str:
    """Return what `STATE` says when .venv is as pyproject.toml and this Python ask."""
    digest = hashlib.sha256(PYPROJECT.read_bytes()).hexdigest()[:16]
    return "Python {}.{}, pyproject.toml {}".format(*sys.version_info[:2], digest)


def is_ready() -> bool:
    """Whether .venv is whole, of this pyproject.toml and this version of Python."""
    return state_of_venv() == wanted_state() and os.access(PYTHON, os.X_OK)


def set_state(text: str) -> None:
    """Write `STATE` such that it is never there in part."""
    new = STATE.with_suffix(".new")
    new.write_text(text, "utf-8")
    os.replace(new, STATE)


def set_up() -> None:
    """Make .venv, or bring it up to pyproject.toml; raise `SetupFailed` if neither."""
    begun, before = time.monotonic(), state_of_venv()
    if before != UNFINISHED and version_of(PYTHON) == sys.version_info[:2]:
        say("Bringing .venv up to pyproject.toml …")
        update(before)
    elif before or not os.path.lexists(PYTHON):
        say("Setting up .venv (once; a minute or two, more on a slow line) …")
        make()
    else:
        raise SetupFailed(
            f"The .venv here is not of this tool's making, nor of {sys.executable}.\n"
            "Move it away, then type the same again:",
            "mv .venv .venv-old",
        )
    set_state(wanted_state())
    say(f"… .venv is ready after {time.monotonic() - begun:.0f} s.")


def say(text: str) -> None:
    """Print a line of progress, apart from what a word prints."""
    print(text, file=sys.stderr, flush=True)


def version_of(python: Path) -> tuple[int, ...]:
    """Return the (major, minor) of an interpreter, empty when it does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        printed = subprocess.check_output([python, "-c", code], text=True)
    except (OSError, subprocess.CalledProcessError):
        return ()
    return tuple(int(number) for number in printed.split())


def update(before: str) -> None:
    """Install into a .venv that works, whose state was `before`.

    Somebody's own, without a state, is never called unfinished: it must not be wiped.
    """
    if before:
        set_state(UNFINISHED)
    try:
        install()
    except SetupFailed:
        if before:
            set_state(before)  # it works as it did
        raise


def make() -> None:
    """Make .venv from nothing."""
    activated = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    if activated and not is_venv(activated):
        say(f"  (Not in {activated}, which is activated: VENV=0 uses that as it is.)")
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        version = "{}.{}".format(*sys.version_info[:2])
        raise SetupFailed(
            f"{sys.executable} cannot make an environment: its venv module is missing."
            f"\nOn Debian, Ubuntu or WSL: sudo apt install python{version}-venv\n{NEXT}"
        ) from None
    # The Python inside .venv is about to go: then the one that .venv was made with.
    base = sys._base_executable if is_venv(sys.prefix) else sys.executable  # type: ignore[attr-defined]
    clear()
    run([base, "-m", "venv", str(VENV)], "no environment could be made")
    install()


def is_venv(folder: str) -> bool:
    """Whether a folder is .venv."""
    return os.path.realpath(folder) == os.path.realpath(VENV)


def clear() -> None:
    """Leave nothing in .venv but the word that it is unfinished, which comes first."""
    try:
        VENV.mkdir(exist_ok=True)
        set_state(UNFINISHED)
        for entry in VENV.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry != STATE:
                entry.unlink()
    except OSError as error:
        raise SetupFailed(
            f"{VENV} cannot be written: {error.strerror}.\n{NEXT}"
        ) from None


def install() -> None:
    """Install what pyproject.toml names."""
    packages = requirements("dependencies") + requirements("dev")
    pip = [str(PYTHON), "-m", "pip", "install", "--no-input"]
    quiet = ["--disable-pip-version-check", "--no-warn-script-location"]
    run(pip + quiet + packages, "pip could not install the packages")


def run(command: list[str], failure: str) -> None:
    """Run a command, its output in `LOG`, with a sign of life now and then.

    Raises `SetupFailed` with its last lines when it fails.
    """
    begun = time.monotonic()
    with LOG.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        while process.poll() is None:
            try:
                process.wait(SECONDS_BETWEEN_SIGNS)
            except subprocess.TimeoutExpired:
                say(f"  {time.monotonic() - begun:.0f} s: {last_step()}")
            except KeyboardInterrupt:
                process.wait()  # it has had the same Ctrl-C
                raise
    if process.returncode:
        raise SetupFailed(f"Setting up .venv failed: {failure}.\n{why()}\n{NEXT}")


def last_step() -> str:
    """Return what pip last said that it does."""
    doing = r"^ *((?:Collecting|Downloading) \S+|Installing collected packages)"
    steps = re.findall(doing, LOG.read_text("utf-8", "replace"), re.MULTILINE)
    return str(steps[-1])[:70] if steps else "still at it"


def why() -> str:
    """Return the last lines of `LOG`, and what they mean where that is known."""
    text = LOG.read_text("utf-8", "replace")
    telling = (t for t in text.splitlines() if t.strip() and "Retrying" not in t)
    lines = [f"  | {line[:200]}" for line in telling][-4:]
    if NO_NETWORK.search(text):
        lines.append("There seems to be no network (behind a proxy: set HTTPS_PROXY).")
    elif "No matching distribution" in text:
        version = "{}.{}".format(*sys.version_info[:2])
        lines.append(
            f"No build of it for Python {version} yet? PYTHON=python3.12 takes another."
        )
    else:
        lines.append(f"All of it: {LOG}")
    return "\n".join(lines)
