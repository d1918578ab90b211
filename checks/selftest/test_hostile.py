"""Code that hangs, crashes, exits or cheats: the right verdict, and no harm to the run.

Most of it is what people write by accident. All are graded once, some at a time, with
small limits; each text is pinned.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from textwrap import dedent, indent

import pytest

from checks.harness import catalogue, grading, processes
from checks.harness.limits import Limits
from checks.mistakes import reference_of

KATA = "train_epoch"
REFERENCE = reference_of(KATA)
LIMITS = Limits(output=2**20, memory=2**29)
IMPATIENT = replace(LIMITS, importing=2, check=2, whole=6)  # for what never ends
DRAWN = "\n  called with sizes=[4, 2, 1], seed=0"  # by the first check
FIRST = "steps_once_for_each_batch"  # the first check, in which a call is hostile
SECRET = "7654321"  # how long a child that is left behind sleeps

ENDLESS = (
    "Next: find what never ends: a loop without a way out, a wait for what never comes."
)
BY_THEMSELVES = (
    'Next: move what is to run by itself under `if __name__ == "__main__":`.'
)
TO_MEND = "Next: mend that line; no check runs before the file can be imported."
TO_RETURN = "Next: end with `return` or `raise`; the process is not yours to end."
CRASH = "Next: find what reaches outside Python: ctypes, os.kill, deep recursion."
MEMORY = "Next: look what grows there, or is kept: a list, a graph, a size."
TO_PRINT = "Next: take the printing out of the loop; no check reads it."


@dataclass(frozen=True)
class Case:
    """A file, the word of its verdict, and what it says (of its first wrong check)."""

    text: str
    word: str
    says: str = ""


def while_imported(code, word, says=""):
    """Make a right solution whose first lines are `code`."""
    return Case(f"{code}\n{REFERENCE}", word, says)


def in_call(code, word, says=""):
    """Make a function that does nothing but `code`; its first line is line 8."""
    head = """
        import os
        import sys
        import time
        import pytest
        import torch

        def train_epoch(model, batches, optimizer, device="cpu"):
    """
    return Case(dedent(head).lstrip() + indent(dedent(code), "    "), word, says)


def before_right(code, word="passed", says=""):
    """Make a right solution that does `code` first."""
    start = "    model.train()\n"
    return Case(
        REFERENCE.replace(start, indent(f"{code}\n", "    ") + start), word, says
    )


CASES = {
    # --- without end
    "endless-import": while_imported(
        "while True: pass",
        "stopped",
        "while it was imported, your code did not end within 2 s\n"
        f"  solution.py line 1: while True: pass\n{ENDLESS}",
    ),
    "endless-call": in_call(
        "while True: pass",
        "stopped",
        "your code did not end within 2 s\n"
        f"  solution.py line 8: while True: pass\n{ENDLESS}",
    ),
    "except-round-a-loop": in_call(
        """
        while True:
            try: time.sleep(60)
            except BaseException: pass
        """,
        "stopped",
        "your code did not end within 2 s\n"
        f"  solution.py line 10: try: time.sleep(60)\n{ENDLESS}",
    ),
    "long-c-call": in_call(
        "sum(iter(int, 1))",
        "stopped",
        "your code did not end within 2 s\n"
        f"  solution.py line 8: sum(iter(int, 1))\n{ENDLESS}",
    ),
    "calls-the-watchdog-off": in_call(
        "import faulthandler; faulthandler.cancel_dump_traceback_later()\n"
        "while True: time.sleep(60)",
        "stopped",
        "your code did not end within 6 s\n"
        f"  solution.py line 9: while True: time.sleep(60)\n{ENDLESS}",
    ),
    # --- exits
    "os-exit-import": while_imported(
        "import os; os._exit(0)",
        "not_ready",
        "while it was imported, your code ended the process "
        "(exit code 0, as os._exit does)\n"
        f"  solution.py line 1: import os; os._exit(0)\n{TO_RETURN}",
    ),
    "os-exit-call": in_call(
        "os._exit(0)",
        "stopped",
        "your code ended the process (exit code 0, as os._exit does)\n"
        f"  solution.py line 8: os._exit(0)\n{TO_RETURN}",
    ),
    "system-exit-import": while_imported(
        "raise SystemExit",
        "not_ready",
        "importing solution.py raised SystemExit\n"
        f"  solution.py line 1: raise SystemExit\n{BY_THEMSELVES}",
    ),
    "sys-exit-call": in_call(
        "sys.exit(0)",
        "stopped",
        "your code ended the process (sys.exit)\n"
        f"  solution.py line 8: sys.exit(0)\n{TO_RETURN}",
    ),
    "skip-import": while_imported(
        'import pytest; pytest.skip("no", allow_module_level=True)',
        "not_ready",
        "importing solution.py raised Skipped: no\n  solution.py line 1: "
        f'import pytest; pytest.skip("no", allow_module_level=True)\n{BY_THEMSELVES}',
    ),
    "skip-call": in_call(
        'pytest.skip("no")',
        "wrong",
        'your code called pytest.skip()\n  solution.py line 8: pytest.skip("no")'
        f"{DRAWN}",
    ),
    "exit-import": while_imported(
        'import pytest; pytest.exit("bye", returncode=0)',
        "not_ready",
        "importing solution.py raised Exit: bye\n"
        '  solution.py line 1: import pytest; pytest.exit("bye", returncode=0)\n'
        f"{TO_MEND}",
    ),
    "exit-call": in_call(
        'pytest.exit("bye", returncode=0)',
        "stopped",
        "your code ended the run (pytest.exit)\n"
        f'  solution.py line 8: pytest.exit("bye", returncode=0)\n{TO_RETURN}',
    ),
    "keyboard-interrupt": in_call(
        "raise KeyboardInterrupt",
        "stopped",
        "your code ended the run (KeyboardInterrupt)\n"
        f"  solution.py line 8: raise KeyboardInterrupt\n{TO_RETURN}",
    ),
    # --- crashes
    "segfault-import": while_imported(
        "import ctypes; ctypes.string_at(0)",
        "stopped",
        "while it was imported, your code crashed the process: "
        "SIGSEGV, Segmentation fault\n"
        f"  solution.py line 1: import ctypes; ctypes.string_at(0)\n{CRASH}",
    ),
    "segfault-call": in_call(
        "import ctypes\nctypes.string_at(0)",
        "stopped",
        "your code crashed the process: SIGSEGV, Segmentation fault\n"
        f"  solution.py line 9: ctypes.string_at(0)\n{CRASH}",
    ),
    "kills-its-group": in_call(
        "os.kill(0, 9)",
        "stopped",
        f"your code crashed the process: SIGKILL, Killed\n{CRASH}",
    ),
    "endless-recursion": in_call(
        "train_epoch(model, batches, optimizer)",
        "wrong",
        "your code raised RecursionError: maximum recursion depth exceeded\n"
        f"  solution.py line 8: train_epoch(model, batches, optimizer){DRAWN}",
    ),
    # --- takes too much
    "memory-of-lists": in_call(
        "kept = []\nwhile True: kept.append(bytearray(2**22))",
        "stopped",
        "your code took more than 512 MiB of memory\n"
        f"  solution.py line 9: while True: kept.append(bytearray(2**22))\n{MEMORY}",
    ),
    "memory-of-tensors": in_call(
        "kept = []\nwhile True: kept.append(torch.ones(2**20))",
        "stopped",
        "your code took more than 512 MiB of memory\n"
        f"  solution.py line 9: while True: kept.append(torch.ones(2**20))\n{MEMORY}",
    ),
    "memory-import": while_imported(
        "kept = bytearray(2**40)",
        "stopped",
        "while it was imported, your code took more than 512 MiB of memory\n"
        f"  solution.py line 1: kept = bytearray(2**40)\n{MEMORY}",
    ),
    "memory-of-children": in_call(
        """
        for _ in range(8):
            if os.fork() == 0: kept = b"1" * 2**28
        while True: time.sleep(60)
        """,
        "stopped",
        "your code took more than 512 MiB of memory\n"
        f"  solution.py line 11: while True: time.sleep(60)\n{MEMORY}",
    ),
    "prints-100-mb": in_call(
        'for _ in range(100): print("x" * 10**6)',
        "stopped",
        "your code printed more than 1 MiB\n"
        f'  solution.py line 8: for _ in range(100): print("x" * 10**6)\n{TO_PRINT}',
    ),
    # --- leaves something behind, or takes it away
    "leaves-a-child": while_imported(
        f"import subprocess; subprocess.Popen(['sleep', '{SECRET}'])", "passed"
    ),
    "leaves-a-daemon": while_imported(
        "import subprocess\n"
        f"subprocess.Popen(['sleep', '{SECRET}'], start_new_session=True)",
        "passed",
    ),
    "leaves-a-thread": while_imported(
        "import threading, time\n"
        f"threading.Thread(target=time.sleep, args=[{SECRET}]).start()",
        "passed",
    ),
    "closes-its-output": before_right("import os\nos.closerange(0, 3)"),
    "closes-all-files": before_right(
        "import os\nos.closerange(3, 200)",
        "stopped",
        f"your code ended the process (exit code 70, as os._exit does)\n{TO_RETURN}",
    ),
    "deletes-its-folder": before_right(
        "import pathlib, shutil\n"
        "shutil.rmtree(pathlib.Path(__file__).parent, ignore_errors=True)\n"
        "shutil.rmtree('.', ignore_errors=True)",
    ),
    "deletes-itself-and-fails": in_call(
        "if os.path.exists(__file__): os.remove(__file__)\nraise KeyError('gone')",
        "wrong",
        "your code raised KeyError: 'gone'\n"
        f"  solution.py line 9: raise KeyError('gone'){DRAWN}",
    ),
    "writes-files": before_right(
        "import pathlib\n"
        "pathlib.Path('conftest.py').write_text('1 / 0')\n"
        "pathlib.Path(__file__).with_name('conftest.py').write_text('1 / 0')"
    ),
    "says-it-is-another-file": Case(
        "__file__ = 'elsewhere.py'\n"
        "def train_epoch(model, batches, optimizer, device='cpu'): 1 / 0\n",
        "wrong",
        "your code raised ZeroDivisionError: division by zero\n  solution.py line 2: "
        f"def train_epoch(model, batches, optimizer, device='cpu'): 1 / 0{DRAWN}",
    ),
    # --- changes what others rely on
    "changes-dtype": before_right("torch.set_default_dtype(torch.float16)", "wrong"),
    "changes-grad-mode": before_right("torch.set_grad_enabled(False)", "wrong"),
    "changes-seed": before_right("torch.manual_seed(0)", "wrong"),
    "changes-threads": before_right("torch.set_num_threads(5)", "wrong"),
    "changes-dtype-and-mode-at-import": while_imported(
        "import torch; torch.set_default_dtype(torch.float16); "
        "torch.set_grad_enabled(False)",
        "passed",
    ),
    "replaces-cross-entropy": while_imported(
        "from torch.nn import functional\n"
        "functional.cross_entropy = lambda logits, targets, **_: 0.0 * logits.sum()",
        "wrong",
    ),
    # --- answers that please any comparison
    "equal-to-everything": in_call(
        """
        class Pleasing(float):
            __eq__ = __le__ = __lt__ = __ge__ = __gt__ = lambda self, other: True
            __sub__ = __rsub__ = __abs__ = __mul__ = lambda self, *other: self
        return Pleasing(0)
        """,
        "wrong",
    ),
    "nan": in_call("return float('nan')", "wrong"),
    "trains-but-returns-nan": Case(
        REFERENCE.replace("return total_loss / num_samples", "return float('nan')"),
        "wrong",
    ),
    # --- not callable as asked
    "wrong-signature": Case(
        "def train_epoch(model):\n    return 0.0\n",
        "wrong",
        "your function cannot be called as the statement says: "
        "train_epoch() takes 1 positional argument but 3 were given",
    ),
}


def grade_all(limits, *, ends):
    """Grade the cases that come to an end, or the others."""
    sources = [
        (name, case.text.encode())
        for name, case in CASES.items()
        if ends != ("did not end" in case.says)
    ]
    return grading.grade(catalogue.find(KATA), sources, limits)


@pytest.fixture(scope="module")
def verdicts():
    """Grade all of them in one call."""
    before = set(os.listdir("/proc/self/fd")) if sys.platform == "linux" else set()
    graded = [*grade_all(LIMITS, ends=True), *grade_all(IMPATIENT, ends=False)]
    if before:
        assert set(os.listdir("/proc/self/fd")) == before, "files were left open"
    return {verdict.file: verdict for verdict in graded}


@pytest.mark.parametrize("name", CASES)
def test_hostile_code_gets_its_verdict(verdicts, name):
    """Which one, and in which words."""
    case, verdict = CASES[name], verdicts[name]
    decisive = verdict.first_wrong

    assert verdict.word == case.word, verdict.message
    if case.says:
        assert (decisive.message if decisive else verdict.message) == case.says


def test_without_fork_it_is_all_the_same(verdicts, monkeypatch):
    """A fresh process for each file: the same verdicts, to the letter."""
    names = ["memory-of-lists", "os-exit-import", "segfault-call", "sys-exit-call"]
    sources = [(name, CASES[name].text.encode()) for name in names]
    monkeypatch.setenv("KATAS_FORK", "0")

    fresh = grading.grade(catalogue.find(KATA), sources, LIMITS)

    for verdict in fresh:
        forked = verdicts[verdict.file]
        assert replace(verdict, seconds=0, output="") == replace(
            forked, seconds=0, output=""
        )


def test_the_check_that_was_stopped_is_named(verdicts):
    """It is stopped, and what comes after it was not run."""
    verdict = verdicts["endless-call"]

    first, *others = verdict.checks
    assert (first.name, first.outcome) == (FIRST, "stopped")
    assert {check.outcome for check in others} == {"not_checked"}
    assert verdict.message == f"in the check `{FIRST}`, {first.message}"


def test_what_never_ends_is_ended_in_time(verdicts):
    """Also where the code calls off the watchdog in its own process."""
    endless = [name for name, case in CASES.items() if "did not end" in case.says]

    assert max(verdicts[name].seconds for name in endless) < 2 * IMPATIENT.whole


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
def test_nothing_is_left_running(verdicts):
    """Neither a child nor a daemon that set a session of its own."""
    lines = [
        entry
        for entry in processes.table()
        if SECRET in command_line(entry.pid) and "sleep" in command_line(entry.pid)
    ]

    assert lines == []


def test_the_repository_is_untouched(verdicts):
    """What a candidate's code does to its folder, it does to a copy."""
    assert reference_of(KATA) == REFERENCE
    assert catalogue.find(KATA).stub.exists()


def command_line(pid):
    """Return the command line of a process, "" when it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
