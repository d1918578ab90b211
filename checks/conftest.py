"""The `kata` fixture (the module under test), lost ground, and the messages.

`pytest checks/test_train_epoch.py --solution PATH` runs the checks that `make kata`
runs, and says the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from checks import failures
from checks.harness import loading
from checks.judging import restored_settings

KATAS = Path(__file__).parents[1] / "katas"
CHECKS = Path(__file__).parent

torch.set_num_threads(1)  # small tensors: a second thread costs ten times what it gives

lost_checks = pytest.StashKey[set[str]]()
not_checked = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--solution`."""
    parser.addoption(
        "--solution",
        type=Path,
        help="the file to judge (default: katas/NAME/solution.py)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker by which a check names its ground."""
    config.addinivalue_line(
        "markers", "needs(*checks): not checked when one of these checks is red"
    )
    config.stash[lost_checks] = set()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let warnings pass in checks: a right solution may cause some."""
    if is_check(item):
        item.add_marker(pytest.mark.filterwarnings("ignore"))


def is_check(item: pytest.Item) -> bool:
    """Whether this is a check of a kata, not a test of the grader."""
    return item.path.parent == CHECKS


@pytest.fixture(scope="module")
def kata(request: pytest.FixtureRequest) -> ModuleType:
    """Return the module under test: the one that the grader loaded, or `--solution`."""
    candidate = request.config.pluginmanager.get_plugin("candidate")
    if candidate is not None:
        module: ModuleType = candidate.module
        return module
    name = request.path.stem.removeprefix("test_")
    path = request.config.getoption("--solution") or KATAS / name / "solution.py"
    try:
        return loading.load(Path(path))
    except loading.NotReady as reason:
        pytest.fail(f"not ready: {reason}", pytrace=False)


@pytest.fixture(autouse=True)
def _ambient_state(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start each check from known global state, and put it back whatever happened."""
    if not is_check(request.node):
        yield
        return
    with restored_settings():
        torch.manual_seed(0)
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out a check whose ground another check already lost."""
    if not is_check(item):
        return
    lost = item.config.stash[lost_checks]
    for mark in item.iter_markers("needs"):
        ground = [name for name in mark.args if name in lost]
        if ground:
            item.stash[not_checked] = True
            lost.add(check_name(item))
            pytest.skip(f"not checked before `{ground[0]}` holds")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    """Put what the candidate reads in place of the traceback."""
    report = yield
    if not is_check(item):
        return report
    report.not_checked = item.stash.get(not_checked, False)
    if call.excinfo is None or report.not_checked:
        return report
    report.outcome = "failed"  # also a pytest.skip() in the candidate's code
    item.config.stash[lost_checks].add(check_name(item))
    error = call.excinfo.value
    if isinstance(error, pytest.fail.Exception) and call.when == "setup":
        report.longrepr = str(error)
        return report
    module = item.funcargs.get("kata") if isinstance(item, pytest.Function) else None
    report.longrepr = failures.explain(error, getattr(module, "__file__", None) or "")
    return report


def check_name(item: pytest.Item) -> str:
    """Return a check's name: its function's, without `test_`."""
    return item.name.removeprefix("test_")
