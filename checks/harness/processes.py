"""The processes of a run: started apart, looked at while they run, ended to the last.

A candidate's code may start processes of its own, and leave them behind. On Linux this
process adopts such orphans (it is their "subreaper"), so that none gets away.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from checks.harness import catalogue
from checks.harness.worker import Job, run

PR_SET_CHILD_SUBREAPER = 36  # of prctl
LAST_WORDS = 0.5  # seconds that a process gets to say where it stood


class Child(Protocol):
    """A started process, as `subprocess.Popen` shows it."""

    pid: int

    def poll(self) -> int | None:
        """Return the exit code, minus the signal's number, or None while it runs."""


class Forked:
    """A child by `os.fork`, in a session of its own."""

    def __init__(self, target: Callable[[], NoReturn], output: int) -> None:
        """Run `target` in the child; it reads nothing and prints to `output`."""
        self.returncode: int | None = None
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            # Python 3.12 warns of forking beside threads; those here belong to BLAS.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                _redirect(output)
                target()
            finally:
                os._exit(os.EX_SOFTWARE)

    def poll(self) -> int | None:
        """Return the exit code, minus the signal's number, or None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def can_fork() -> bool:
    """Whether to fork. Not on macOS, whose system libraries do not survive it."""
    wish = os.environ.get("KATAS_FORK", "0" if sys.platform == "darwin" else "1")
    return hasattr(os, "fork") and wish != "0"


def start(job: Job, output: int) -> Child:
    """Start the child of a job: forked, or fresh where fork is not to be had."""
    if can_fork():
        return Forked(lambda: run(job), output)
    return subprocess.Popen(
        [sys.executable, "-m", "checks.harness.worker", job.as_json()],
        cwd=catalogue.ROOT,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=(job.records, job.faults),
        start_new_session=True,
    )


def stop(child: Child) -> int:
    """End a child and its family; return its exit code.

    SIGABRT first: its fault handler then writes down which line it is in.
    """
    relatives = family(child.pid, table())
    if child.poll() is None:
        os.kill(child.pid, signal.SIGABRT)
        deadline = time.monotonic() + LAST_WORDS
        while child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
    for relative in relatives:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(relative.pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    while (code := child.poll()) is None:
        time.sleep(0.001)
    return code


@dataclass(frozen=True)
class Entry:
    """A line of the table of processes; `resident` in bytes."""

    pid: int
    parent: int
    group: int
    session: int
    resident: int


def table() -> list[Entry]:
    """Return the processes that there are."""
    if sys.platform == "linux":
        stats = Path("/proc").glob("[0-9]*/stat")
        return [entry for stat in stats if (entry := _of_linux(stat)) is not None]
    listing = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,pgid=,rss="],
        capture_output=True,
        text=True,
        check=False,
    )
    rows = [
        [int(field) for field in row.split()] for row in listing.stdout.splitlines()
    ]
    return [Entry(pid, ppid, pg, pg, 1024 * rss) for pid, ppid, pg, rss in rows]


def family(leader: int, entries: Iterable[Entry]) -> list[Entry]:
    """Return a child, its session and group, and everything that descends from it."""
    found: dict[int, Entry] = {}
    pending = [e for e in entries if leader in (e.pid, e.group, e.session)]
    while pending:
        found.update((entry.pid, entry) for entry in pending)
        pending = [e for e in entries if e.parent in found and e.pid not in found]
    return list(found.values())


def excess(leader: int, entries: Iterable[Entry], start: int) -> int:
    """Return the memory that a child's family holds over what each began with.

    A forked process begins with all that its parent has: `start` bytes.
    """
    return sum(max(0, e.resident - start) for e in family(leader, entries))


def resident(pid: int) -> int:
    """Return the memory that a process holds, in bytes; 0 when it is gone."""
    return sum(entry.resident for entry in table() if entry.pid == pid)


def children() -> set[int]:
    """Return the children of this process."""
    return {entry.pid for entry in table() if entry.parent == os.getpid()}


def adopt_orphans() -> bool:
    """Become the parent of what runs leave behind; return whether that is possible."""
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def sweep(known: Collection[int], running: Collection[int]) -> None:
    """End the orphans that came to this process.

    `known` are children that are none of ours to end, `running` the leaders of runs
    that go on, whose families are spared.
    """
    for _ in range(100):  # an orphan's children come to us when it is gone
        strays = [
            entry.pid
            for entry in table()
            if entry.parent == os.getpid()
            and entry.pid not in known
            and not {entry.pid, entry.session}.intersection(running)
        ]
        if not strays:
            return
        for pid in strays:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _of_linux(stat: Path) -> Entry | None:
    try:
        text = stat.read_text()
    except OSError:  # it ended while we looked
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name may hold anything
    parent, group, session = (int(field) for field in fields[1:4])
    resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return Entry(int(stat.parent.name), parent, group, session, resident)


def _redirect(output: int) -> None:
    """Read from nowhere, print to `output`: on the descriptors and in `sys`."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nowhere, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
