"""The word `list`: the katas, and how far the candidate is with each."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from checks.harness import catalogue, practice
from checks.harness.catalogue import Kata
from checks.harness.printing import console, put, say, wrapped

HEADS = ("kata", "level", "min", "state", "trains")
STYLES = {"new": "", "tried": "yellow", "passed": "green"}


def run(args: argparse.Namespace) -> int:
    """Print the katas."""
    print_list(catalogue.katas(), console())
    return 0


def print_list(katas: Sequence[Kata], to: Console) -> None:
    """Print a line for each kata, and what to type next."""
    states = [practice.state(kata) for kata in katas]
    cells = [
        (kata.name, kata.level, str(kata.minutes), state)
        for kata, state in zip(katas, states, strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(HEADS[:-1], *cells, strict=True)]
    _print_row(to, widths, HEADS, "bold")
    for kata, row in zip(katas, cells, strict=True):
        _print_row(to, widths, (*row, ", ".join(kata.topics)), STYLES[row[-1]])
    open_ones = [k for k, state in zip(katas, states, strict=True) if state != "passed"]
    say(to)
    say(to, f"{len(katas) - len(open_ones)} of {len(katas)} passed.")
    if open_ones:
        say(to, f"Next: make kata NAME={open_ones[0].name}")


def _print_row(
    to: Console, widths: Sequence[int], row: Sequence[str], style: str
) -> None:
    """Print one row; its last cell is broken to the width that is left."""
    *cells, trains = row
    line = "  ".join(
        cell.rjust(width) if cell.isdigit() else cell.ljust(width)
        for cell, width in zip(cells, widths, strict=True)
    )
    first, *more = wrapped(trains, to.width - len(line) - 2)
    put(to, Text(f"{line}  {first}", style))
    for part in more:
        put(to, Text(" " * (len(line) + 2) + part, style))
