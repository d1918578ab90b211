"""What a run leaves behind: one JSON line for each thing that happened, as it happens.

The child writes with `Records`, and what pytest does reaches it through `Recorder`. The
parent reads whatever there is: a child that dies leaves all that came before.
"""

from __future__ import annotations

import json
import os
import re
import traceback
from collections.abc import Generator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from checks.harness import limits

LONGEST = 4000  # characters of a message; a repr of something huge is cut


class Records:
    """The writing end: unbuffered, so that no crash takes a line with it."""

    def __init__(self, descriptor: int, folder: Path) -> None:
        """Write to `descriptor`; `folder` is where the candidate's copy stands."""
        self.descriptor = descriptor
        self.folder = folder
        self.owner = os.getpid()

    def write(self, event: str, **content: Any) -> None:
        """Append one record.

        A copy of the process that the candidate's code forked, and let run on into the
        checks, ends here: it has nothing to say.
        """
        if os.getpid() != self.owner:
            os._exit(0)
        line = json.dumps({"event": event, **content}) + "\n"
        os.write(self.descriptor, line.encode())

    def tidy(self, text: str) -> str:
        """Make a message the same in every run: no temporary folder, no address."""
        text = text.replace(f"{self.folder}{os.sep}", "")
        text = re.sub(r"(?: at)? 0x[0-9a-f]{6,}", "", text)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n..."


def read(content: bytes) -> list[dict[str, Any]]:
    """Return the records; the last line may be torn, and is then left out.

    Records that something wrote into count as a fault.
    """
    lines = content.split(b"\n")[:-1]
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        return [{"event": "fault", "message": f"the records cannot be read: {error}"}]


class Candidate:
    """The plugin that the `kata` fixture takes the module from."""

    def __init__(self, module: ModuleType) -> None:
        """Hold the candidate's module."""
        self.module = module


class Recorder:
    """A pytest plugin that records what was collected and each phase of each check."""

    def __init__(self, records: Records, candidate: Candidate) -> None:
        """Write to `records`; offer `candidate` to the checks."""
        self.records = records
        self.candidate = candidate

    def pytest_configure(self, config: pytest.Config) -> None:
        """Offer the candidate's module under the name that conftest looks for."""
        config.pluginmanager.register(self.candidate, "candidate")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record checks that cannot be imported."""
        if report.failed:
            self.records.write("fault", message=str(report.longrepr)[-LONGEST:])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Record which checks there are to run."""
        names = [_name(item) for item in session.items]
        self.records.write("collected", checks=names)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Record a phase as conftest left it; what is not plainly passed has failed."""
        if call.excinfo is not None and limits.is_out_of_memory(call.excinfo.value):
            self._end_for_memory(call.excinfo)
        report = yield
        plain = report.passed and not hasattr(report, "wasxfail")
        left_out = report.when == "setup" and getattr(report, "not_checked", False)
        outcome = "passed" if plain else "not_checked" if left_out else "failed"
        self.records.write(
            "phase",
            check=_name(item),
            when=report.when,
            outcome=outcome,
            message="" if plain else self.records.tidy(_message(report)),
            raised=call.excinfo.typename if call.excinfo else None,
        )
        return report

    def pytest_keyboard_interrupt(
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> None:
        """Record who ended the run: pytest.exit(), or a raised KeyboardInterrupt."""
        line = self._line_of(excinfo)
        self.records.write("interrupted", what=excinfo.typename, line=line)

    def pytest_internalerror(self, excrepr: Any) -> None:
        """Record a fault of pytest's or of ours."""
        self.records.write("fault", message=str(excrepr)[-LONGEST:])

    def _line_of(self, excinfo: pytest.ExceptionInfo[BaseException]) -> int | None:
        """Return the last line of the candidate's that an exception passed through."""
        path = self.candidate.module.__file__
        steps = traceback.walk_tb(excinfo.tb)
        lines = [line for frame, line in steps if frame.f_code.co_filename == path]
        return lines[-1] if lines else None

    def _end_for_memory(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """End the run: what fills the memory hangs on the exception's frames.

        A report on it would run out of memory in its turn.
        """
        limits.allow_all_memory()
        self.records.write("out_of_memory", line=self._line_of(excinfo))
        os._exit(1)


def _name(item: pytest.Item) -> str:
    return item.name.removeprefix("test_")


def _message(report: pytest.TestReport) -> str:
    """Return what the candidate reads; pytest gives a skip as (file, line, reason)."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return str(report.longrepr)
