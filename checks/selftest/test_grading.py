"""A verdict fails closed, comes in order, and is the same every time."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from checks.harness import catalogue, deciding, grading, processes
from checks.harness.limits import Limits
from checks.harness.stopping import Ending
from checks.mistakes import mistakes_of, reference_of

KATA = "train_epoch"
NAMES = ["adds", "repeats"]
LIMITS = Limits(check=5.0)

# --- deciding -------------------------------------------------------------------------


def phase(check, when, outcome="passed", message="", raised=None):
    """Return the record of one phase of a check."""
    return {
        "event": "phase",
        "check": check,
        "when": when,
        "outcome": outcome,
        "message": message,
        "raised": raised,
    }


def all_passed():
    """The records of a run in which both checks passed."""
    checks = [phase(n, w) for n in NAMES for w in ("setup", "call", "teardown")]
    return [
        {"event": "import_started"},
        {"event": "import_finished"},
        {"event": "collected", "checks": NAMES},
        *checks,
        {"event": "finish", "code": 0},
    ]


def word(records, code=0, cut=None, faults="", text=""):
    """Decide on some records; return the verdict's word."""
    ending = Ending(code, cut, records, faults, output="", seconds=0.0)
    return deciding.decide(NAMES, text, ending, LIMITS)[0]


def test_a_whole_run_passes():
    """Import, collection, three phases for each check, finish, exit code 0."""
    assert word(all_passed()) == "passed"


def test_no_record_may_be_missing():
    """But that of the collection, which the phases repeat."""
    for index, record in enumerate(all_passed()):
        records = all_passed()
        del records[index]
        if record["event"] != "collected":
            assert word(records) != "passed", f"passed without {record}"


def test_no_record_may_come_twice():
    """Whatever is recorded again, the run is not one that passed."""
    for index, record in enumerate(all_passed()):
        if record["event"] == "phase":
            records = all_passed()
            records.insert(index, record)
            assert word(records) == "fault", f"{record} came twice"


@pytest.mark.parametrize("outcome", ["failed", "not_checked", "skipped"])
def test_no_phase_may_end_otherwise(outcome):
    """A skip counts as little as a failure."""
    for index, record in enumerate(all_passed()):
        if record["event"] == "phase":
            records = all_passed()
            records[index] = {**record, "outcome": outcome}
            assert word(records) != "passed", f"{record} was {outcome}"
            assert word(records, code=1) != "passed"


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5, 70, -6, -9, -11])
def test_the_exit_code_must_be_zero(code):
    """Also where all records are there."""
    records = all_passed()
    assert word(records, code) != "passed"

    records[-1] = {"event": "finish", "code": code}
    assert word(records, code) != "passed"


@pytest.mark.parametrize("cut", ["start", "time", "memory", "output"])
def test_a_run_that_was_stopped_has_not_passed(cut):
    """Not even when all had been recorded before."""
    assert word(all_passed(), cut=cut) in ("stopped", "fault")


def test_a_check_that_the_kata_does_not_have_is_a_fault():
    """One more is as wrong as one less."""
    extra = [phase("extra", when) for when in ("setup", "call", "teardown")]
    records = [*all_passed()[:-1], *extra, all_passed()[-1]]
    assert word(records) == "fault"

    records = all_passed()
    records[2] = {"event": "collected", "checks": [*NAMES, "extra"]}
    assert word(records) == "fault"


def test_a_fault_for_want_of_memory_is_theirs():
    """What they hold can leave pytest, and the watchdog, without any."""
    fault = {"event": "fault", "message": "...\nMemoryError: no room for a thread"}
    records = [*all_passed()[:-4], fault]
    assert word(records, code=70) == "stopped"


def test_nothing_at_all_is_a_fault():
    """A child that died before it began is our affair."""
    assert word([], code=-9) == "fault"


# --- whole runs of a small kata -------------------------------------------------------

STUB = '''"""tiny: a kata for the tests of the grader."""


def double(number: int) -> int:
    """Return twice the number."""
    raise NotImplementedError
'''
CHECKS = '''
import pytest


def test_doubles_two(kata):
    """Two."""
    assert kata.double(2) == 4, f"double(2) is 4, you returned {kata.double(2)}"


@pytest.mark.needs("doubles_two")
def test_doubles_three(kata):
    """Three."""
    assert kata.double(3) == 6, f"double(3) is 6, you returned {kata.double(3)}"


def test_doubles_zero(kata):
    """Nought."""
    assert kata.double(0) == 0, f"double(0) is 0, you returned {kata.double(0)}"
'''
RIGHT = "def double(number):\n    return 2 * number\n"


def tiny_kata(root, checks=CHECKS):
    """Lay out a kata under `root`."""
    folder = root / "katas" / "tiny"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("# tiny\nwarm-up · 1 minutes · trains: tests\n")
    (folder / "stub.py").write_text(STUB)
    (root / "checks").mkdir()
    shutil.copy(catalogue.ROOT / "checks" / "conftest.py", root / "checks")
    (root / "checks" / "test_tiny.py").write_text(checks)
    return catalogue.find("tiny", root)


def grade(kata, *texts):
    """Grade some texts; return their verdicts."""
    sources = [(f"{n}.py", text.encode()) for n, text in enumerate(texts)]
    return list(grading.grade(kata, sources, LIMITS))


def outcomes(verdict):
    """Return how each check ended."""
    return {check.name: check.outcome for check in verdict.checks}


def test_right_wrong_and_not_ready(tmp_path):
    """Three of the five verdicts, each with what the candidate reads."""
    kata = tiny_kata(tmp_path)
    thrice = RIGHT.replace("2 *", "3 *")
    unwritten = STUB.replace('"""Return', '"""Give').replace(
        "raise", "number\n    raise"
    )

    right, wrong, not_ready, half = grade(kata, RIGHT, thrice, STUB, unwritten)

    assert [v.word for v in (right, wrong, not_ready, half)] == [
        "passed",
        "wrong",
        "not_ready",
        "not_ready",
    ]
    assert outcomes(right) == dict.fromkeys(kata.check_names(), "passed")
    assert outcomes(wrong) == {
        "doubles_two": "failed",
        "doubles_three": "not_checked",
        "doubles_zero": "passed",
    }
    assert wrong.first_wrong.message == "double(2) is 4, you returned 6"
    assert outcomes(not_ready) == dict.fromkeys(kata.check_names(), "not_checked")
    assert half.message == (
        "not written yet: your code still raises NotImplementedError\n"
        "  solution.py line 7: raise NotImplementedError"
    )


FAULTS = {
    "a check that fails by itself": (
        CHECKS.replace("== 0,", "== {}[1],"),
        "in the check `doubles_zero`, grader fault: a check failed by itself",
    ),
    "checks that cannot be imported": (
        f"import no_such_thing\n{CHECKS}",
        "grader fault: the checks could not be run",
    ),
    "a check that only pytest sees": (
        f"{CHECKS}\n\nclass TestMore:\n    def test_more(self): ...\n",
        "grader fault: other checks were collected than the kata's file defines",
    ),
    "two checks of one name": (
        f"{CHECKS}\n\ndef test_doubles_two(kata): ...\n",
        "grader fault: other checks were collected than the kata's file defines",
    ),
    "no check": ("x = 1\n", "grader fault: the run ended with code 5"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_is_our_fault_is_not_theirs(tmp_path, case):
    """A right answer does not pass by it, and a wrong one is not told it is wrong."""
    checks, said = FAULTS[case]

    (verdict,) = grade(tiny_kata(tmp_path, checks), RIGHT)

    assert verdict.word == "fault"
    assert verdict.message.startswith(said)


def test_a_check_left_out_by_itself_is_no_pass(tmp_path):
    """`pytest.mark.skip` on a check must not turn it off."""
    checks = CHECKS.replace(
        "def test_doubles_zero", "@pytest.mark.skip\ndef test_doubles_zero"
    )

    (verdict,) = grade(tiny_kata(tmp_path, checks), RIGHT)

    assert verdict.word not in ("passed", "not_ready")


def test_verdicts_come_in_the_order_of_the_files(tmp_path):
    """Also when a later one is known earlier."""
    slow = "import time\ntime.sleep(0.5)\n" + RIGHT

    verdicts = grade(tiny_kata(tmp_path), slow, RIGHT, "", RIGHT)

    assert [verdict.file for verdict in verdicts] == ["0.py", "1.py", "2.py", "3.py"]
    words = [verdict.word for verdict in verdicts]
    assert words == ["passed", "passed", "not_ready", "passed"]


def test_what_was_printed_is_kept(tmp_path):
    """Both streams, and a warning of the candidate's code does not end it."""
    text = RIGHT.replace("return", "print('hello'); return", 1)
    text += "import warnings\nwarnings.warn('old', DeprecationWarning)\n"

    (verdict,) = grade(tiny_kata(tmp_path), text)

    assert verdict.word == "passed"
    assert "hello\n" in verdict.output


def test_no_folder_is_left(tmp_path, monkeypatch):
    """The copy and the scratch folder go, whatever the verdict."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kata = tiny_kata(tmp_path / "kata")

    grade(kata, RIGHT, "import os; os._exit(0)", "")

    assert [path.name for path in tmp_path.iterdir()] == ["kata"]


# --- the same every time --------------------------------------------------------------


def plain(verdict):
    """Return what a verdict says, without the file's name and the time."""
    record = verdict.as_json() if not isinstance(verdict, dict) else verdict
    return {k: v for k, v in record.items() if k not in ("seconds", "file")}


@pytest.fixture(scope="module")
def wrong_files(tmp_path_factory):
    """Write files that are wrong in several ways."""
    reference = reference_of(KATA)
    texts = {
        label: text
        for entry in mistakes_of(KATA)
        if entry.id in ("mean-of-batch-means", "no-zero-grad")
        for label, text in entry.texts(reference)
    }
    texts["exits"] = reference.replace("model.train()", "raise SystemExit(object())")
    folder = tmp_path_factory.mktemp("wrong")
    for label, text in texts.items():
        (folder / f"{label}.py").write_text(text)
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def usual_verdicts(wrong_files):
    """Grade the files as the command does."""
    done = run_tool("grade", KATA, *wrong_files, "--json")
    return [plain(json.loads(line)) for line in done.stdout.splitlines()]


def test_twenty_runs_say_the_same(wrong_files):
    """To the letter, whatever state the parent's random generators are in."""
    content = wrong_files[0].read_bytes()
    verdicts = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        runs = grading.grade(catalogue.find(KATA), [("again", content)] * 10)
        verdicts += [plain(verdict) for verdict in runs]

    assert verdicts == [verdicts[0]] * 20


DRAWS = """
from checks import worlds  # the profile of the checks
from hypothesis import given, settings, strategies as st

drawn = []


@settings(max_examples=300)
@given(number=st.integers(), real=st.floats())
def test_draws(kata, number, real):
    drawn.append((number, real))


def test_shows_what_was_drawn(kata):
    assert not drawn, str(hash(tuple(map(str, drawn))))
"""


def test_examples_do_not_come_out_of_the_candidates_file(tmp_path):
    """Hypothesis would mix the constants that it finds there into what it draws."""
    other = RIGHT + "NUMBERS = [123456789, 987654321.5, 555555555, 0.4321]\n"

    one, two = grade(tiny_kata(tmp_path, DRAWS), RIGHT, other)

    assert one.first_wrong.message == two.first_wrong.message


SETTINGS = [
    {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "1"},
    {"OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "2"},
    {"KATAS_FORK": "0"},
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_another_process_says_the_same(wrong_files, usual_verdicts, setting):
    """With one thread and two, another hash seed, and without fork."""
    done = run_tool("grade", KATA, *wrong_files, "--json", **setting)

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [plain(line) for line in lines] == usual_verdicts
    assert done.stderr == ""


# --- the command ----------------------------------------------------------------------


def command(*arguments):
    """Return the tool's command line."""
    return [sys.executable, "-m", "checks.harness", *map(str, arguments)]


def run_tool(*arguments, **environment):
    """Run the tool; return what it printed and its exit code."""
    return subprocess.run(
        command(*arguments),
        cwd=catalogue.ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_json_is_one_line_a_file(tmp_path):
    """The keys that a program may count on, and exit code 1 when one has not passed."""
    (tmp_path / "a.py").write_text(reference_of(KATA))
    (tmp_path / "b.py").write_text("")

    done = run_tool("grade", KATA, tmp_path / "a.py", tmp_path / "b.py", "--json")

    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert list(first) == [
        *("kata", "file", "verdict", "checks", "mistakes", "seconds", "message")
    ]
    assert first["file"] == str(tmp_path / "a.py")
    assert [first["verdict"], second["verdict"]] == ["passed", "not_ready"]
    assert set(first["checks"][0]) == {"name", "outcome", "message"}
    assert done.returncode == 1
    assert done.stderr == ""


def test_all_passed_is_exit_code_0(tmp_path):
    """The reference, from a folder of its own."""
    (tmp_path / "mine.py").write_text(reference_of(KATA))

    done = run_tool("grade", KATA, tmp_path / "mine.py")

    assert done.returncode == 0
    assert "train_epoch: passed" in done.stdout


def test_files_that_are_not_there_are_all_named(tmp_path):
    """Nothing is graded, and torch is not waited for."""
    (tmp_path / "there.py").write_text("")

    done = run_tool("grade", KATA, tmp_path / "there.py", "gone.py", tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "nothing was graded, for these cannot be read\n"
        "  gone.py: No such file or directory\n"
        f"  {tmp_path}: Is a directory\n"
    )


def test_an_unknown_kata_names_the_nearest():
    """And lists those that there are."""
    done = run_tool("grade", "train_epok", "x.py")

    first, second = done.stderr.splitlines()
    assert done.returncode == 2
    assert first == "there is no kata `train_epok`; did you mean `train_epoch`?"
    assert second.startswith("The katas: ")
    assert KATA in second


@pytest.mark.parametrize("arguments", [(), ("grade",), ("grade", KATA), ("nonsense",)])
def test_a_wrong_command_is_exit_code_2(arguments):
    """As argparse has it."""
    assert run_tool(*arguments).returncode == 2


def test_wrong_words_need_no_torch():
    """The tool answers at once where it can."""
    code = "import sys, checks.harness.cli; sys.exit('torch' in sys.modules)"

    assert (
        subprocess.run([sys.executable, "-c", code], cwd=catalogue.ROOT).returncode == 0
    )


def test_an_interrupt_ends_all_quietly(tmp_path):
    """Ctrl-C: exit code 130, no traceback, no child left behind."""
    file = tmp_path / "loop.py"
    file.write_text("import time\nwhile True:\n    time.sleep(0.01)\n")
    tool = subprocess.Popen(
        command("grade", KATA, file),
        cwd=catalogue.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    children = wait_for(lambda: children_of(tool.pid))

    tool.send_signal(signal.SIGINT)
    _, stderr = tool.communicate(timeout=10)

    assert tool.returncode == 130
    assert stderr == ""
    wait_for(lambda: not children & {entry.pid for entry in processes.table()})


def children_of(pid):
    """Return the processes that a process started."""
    return {entry.pid for entry in processes.table() if entry.parent == pid}


def wait_for(question, seconds=20.0):
    """Ask until the answer is true; return it."""
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)
    return answer
