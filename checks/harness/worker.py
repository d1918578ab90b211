"""The child that runs one candidate's file: forked warm, or a fresh `python -m`.

Whatever the file does ends with this process. What it left is in three files that the
parent holds open: the records, what was printed, and where it stood when it was cut.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from checks.harness import catalogue, limits, loading, study
from checks.harness.limits import Limits
from checks.harness.recording import LONGEST, Candidate, Recorder, Records

FAILED = 1  # pytest's exit code when checks failed; a time-out's too
RECORDING = 5.0  # seconds for all recorded worlds, which take a tenth of one
EXIT_FAULT = 70


@dataclass(frozen=True)
class Job:
    """One file to run: the kata, the copy at `folder`/solution.py, what it may take.

    `records` and `faults` are file descriptors. `scratch` is where the code runs.
    `only` names the checks to run; all of them when it is empty.
    """

    kata: str
    root: str
    folder: str
    scratch: str
    records: int
    faults: int
    limits: Limits
    only: tuple[str, ...] = ()

    @property
    def solution(self) -> Path:
        """The copy of the candidate's file."""
        return Path(self.folder) / f"{loading.NAME}.py"

    def as_json(self) -> str:
        """Pack the job for the command line of a fresh process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Unpack what `as_json` packed."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**{**fields, "limits": Limits(**fields["limits"])})


def warm(kata: catalogue.Kata) -> None:
    """Import all that the checks of `kata` need, and what torch itself puts off.

    The first optimizer step imports `torch._dynamo`, which takes longer than torch. One
    thread, and no parallel op: a forked child could not use the parent's threads.
    """
    import torch

    torch.set_num_threads(1)
    if "torch._dynamo" not in sys.modules:
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            layer = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
            layer(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    # A module that fails to import does so again in the child, which records it.
    with contextlib.suppress(Exception), _asserts_as_written():
        importlib.import_module("checks.conftest")
        if kata.root == catalogue.ROOT:
            importlib.import_module(f"checks.test_{kata.name}")
        if study.has_worlds(kata):
            importlib.import_module(f"checks.recorded.{kata.name}")
    gc.collect()
    gc.freeze()  # the collector in a child need not touch, and so copy, these pages


def run(job: Job) -> NoReturn:
    """Load the candidate's file, run the checks, and end this process.

    What happened is left in the records; whatever went wrong there, too.
    """
    records = Records(job.records, Path(job.folder))
    code = EXIT_FAULT
    try:
        os.chdir(job.scratch)
        limits.confine(job.limits)
        warnings.simplefilter("default")  # print them, whatever the parent does
        code = _judge(job, records)
    except BaseException:
        records.write("fault", message=traceback.format_exc()[-LONGEST:])
    finally:
        # At once: no exit handler, no thread of the candidate's is waited for.
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _judge(job: Job, records: Records) -> int:
    faulthandler.enable(file=job.faults)
    kata = catalogue.find(job.kata, Path(job.root))
    records.write("import_started")
    try:
        with limits.time_limit(job.limits.importing, job.faults):
            module = _load(job.solution, kata.stub.read_text(encoding="utf-8"))
    except loading.NotReady as reason:
        records.write("not_ready", message=records.tidy(str(reason)))
        return 0
    records.write("import_finished")
    code = _run_checks(kata, Recorder(records, Candidate(module)), job)
    records.write("finish", code=code)
    if code == FAILED and not job.only and study.has_worlds(kata):
        _record(kata.name, module, records)
    return code


def _record(name: str, module: ModuleType, records: Records) -> None:
    """Record what the candidate's code does, to name its mistakes by.

    The verdict stands: nothing that happens here changes it. What the code prints now
    it has printed before, and a time-out ends the process with the code it has anyway.
    """
    recorded = importlib.import_module("checks.recorded")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    with contextlib.suppress(BaseException), limits.time_limit(RECORDING, nowhere):
        records.write("record", record=recorded.record(name, module))


def _load(path: Path, stub: str) -> ModuleType:
    """Load the file; torch's settings are then what they were before."""
    judging = importlib.import_module("checks.judging")
    with judging.restored_settings():
        module: ModuleType = loading.load(path, stub)
    return module


def _run_checks(kata: catalogue.Kata, recorder: Recorder, job: Job) -> int:
    # Our plugins and our configuration alone; -m, -c and the environment add none.
    import pytest

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    off = ("cacheprovider", "terminal", "faulthandler")
    options = [
        *(f"-pno:{plugin}" for plugin in off),
        "--capture=no",
        "--assert=plain",
        f"--rootdir={catalogue.ROOT}",
        f"--config-file={catalogue.ROOT / 'pyproject.toml'}",
        "--override-ini=addopts=--import-mode=importlib",
        "--override-ini=filterwarnings=ignore",
    ]
    with _asserts_as_written():
        plugins = [recorder, Stopwatch(job)]
        chosen = [f"{kata.checks}::test_{name}" for name in job.only]
        return pytest.main([*options, *(chosen or [str(kata.checks)])], plugins=plugins)


@contextlib.contextmanager
def _asserts_as_written() -> Iterator[None]:
    """Import as Python does, also below a pytest that rewrites what it imports.

    A check's message is what the check says, and no more.
    """
    finders = list(sys.meta_path)
    rewriter = "_pytest.assertion.rewrite"
    sys.meta_path[:] = [f for f in finders if type(f).__module__ != rewriter]
    try:
        yield
    finally:
        sys.meta_path[:] = finders


class Stopwatch:
    """A pytest plugin that ends the process when one check takes too long."""

    def __init__(self, job: Job) -> None:
        """Take the limit from `job`."""
        self.job = job

    def pytest_runtest_logstart(self) -> None:
        """Start the time of one check anew."""
        limits.start_time(self.job.limits.check, self.job.faults)

    def pytest_sessionfinish(self) -> None:
        """Stop the time."""
        limits.stop_time()


def main() -> None:
    """Run the job on the command line in this fresh process."""
    job = Job.from_json(sys.argv[1])
    warm(catalogue.find(job.kata, Path(job.root)))
    run(job)


if __name__ == "__main__":
    main()
