"""A repository with one small kata, for the tests of what a candidate reads."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from checks.harness import catalogue
from checks.harness.catalogue import Kata

STUB = "def double(number):\n    raise NotImplementedError\n"
REFERENCE = '''\
"""double: as on the whiteboard."""


def double(number: float) -> float:
    """Return twice the number."""
    if number != number:
        raise ValueError("NaN")
    result = 2 * number
    return result
'''
SHEET = """\
# demo: the interviewer's sheet

## If they ask
### Which numbers?
All.

## Then ask
### What of [0.5], and of strings?
They are doubled too.
### Why not `number + number`?
It is as good.

## Why it is written so
### No question
"""
FILES = {
    "katas/demo/README.md": "# demo\nwarm-up · 5 minutes · trains: doubling; NaN\n",
    "katas/demo/stub.py": STUB,
    "reference/demo.py": REFERENCE,
    "reference/demo.md": SHEET,
}


def make(root: Path) -> Kata:
    """Lay the repository out under `root`; return its kata."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return catalogue.find("demo", root)


def plain(width: int = 80) -> Console:
    """Return a console without colour that keeps what is printed; see `text`."""
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=False,
        highlight=False,
        markup=False,
        emoji=False,
    )


def text(console: Console) -> str:
    """Return what was printed on a console that `plain` made."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
