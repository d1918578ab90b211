"""The word `diff`: the candidate's solution beside the reference, substance alone."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from rich.console import Console
from rich.text import Text

from checks.harness import catalogue, practice
from checks.harness.catalogue import Kata
from checks.harness.printing import console, put, say, say_command, short, visible
from checks.harness.substance import alike

SIDE_BY_SIDE = 100  # columns that it takes
CONTEXT = 3  # lines that are the same, shown round those that are not
THEIRS, OURS = "red", "green"
WORD = re.compile(r"\w+|\s+|.")
DIFFERS = "bold underline"
SIMILAR = 0.5  # from here on the words that differ in a line are marked

Pair = tuple[str | None, str | None]  # a line of theirs, one of ours


def run(args: argparse.Namespace) -> int:
    """Show the differences; without a pass only when `args.giveup` says so."""
    kata = catalogue.find(args.name)
    return show(kata, console(), give_up=args.giveup, unified=args.unified)


def show(
    kata: Kata, to: Console, *, give_up: bool = False, unified: bool = False
) -> int:
    """Show how the solution and the reference differ; return the exit code."""
    if not give_up and not practice.has_passed(kata):
        say(to, f"{kata.name} has not passed yet, and the reference spoils it.")
        say(to, "Next: make it pass, or give up and look")
        say_command(to, f"make kata NAME={kata.name}")
        say_command(to, f"make diff NAME={kata.name} GIVEUP=1")
        return 1
    theirs, ours = _introduce(kata, to)
    side_by_side = to.width >= SIDE_BY_SIDE and not unified
    for number, group in enumerate(_groups(theirs, ours)):
        if number:
            say(to, "…")
        if side_by_side:
            _print_side_by_side(to, group)
        else:
            _print_unified(to, group)
    say(to)
    say(to, f"Why the reference is written so: {short(kata.sheet, kata.root)}")
    return 0


def _introduce(kata: Kata, to: Console) -> tuple[list[str], list[str]]:
    """Say what is compared and how; return the lines of both."""
    path = _theirs(kata)
    theirs = path.read_bytes().decode("utf-8-sig", errors="replace")
    ours = kata.reference.read_text(encoding="utf-8")
    say(to, f"- {short(path, kata.root)}", THEIRS)
    say(to, f"+ {short(kata.reference, kata.root)}", OURS)
    try:
        both = alike(theirs, ours)
    except SyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno else ""
        say(to, f"The first is not Python{where},")
        say(to, "so this is the plain text of both.\n")
        return visible(theirs).splitlines(), ours.splitlines()
    if both.theirs == both.ours:
        say(to, "The same in substance: what differs are comments, layout, type hints")
        say(to, "or names at most.")
        return [], []
    say(to, "Left out: comments, docstrings, type hints, layout.")
    if both.renamed:
        names = ", ".join(f"{old} → {new}" for old, new in both.renamed)
        say(to, f"Your names, as the reference has them: {names}")
    say(to)
    return both.theirs, both.ours


def _theirs(kata: Kata) -> Path:
    """Return the file to compare: the solution; if it is the stub, the last pass."""
    begun = kata.solution.exists() and not practice.is_stub(kata)
    if begun or not practice.has_passed(kata):
        return kata.solution if begun else kata.stub
    return practice.passed_text(kata)


def _groups(theirs: Sequence[str], ours: Sequence[str]) -> Iterator[list[Pair]]:
    """Give what differs, in pairs of lines, with some that are the same round it."""
    matcher = difflib.SequenceMatcher(None, theirs, ours, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        yield [
            pair
            for _, i, j, k, m in group
            for pair in zip_longest(theirs[i:j], ours[k:m])
        ]


def _print_unified(to: Console, pairs: Sequence[Pair]) -> None:
    later: list[Text] = []  # ours, until theirs of the same place are all out
    for one, other in pairs:
        left, right = _marked(one, other)
        if one == other:
            _print_lines(to, later)
            later = []
            _print_lines(to, _hung(to, "  ", left, to.width))
            continue
        if one is not None:
            _print_lines(to, _hung(to, "- ", left, to.width))
        if other is not None:
            later += _hung(to, "+ ", right, to.width)
    _print_lines(to, later)


def _print_side_by_side(to: Console, pairs: Sequence[Pair]) -> None:
    width = (to.width - 3) // 2
    for one, other in pairs:
        sign = "<" if other is None else ">" if one is None else "|"
        left, right = (_hung(to, "", text, width) for text in _marked(one, other))
        for number, (a, b) in enumerate(zip_longest(left, right, fillvalue=Text())):
            row = a.copy()
            row.pad_right(width - len(row))
            row.append(f" {' ' if one == other or number else sign} ")
            row.append_text(b)
            row.rstrip()
            put(to, row)


def _print_lines(to: Console, lines: Sequence[Text]) -> None:
    for line in lines:
        line.rstrip()
        put(to, line)


def _marked(one: str | None, other: str | None) -> tuple[Text, Text]:
    """Colour a pair of lines; in two that are similar, underline what differs."""
    if one == other:
        return Text(one or ""), Text(other or "")
    left, right = Text(one or "", THEIRS), Text(other or "", OURS)
    words = WORD.findall(left.plain), WORD.findall(right.plain)
    matcher = difflib.SequenceMatcher(None, *words, autojunk=False)
    if matcher.ratio() >= SIMILAR:
        for what, i, j, k, m in matcher.get_opcodes():
            if what != "equal":
                _underline(left, words[0], i, j)
                _underline(right, words[1], k, m)
    return left, right


def _underline(text: Text, words: Sequence[str], start: int, end: int) -> None:
    begin = sum(map(len, words[:start]))
    text.stylize(DIFFERS, begin, begin + sum(map(len, words[start:end])))


def _hung(to: Console, sign: str, line: Text, width: int) -> list[Text]:
    """Break a line to the width; its later parts stand four columns further in."""
    indent = len(line.plain) - len(line.plain.lstrip())
    margin = sign + " " * indent
    if len(margin) + len(line) - indent <= width:
        return [Text.assemble((sign, line.style), line)]
    parts = line[indent:].wrap(to, max(width - len(margin) - 4, 20))
    for part in parts:
        part.rstrip()
    further = " " * (len(margin) + 4)
    return [
        Text.assemble((further if number else margin, line.style), part)
        for number, part in enumerate(parts)
    ]
