"""From what a run left behind to a verdict. It fails closed.

*Passed* takes an exit code of 0, a finish record, and exactly the checks that the
kata's file defines, each of them passed in set-up, call and tear-down. Everything else
is one of the other four verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checks.harness import stopping
from checks.harness.limits import Limits
from checks.harness.stopping import Ending
from checks.harness.verdict import Check, Word

PHASES = ["setup", "call", "teardown"]
LEFT_OUT = ["setup", "teardown"]  # when the set-up failed, or left the check out
FAULT = "grader fault"  # what conftest says first of a check that failed by itself
NOT_WRITTEN = "not written yet"  # what it says first of a NotImplementedError
NOT_RUN = "not run"

Decision = tuple[Word, str, tuple[Check, ...]]


def decide(names: Sequence[str], text: str, ending: Ending, limits: Limits) -> Decision:
    """Return the verdict's word, its message, and all checks `names` in order.

    `text` is the candidate's, to quote from.
    """
    broken = _fault(names, ending)
    if broken and "MemoryError" in broken:  # it is theirs that left us none
        broken, ending = None, ending.cut_for("memory")
    if broken:
        return "fault", broken, _not_run(names)
    if not ending.imported:
        word, message = _before_the_checks(text, ending, limits)
        return word, message, _not_run(names)
    judged = [_check(name, ending, limits) for name in names]
    if ending.came_to_its_end:
        return _conclude(names, judged, ending)
    return _stopped(names, judged, stopping.why(ending, text, limits))


def _before_the_checks(text: str, ending: Ending, limits: Limits) -> tuple[Word, str]:
    """Decide on a file that was not imported to its end."""
    refused = ending.first("not_ready")
    if refused and not ending.cut:
        message: str = refused["message"]
        if stopping.OUT_OF_MEMORY.search(message):
            said = stopping.out_of_memory(stopping.cited(message), limits)
            return "stopped", f"while it was imported, {said}"
        return "not_ready", message
    message = f"while it was imported, {stopping.why(ending, text, limits)}"
    exited = not ending.cut and ending.code >= 0 and not ending.timed_out
    return "not_ready" if exited else "stopped", message


def _check(name: str, ending: Ending, limits: Limits) -> Check | None:
    """Return how one check ended, None if it did not."""
    phases = ending.phases(name)
    order = [phase["when"] for phase in phases]
    if not order or order[-1] != "teardown":
        return None
    failed = next((p for p in phases if p["outcome"] == "failed"), None)
    if failed:
        return _failed(name, failed, limits)
    if phases[0]["outcome"] == "not_checked" and order == LEFT_OUT:
        return Check(name, "not_checked", phases[0]["message"])
    if order == PHASES and all(p["outcome"] == "passed" for p in phases):
        return Check(name, "passed")
    return None


def _failed(name: str, phase: dict[str, Any], limits: Limits) -> Check:
    message: str = phase["message"]
    if phase["raised"] == "MemoryError" or stopping.OUT_OF_MEMORY.search(message):
        text = stopping.out_of_memory(stopping.cited(message), limits)
        return Check(name, "stopped", text)
    if phase["raised"] == "SystemExit":
        return Check(name, "stopped", stopping.exited(stopping.cited(message)))
    return Check(name, "failed", message)


def _conclude(
    names: Sequence[str], judged: Sequence[Check | None], ending: Ending
) -> Decision:
    """Decide on a run that nobody ended before its time."""
    checks = tuple(check for check in judged if check is not None)
    wrong = [check for check in checks if check.outcome in ("failed", "stopped")]
    stopped = [check for check in wrong if check.outcome == "stopped"]
    faults = [check for check in wrong if check.message.startswith(FAULT)]
    if len(checks) != len(names) or ending.code not in (0, 1):
        message = f"{FAULT}: the run ended with code {ending.code} and records missing"
        return "fault", message, _not_run(names)
    if stopped:
        return "stopped", _in_check(stopped[0]), checks
    if faults:
        return "fault", _in_check(faults[0]), checks
    if wrong and _is_not_written(wrong):
        return "not_ready", wrong[0].message, checks
    if wrong:
        return "wrong", "", checks
    if ending.code == 0 and all(check.outcome == "passed" for check in checks):
        return "passed", "", checks
    return "fault", f"{FAULT}: no check failed, but not all of them passed", checks


def _is_not_written(wrong: Sequence[Check]) -> bool:
    """Whether nothing is wrong but that the code still raises NotImplementedError."""
    theirs = all("NotImplementedError" in check.message for check in wrong)
    return theirs and wrong[0].message.startswith(NOT_WRITTEN)


def _stopped(
    names: Sequence[str], judged: Sequence[Check | None], reason: str
) -> Decision:
    """Put the end of the run down to the first check that did not end."""
    checks: list[Check] = []
    running: Check | None = None
    for name, check in zip(names, judged, strict=True):
        if check is None and running is None:
            check = running = Check(name, "stopped", reason)
        checks.append(check or Check(name, "not_checked", NOT_RUN))
    message = _in_check(running) if running else reason
    return "stopped", message, tuple(checks)


def _in_check(check: Check) -> str:
    return f"in the check `{check.name}`, {check.message}"


def _not_run(names: Sequence[str]) -> tuple[Check, ...]:
    return tuple(Check(name, "not_checked", NOT_RUN) for name in names)


def _fault(names: Sequence[str], ending: Ending) -> str | None:
    """Say what went wrong on our side, None if nothing did."""
    recorded = ending.first("fault")
    if recorded:
        return f"{FAULT}: the checks could not be run\n{recorded['message']}"
    if ending.cut == "start" or ending.first("import_started") is None:
        return f"{FAULT}: no child that could load the file (code {ending.code})"
    collected = ending.first("collected")
    if collected and collected["checks"] != list(names):
        return f"{FAULT}: other checks were collected than the kata's file defines"
    recorded_names = {r["check"] for r in ending.records if r["event"] == "phase"}
    orders = [[p["when"] for p in ending.phases(name)] for name in names]
    if recorded_names - set(names) or not all(_is_a_beginning(o) for o in orders):
        return f"{FAULT}: checks were recorded that were not to be run, or twice"
    return None


def _is_a_beginning(order: list[str]) -> bool:
    return order in (PHASES[: len(order)], LEFT_OUT)
