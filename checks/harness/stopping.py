"""Why a run did not come to its end, in words: time, memory, output, crash, exit."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, replace
from typing import Any, Literal

from checks.harness.limits import Limits
from checks.harness.loading import NAME

Cut = Literal["start", "time", "memory", "output"]

TIMEOUT = re.compile(r"^Timeout \(", re.MULTILINE)
FRAME = re.compile(rf'^  File ".*{NAME}\.py", line (\d+)', re.MULTILINE)
THREAD = re.compile(r"^(?:Current )?[Tt]hread .*most recent call first", re.MULTILINE)
QUOTE = re.compile(rf"\n  {NAME}\.py line \d+: .*")
OUT_OF_MEMORY = re.compile(r"raised MemoryError|can't allocate memory")


@dataclass(frozen=True)
class Ending:
    """All that is known of a run once it is over.

    `cut` is why the parent stopped it, if it did. `faults` is what the fault handler
    wrote: the stack at a time-out or a crash. `code` is the exit code, or minus the
    number of the signal.
    """

    code: int
    cut: Cut | None
    records: list[dict[str, Any]]
    faults: str
    output: str
    seconds: float

    def first(self, event: str) -> dict[str, Any] | None:
        """Return the first record of one kind."""
        return next((r for r in self.records if r["event"] == event), None)

    def phases(self, check: str) -> list[dict[str, Any]]:
        """Return the records of one check, in the order in which they came."""
        of_checks = (r for r in self.records if r["event"] == "phase")
        return [record for record in of_checks if record["check"] == check]

    def cut_for(self, reason: Cut) -> Ending:
        """Return the same ending, put down to `reason`."""
        return replace(self, cut=reason)

    @property
    def timed_out(self) -> bool:
        """Whether one check, the import or the whole took too long."""
        return self.cut == "time" or TIMEOUT.search(self.faults) is not None

    @property
    def imported(self) -> bool:
        """Whether the candidate's file was loaded to its end."""
        return self.first("import_finished") is not None

    @property
    def came_to_its_end(self) -> bool:
        """Whether nobody ended the run before its time."""
        finish = self.first("finish")
        whole = finish is not None and finish["code"] == self.code and not self.cut
        return whole and self.first("interrupted") is None


def why(ending: Ending, text: str, limits: Limits) -> str:
    """Say what ended the run, where in the candidate's `text`, and what to do next."""
    where = quoted(line_of(ending), text)
    if ending.cut == "memory" or ending.first("out_of_memory"):
        return out_of_memory(where, limits)
    if ending.cut == "output":  # where it was by then is not where it printed
        return (
            f"your code printed more than {_size(limits.output)}"
            f"{quoted(line_with('print(', text), text)}\n"
            "Next: take the printing out of the loop; no check reads it."
        )
    if ending.timed_out:
        return (
            f"your code did not end within {_patience(ending, limits):g} s{where}\n"
            "Next: find what never ends: a loop without a way out, a wait for what "
            "never comes."
        )
    if ending.code < 0:
        name, meaning = signal_name(-ending.code)
        return (
            f"your code crashed the process: {name}, {meaning}{where}\n"
            "Next: find what reaches outside Python: ctypes, os.kill, deep recursion."
        )
    where = where or quoted(line_with("_exit(", text), text)
    return exited(where, _way_out(ending))


def _way_out(ending: Ending) -> str:
    interrupted = ending.first("interrupted")
    if interrupted is None:
        return f"ended the process (exit code {ending.code}, as os._exit does)"
    if interrupted["what"] == "KeyboardInterrupt":
        return "ended the run (KeyboardInterrupt)"
    return "ended the run (pytest.exit)"


def exited(where: str, how: str = "ended the process (sys.exit)") -> str:
    """Say that the code did not return but ended all; `where` as in `out_of_memory`."""
    return (
        f"your code {how}{where}\n"
        "Next: end with `return` or `raise`; the process is not yours to end."
    )


def out_of_memory(where: str, limits: Limits) -> str:
    """Say that the memory is used up; `where` starts with a line break, or is empty."""
    return (
        f"your code took more than {_size(limits.memory)} of memory{where}\n"
        "Next: look what grows there, or is kept: a list, a graph, a size."
    )


def line_of(ending: Ending) -> int | None:
    """Return the line of the candidate's file in which the run was when it ended."""
    recorded = ending.first("interrupted") or ending.first("out_of_memory")
    if recorded:
        line: int | None = recorded["line"]
        return line
    # The main thread, which called the candidate, is the last that is listed.
    for stack in reversed(THREAD.split(ending.faults)):
        if frame := FRAME.search(stack):
            return int(frame[1])
    return None


def line_with(code: str, text: str) -> int | None:
    """Return the first line of the candidate's text that has `code` in it."""
    lines = enumerate(text.splitlines(), start=1)
    return next((number for number, line in lines if code in line), None)


def cited(message: str) -> str:
    """Return the part of a check's message that quotes the candidate's line."""
    found = QUOTE.search(message)
    return found[0] if found else ""


def quoted(line: int | None, text: str) -> str:
    """Quote a line of the candidate's file, on a line of its own; nothing for None."""
    lines = text.splitlines()
    if line is None or not 0 < line <= len(lines):
        return ""
    return f"\n  {NAME}.py line {line}: {lines[line - 1].strip()}"


def signal_name(number: int) -> tuple[str, str]:
    """Return a signal's name and meaning: ("SIGSEGV", "Segmentation fault")."""
    try:
        return signal.Signals(number).name, signal.strsignal(number) or "a signal"
    except ValueError:
        return f"signal {number}", "unknown"


def _patience(ending: Ending, limits: Limits) -> float:
    if ending.cut == "time" and ending.imported:
        return limits.whole
    return limits.check if ending.imported else limits.importing


def _size(size: int) -> str:
    return f"{size / 2**30:g} GiB" if size >= 2**30 else f"{size / 2**20:g} MiB"
