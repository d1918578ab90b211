"""What a red check says: the check's own words, or what the candidate's code raised.

A candidate never sees a traceback of ours, only the line of theirs.
"""

from __future__ import annotations

import linecache
import re
import traceback
from types import FrameType, TracebackType

import pytest
from hypothesis.errors import Flaky

FAULT = "grader fault"
NOT_WRITTEN = "not written yet"


def explain(error: BaseException, solution: str) -> str:
    """Say why a check is red.

    `solution` is the path that the candidate's module was loaded from. An assertion of
    the check speaks for itself. Anything else that passed through the candidate's file
    is theirs, and named with its line. The rest is a fault of the grader.
    """
    error, flaky = _unwrap(error)
    line = _line_of_theirs(error.__traceback__, solution)
    if line is not None:
        text = _raised(error, line, solution) + _world(error)
    elif isinstance(error, AssertionError):
        text = str(error).partition("\nassert ")[0]  # what pytest's rewriting adds
    elif _is_wrong_call(error):
        text = f"your function cannot be called as the statement says: {error}"
    else:
        trace = "".join(traceback.format_exception(error))
        return f"{FAULT}: a check failed by itself, not your code.\n{trace}"
    if flaky:
        text += (
            "\nCalled again with the same input it did something else: "
            "does your code keep anything between calls, or draw random numbers?"
        )
    return text


def _unwrap(error: BaseException) -> tuple[BaseException, bool]:
    """Look inside Hypothesis' groups: of several red examples, of one that is flaky."""
    flaky = isinstance(error, Flaky)
    while getattr(error, "exceptions", ()):
        error = error.exceptions[0]  # type: ignore[attr-defined]
    return error, flaky


def _line_of_theirs(trace: TracebackType | None, solution: str) -> int | None:
    """Return the deepest line of the candidate's file that the error passed through."""
    lines = [
        number for frame, number in traceback.walk_tb(trace) if _file(frame) == solution
    ]
    return lines[-1] if lines else None


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename


def _raised(error: BaseException, line: int, solution: str) -> str:
    where = f"solution.py line {line}: {linecache.getline(solution, line).strip()}"
    if isinstance(error, NotImplementedError) and "NotImplementedError" in where:
        return f"{NOT_WRITTEN}: your code still raises NotImplementedError\n  {where}"
    if isinstance(error, pytest.skip.Exception):
        return f"your code called pytest.skip()\n  {where}"
    if isinstance(error, pytest.fail.Exception):
        return f"your code called pytest.fail() or pytest.xfail()\n  {where}"
    reason = str(error).strip().splitlines()
    what = type(error).__name__ + (f": {reason[0][:300]}" if reason else "")
    return f"your code raised {what}\n  {where}{_advice(what)}"


def _advice(what: str) -> str:
    """Say what torch and Python do not about some errors that every kata meets."""
    if "has no len()" in what or "has no attribute 'dataset'" in what:
        return (
            "\n  batches may come from a generator, which has no length and no data "
            "set: count in the loop"
        )
    return ""


def _world(error: BaseException) -> str:
    """Say with which drawn values the check called, as Hypothesis notes them."""
    notes = "\n".join(getattr(error, "__notes__", ()))
    drawn = re.findall(r"^    (?!kata=)(\w+=.+?),?$", notes, re.MULTILINE)
    return f"\n  called with {', '.join(drawn)[:200]}" if drawn else ""


def _is_wrong_call(error: BaseException) -> bool:
    """Whether calling the candidate's function failed before its first line."""
    words = ("argument", "takes ", "is not callable", "does not take")
    return isinstance(error, TypeError) and any(w in str(error) for w in words)
