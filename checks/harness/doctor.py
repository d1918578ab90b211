"""`make doctor`: what is installed, what is off, and what to do about it.

Each look imports what it looks at by itself: the doctor must also speak where
something is missing or broken.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checks.harness import catalogue, environment, packages

ROOT = Path(__file__).parents[2]
# Dotfiles apart, nothing else stands at the top.
TOP_LEVEL = frozenset(
    ["Makefile", "README.md", "checks", "katas", "pyproject.toml", "reference"]
)
ENOUGH_MB = 200  # one run may print 10 MB and write 64; the rest is for a busy machine


@dataclass(frozen=True)
class Finding:
    """What was seen, and what to do where that is off."""

    seen: str
    to_do: str = ""

    def __str__(self) -> str:
        """Return one line, and a second one where there is something to do."""
        return (
            f"off  {self.seen}\n     {self.to_do}"
            if self.to_do
            else f"ok   {self.seen}"
        )


def run(_args: argparse.Namespace | None = None) -> int:
    """Print what is found as it is found; return 1 when something is off, else 0."""
    num_off = 0
    for finding in examine():
        print(finding, flush=True)
        num_off += bool(finding.to_do)
    print(f"\n{num_off} off: see above." if num_off else "\nAll is well.")
    return 1 if num_off else 0


def examine() -> Iterator[Finding]:
    """Look at one thing after the other."""
    yield (environment_found := python())
    yield forks()  # before torch, which starts threads
    if not environment_found.to_do:  # else what is in this Python does not matter
        for requirement in packages.requirements("dependencies"):
            yield package(requirement)
        for requirement in packages.requirements("dev"):
            yield package(requirement, only_for="`make lint` and `make format`")
        yield torch_works()
    yield can_write(ROOT / "katas")
    yield can_write(ROOT / ".practice")
    yield has_room(ROOT)
    yield has_room(Path(tempfile.gettempdir()))
    yield begun(ROOT)
    yield nothing_stray(ROOT)


def python() -> Finding:
    """Look at which Python this is, and at the state of .venv."""
    version = ".".join(map(str, sys.version_info[:3]))
    seen = f"Python {version}, {sys.executable}"
    if environment.is_as_it_is() or environment.is_ready():
        return Finding(seen)
    there = environment.VENV.exists()
    state = "is not as pyproject.toml asks" if there else "is not there yet"
    return Finding(f"{seen}: .venv {state}", "make list  (sets it up)")


def package(requirement: str, only_for: str = "") -> Finding:
    """Look at whether a package is there, in the range asked for.

    `only_for` says what works less well without it, where the katas do not need it.
    """
    name = packages.package_of(requirement)
    version = packages.installed(name)
    command = environment.pip_command([requirement])
    if version is None and only_for:
        return Finding(f"{name} is not installed: only {only_for} would need it")
    if version is None:
        return Finding(f"{name} is not installed", command)
    if not packages.is_recent_enough(requirement):
        return Finding(f"{name} {version} is too old, {requirement} is needed", command)
    if packages.is_too_new(requirement):
        return Finding(f"{name} {version} is newer than tested, {requirement}", command)
    return Finding(f"{name} {version}")


def forks() -> Finding:
    """Look at whether a process can fork, which makes a verdict quick."""
    try:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    except (AttributeError, OSError) as error:
        slow = "each verdict starts Python anew, some seconds; on Windows use WSL"
        return Finding(f"no fork to be had ({error})", slow)
    return Finding("processes fork")


def torch_works() -> Finding:
    """Look at whether torch computes, on what, and with how many threads."""
    try:
        import torch

        torch.ones(2).sum().item()
    except Exception as error:
        first = str(error).strip().splitlines() or [""]
        seen = f"torch does not load: {type(error).__name__}: {first[0]}"
        torch_range = packages.requirements("dependencies")[0]
        return Finding(
            seen, environment.pip_command(["--force-reinstall", torch_range])
        )
    cuda = torch.cuda.get_device_name() if torch.cuda.is_available() else "no"
    return Finding(f"torch computes; CUDA: {cuda}; {torch.get_num_threads()} threads")


def can_write(folder: Path) -> Finding:
    """Look at whether files can be made in a folder, or the folder itself."""
    shown = folder.relative_to(ROOT)
    if os.access(folder if folder.exists() else folder.parent, os.W_OK | os.X_OK):
        return Finding(f"{shown} can be written")
    return Finding(f"{shown} cannot be written", f'sudo chown -R "$USER" "{ROOT}"')


def has_room(folder: Path) -> Finding:
    """Look at the room that is left where a folder lies."""
    free_mb = shutil.disk_usage(folder).free // 2**20
    if free_mb >= ENOUGH_MB:
        return Finding(f"{free_mb} MB free in {folder}")
    return Finding(f"only {free_mb} MB free in {folder}", f"make room: {ENOUGH_MB} MB")


def begun(root: Path) -> Finding:
    """Count the katas that have a solution."""
    katas = catalogue.katas(root)
    names = [kata.name for kata in katas if kata.solution.exists()]
    which = f": {', '.join(names)}" if names else ""
    return Finding(f"{len(names)} of {len(katas)} katas begun{which}")


def nothing_stray(root: Path) -> Finding:
    """Look for what does not belong at the top of the repository."""
    names = {path.name for path in root.iterdir() if not path.name.startswith(".")}
    stray = ", ".join(sorted(names - TOP_LEVEL))
    if stray:
        return Finding(
            f"at the top, but not of this repository: {stray}", "move it away"
        )
    return Finding("nothing stray at the top")
