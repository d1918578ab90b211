"""What a candidate's code may take, and how the child is held to it.

Time is watched from outside Python, by faulthandler's own thread: a C call and a bare
`except:` obey it too. The parent watches the rest, and the whole.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1  # of prctl: the signal to get when the parent dies


@dataclass(frozen=True)
class Limits:
    """How much a candidate's file may take. Times in seconds, sizes in bytes."""

    importing: float = 20.0
    check: float = 10.0
    whole: float = 90.0
    start: float = 60.0  # of a child that is not forked, until it is warm
    output: int = 10 * 2**20
    memory: int = 2 * 2**30  # over what the child holds at its start
    file: int = 64 * 2**20  # of any file it writes


def confine(limits: Limits) -> None:
    """Hold this process to its limits, and let it die with its parent."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file, limits.file))
        # Linux alone says how much there is, and keeps to what is asked for.
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + limits.memory
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def allow_all_memory() -> None:
    """Take the limit of memory away, to have some for last words."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python or torch could not get memory."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


@contextlib.contextmanager
def time_limit(seconds: float, faults: int) -> Iterator[None]:
    """End the process if the block takes longer; its stack is written to `faults`."""
    start_time(seconds, faults)
    try:
        yield
    finally:
        stop_time()


def start_time(seconds: float, faults: int) -> None:
    """End the process `seconds` from now, in place of any earlier such wish."""
    try:
        faulthandler.dump_traceback_later(seconds, exit=True, file=faults)
    except RuntimeError as error:  # the candidate's threads have left it no room
        raise MemoryError(str(error)) from error


def stop_time() -> None:
    """Let the process go on for as long as it likes."""
    faulthandler.cancel_dump_traceback_later()
