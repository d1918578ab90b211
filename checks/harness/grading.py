"""A candidate's file in, a verdict out.

`warm` once, then `verdicts` for any number of files: each gets a child of its own, some
at a time, all looked after by one loop. Nothing here keeps state between calls, so that
a resident process can serve them as well as a command can.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks.harness import (
    catalogue,
    deciding,
    processes,
    recording,
    study,
    worker,
)
from checks.harness.limits import Limits
from checks.harness.stopping import Cut, Ending
from checks.harness.verdict import Verdict

POLL = 0.01  # seconds between two looks at the children
MEMORY_POLL = 0.1  # between two looks at the table of processes
SHOWN = 20_000  # bytes of what was printed that a verdict keeps
GRACE = 2.0  # that the child's own watchdog gets before the parent steps in

__all__ = ["Limits", "Request", "grade", "verdicts", "warm"]


@dataclass(frozen=True)
class Request:
    """A text to grade; `label` stands for it in the verdict, as its file name would.

    `only` names the checks to run, in the order of the kata; all when it is empty.
    """

    kata: catalogue.Kata
    label: str
    text: bytes
    only: tuple[str, ...] = ()


class Run:
    """One request on its way: a folder, a child, and what has been seen of it."""

    def __init__(self, request: Request, limits: Limits) -> None:
        """Lay out a fresh folder and start the child."""
        self.request = request
        self.names = list(request.only) or request.kata.check_names()
        self.limits = limits
        self.folder = Path(tempfile.mkdtemp(prefix="kata-"))
        self.records = self._open("records")
        self.faults = self._open("faults")
        self.output = self._open("output")
        self.started = time.monotonic()
        self.importing_since: float | None = None
        self.cut: Cut | None = None
        job = self._job()
        job.solution.parent.mkdir()
        job.solution.write_bytes(request.text)
        Path(job.scratch).mkdir()
        self.child = processes.start(job, self.output)
        self.resident_at_start = 0

    def poll(self) -> int | None:
        """Return the exit code, or None while the child may go on."""
        code = self.child.poll()
        if code is None:
            self.cut = self._overrun()
            if self.cut:
                code = processes.stop(self.child)
        return code

    def check_memory(self, entries: Sequence[processes.Entry]) -> None:
        """Stop the child if its family holds too much."""
        held = processes.excess(self.child.pid, entries, self.resident_at_start)
        if held > self.limits.memory and self.child.poll() is None:
            self.cut = "memory"
            processes.stop(self.child)

    def finish(self, code: int) -> Verdict:
        """End what the child left behind and decide."""
        processes.stop(self.child)
        ending = Ending(
            code=code,
            cut=self.cut or self._overprinted(),
            records=recording.read(self._content(self.records)),
            faults=self._content(self.faults).decode(errors="replace"),
            output=self._content(self.output, SHOWN).decode(errors="replace"),
            seconds=time.monotonic() - self.started,
        )
        kata, text = self.request.kata, self.request.text.decode(errors="replace")
        word, message, checks = deciding.decide(self.names, text, ending, self.limits)
        named = self._named(ending) if word == "wrong" else {}
        return Verdict(
            kata=kata.name,
            file=self.request.label,
            word=word,
            checks=checks,
            seconds=ending.seconds,
            message=message,
            mistakes=tuple(named),
            named=tuple(named.values()),
            output=ending.output,
        )

    def _named(self, ending: Ending) -> dict[str, str]:
        """Name the mistakes; whatever goes wrong with that, the verdict stands."""
        record = ending.first("record")
        if record is None:
            return {}
        try:
            return study.name_mistakes(self.request.kata.name, record["record"])
        except Exception:
            traceback.print_exc()
            return {}

    def close(self) -> None:
        """Take the child and the folder away, whatever state they are in."""
        processes.stop(self.child)
        for descriptor in (self.records, self.faults, self.output):
            os.close(descriptor)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _job(self) -> worker.Job:
        return worker.Job(
            kata=self.request.kata.name,
            root=str(self.request.kata.root),
            folder=str(self.folder / "file"),
            scratch=str(self.folder / "scratch"),
            records=self.records,
            faults=self.faults,
            limits=self.limits,
            only=self.request.only,
        )

    def _overrun(self) -> Cut | None:
        now, limits = time.monotonic(), self.limits
        if self._overprinted():
            return "output"
        if self.importing_since is None:
            if os.fstat(self.records).st_size:
                self.importing_since = now
                self.resident_at_start = processes.resident(self.child.pid)
            return "start" if now - self.started > limits.start else None
        since = now - self.importing_since
        if since > limits.whole:
            return "time"
        if since > limits.importing + GRACE:
            seen = self._content(self.records)
            return None if b"import_finished" in seen else "time"
        return None

    def _overprinted(self) -> Cut | None:
        too_much = os.fstat(self.output).st_size > self.limits.output
        return "output" if too_much else None

    def _open(self, name: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        return os.open(self.folder / name, flags, 0o600)

    @staticmethod
    def _content(descriptor: int, most: int = 2**24) -> bytes:
        return os.pread(descriptor, most, 0)


def warm(kata: catalogue.Kata) -> None:
    """Import what grading `kata` needs, once; where children are forked from this."""
    if processes.can_fork():
        worker.warm(kata)


def verdicts(
    requests: Sequence[Request], limits: Limits | None = None, jobs: int | None = None
) -> Iterator[tuple[int, Verdict]]:
    """Grade each request; yield (its index, verdict) as they end, `jobs` at a time."""
    jobs = jobs or os.cpu_count() or 1
    waiting = list(enumerate(requests))[::-1]
    running: dict[int, Run] = {}
    known = processes.children() if processes.adopt_orphans() else None
    look_at_memory = _every(MEMORY_POLL)
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                index, request = waiting.pop()
                running[index] = Run(request, limits or Limits())
            time.sleep(POLL)
            if look_at_memory():
                entries = processes.table()
                for run in running.values():
                    run.check_memory(entries)
            ended = [
                (i, code) for i, r in running.items() if (code := r.poll()) is not None
            ]
            for index, code in ended:
                verdict = running[index].finish(code)
                running.pop(index).close()
                _sweep(known, running)
                yield index, verdict
    finally:
        for run in running.values():
            run.close()
        _sweep(known, {})


def _sweep(known: set[int] | None, running: dict[int, Run]) -> None:
    if known is not None:
        processes.sweep(known, {run.child.pid for run in running.values()})


def _every(seconds: float) -> Callable[[], bool]:
    """Return a question that is answered with yes once in so many seconds."""
    last = time.monotonic()

    def is_due() -> bool:
        nonlocal last
        due = time.monotonic() - last >= seconds
        last = time.monotonic() if due else last
        return due

    return is_due


def grade(
    kata: catalogue.Kata,
    sources: Sequence[tuple[str, bytes]],
    limits: Limits | None = None,
    jobs: int | None = None,
) -> Iterator[Verdict]:
    """Grade (label, content) pairs; yield a verdict each, in their order."""
    warm(kata)
    requests = [Request(kata, label, text) for label, text in sources]
    yield from in_order(requests, limits, jobs)


def in_order(
    requests: Sequence[Request], limits: Limits | None = None, jobs: int | None = None
) -> Iterator[Verdict]:
    """Grade each request; yield the verdicts in the order of the requests."""
    early: dict[int, Verdict] = {}
    next_index = 0
    for index, verdict in verdicts(requests, limits, jobs):
        early[index] = verdict
        while next_index in early:
            yield early.pop(next_index)
            next_index += 1
