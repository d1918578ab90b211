"""`make diff`: what differs in substance, and nothing else."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from checks.harness import catalogue, diff, practice
from checks.harness.catalogue import Kata
from checks.harness.substance import alike
from checks.mistakes import mistakes_of, reference_of
from checks.selftest import demo

SLIP = """\
import numpy as np, os


def double(number: "np.ndarray", *, times=2):  # a comment
    twice: float = number * times

    return (twice)
"""


@pytest.fixture
def kata(tmp_path: Path) -> Kata:
    """Return the kata of a small repository, passed, with `SLIP` as its solution."""
    kata = demo.make(tmp_path)
    kata.solution.write_text(SLIP)
    practice.remember_pass(kata, b"x = 1\n")
    return kata


def shown(kata: Kata, width: int = 80, *, unified: bool = False) -> str:
    """Return what `make diff` prints, after its exit code 0."""
    to = demo.plain(width)
    assert diff.show(kata, to, unified=unified) == 0
    return demo.text(to)


# --- What is printed ------------------------------------------------------------------

HEAD = """\
- katas/demo/solution.py
+ reference/demo.py
Left out: comments, docstrings, type hints, layout.
"""
FOOT = """
Why the reference is written so: reference/demo.md
"""


def test_before_a_pass_nothing_is_shown(tmp_path: Path) -> None:
    """It spoils the kata: whoever gives up has to say so."""
    kata = demo.make(tmp_path)
    to = demo.plain()

    assert diff.show(kata, to) == 1
    assert demo.text(to) == (
        """\
demo has not passed yet, and the reference spoils it.
Next: make it pass, or give up and look
  make kata NAME=demo
  make diff NAME=demo GIVEUP=1
"""
    )
    assert diff.show(kata, demo.plain(), give_up=True) == 0


UNIFIED = f"""\
{HEAD}
- def double(number, *, times=2):
-     twice = number * times
-     return twice
+ def double(number):
+     if number != number:
+         raise ValueError('NaN')
+     result = 2 * number
+     return result
{FOOT}"""
SIDE_BY_SIDE = f"""\
{HEAD}
def double(number, *, times=2):                  | def double(number):
    twice = number * times                       |     if number != number:
    return twice                                 |         raise ValueError('NaN')
                                                 >     result = 2 * number
                                                 >     return result
{FOOT}"""


def test_a_narrow_terminal_has_one_column(kata: Kata) -> None:
    """Unified up to 99 columns, or where it is asked for."""
    assert shown(kata) == UNIFIED
    assert shown(kata, 99) == UNIFIED
    assert shown(kata, 120, unified=True) == UNIFIED


def test_a_wide_terminal_has_two_columns(kata: Kata) -> None:
    """Side by side from 100 columns on, and no line is wider."""
    assert shown(kata, 100) == SIDE_BY_SIDE


def test_the_same_in_substance_says_so(kata: Kata) -> None:
    """Layout, comments, docstrings, hints and local names are not substance."""
    kata.solution.write_text(
        "def double(number):\n  # why\n  if (number != number):\n"
        "    raise ValueError('NaN')\n  y=2*number; return y"
    )

    assert shown(kata) == (
        """\
- katas/demo/solution.py
+ reference/demo.py
The same in substance: what differs are comments, layout, type hints
or names at most.
"""
        + FOOT
    )


def test_renamed_variables_are_named(kata: Kata) -> None:
    """Whoever reads sees which of their names became which."""
    kata.solution.write_text("def double(number):\n    x = 2 * number\n    return x\n")

    assert shown(kata) == (
        HEAD
        + """\
Your names, as the reference has them: x → result

  def double(number):
+     if number != number:
+         raise ValueError('NaN')
      result = 2 * number
      return result
"""
        + FOOT
    )


def test_no_python_is_compared_as_text(kata: Kata) -> None:
    """With the reason; what it holds cannot command the terminal."""
    kata.solution.write_bytes(b"def double(:\n  # \xff\x1b[2J[bold]")

    text = shown(kata)

    assert text.startswith(
        """\
- katas/demo/solution.py
+ reference/demo.py
The first is not Python (line 1),
so this is the plain text of both.

- def double(:
-   # \ufffd\\x1b[2J[bold]
"""
    )
    assert '+     """Return twice the number."""\n' in text


def test_after_a_reset_the_last_pass_is_compared(kata: Kata) -> None:
    """The stub has nothing to say beside the reference."""
    practice.set_aside(kata)

    assert shown(kata).startswith("- .practice/passed/demo.py\n+ reference/demo.py\n")


def test_without_any_work_the_stub_is_compared(tmp_path: Path) -> None:
    """Giving up needs no file."""
    kata = demo.make(tmp_path)
    to = demo.plain()

    diff.show(kata, to, give_up=True)

    assert demo.text(to).startswith("- katas/demo/stub.py\n+ reference/demo.py\n")


def test_what_is_far_from_a_difference_is_left_out(kata: Kata) -> None:
    """Three lines round each; an ellipsis stands for the rest."""
    body = [f"x{n} = {n}" for n in range(20)]
    kata.reference.write_text("\n".join(body))
    kata.solution.write_text("\n".join(["first()", *body[:-1], "last()"]))

    lines = shown(kata).split("\n\n")[1].splitlines()

    assert lines == [
        "- first()",
        *(f"  x{n} = {n}" for n in range(3)),
        "…",
        *(f"  x{n} = {n}" for n in range(16, 19)),
        "- last()",
        "+ x19 = 19",
    ]


def test_long_lines_are_broken(kata: Kata) -> None:
    """The later parts stand further in; nothing is wider than the terminal."""
    kata.reference.write_text("x = 1\n")
    kata.solution.write_text(f"if y:\n    x = [{', '.join(['1000'] * 30)}]\n")

    narrow, wide = shown(kata), shown(kata, 100)

    assert "\n-     x = [1000, 1000" in narrow
    assert "\n          1000, 1000" in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    assert max(map(len, wide.splitlines())) <= 100


def test_words_that_differ_are_underlined(kata: Kata) -> None:
    """In a terminal, within lines that are similar."""
    kata.solution.write_text(demo.REFERENCE.replace("2 *", "3 *"))
    stream = io.StringIO()
    to = Console(file=stream, force_terminal=True, color_system="standard", width=100)

    diff.show(kata, to)

    assert "\x1b[1;4;31m3\x1b[0m" in stream.getvalue()
    assert "\x1b[1;4;32m2\x1b[0m" in stream.getvalue()


# --- What counts as substance ---------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("x = 1  # why", "x=1"),
        ('"""Says."""\nx = 1', "x = 1"),
        ('def f():\n    """Says."""', "def f(): pass"),
        ("def f(a: int, *b: int) -> int: return a", "def f(a, *b): return a"),
        ("def f():\n    x: int = 1\n    return x", "def f():\n    x = 1\n    return x"),
        ("from typing import Any\ndef f(a: Any): pass", "def f(a): pass"),
        ("import b, a\na, b", "import a\nimport b\na, b"),
        ("import a.b as c\nc", "from a import b as c\nc"),
        ("from a import b as b\nb", "from a import b\nb"),
        ("def g(): pass\ndef f(): pass", "def f(): pass\ndef g(): pass"),
        ("a, b = 1, 2", "a = 1\nb = 2"),
        ("def f(a): x = a; return x", "def f(a): y = a; return y"),
    ],
)
def test_not_substance(theirs: str, ours: str) -> None:
    """Either text comes out as the other does."""
    forth, back = alike(theirs, ours), alike(ours, theirs)

    assert forth.theirs == forth.ours
    assert back.theirs == back.ours


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("x = 1", "x = 1.0"),
        ("a, b = b, a", "a = b\nb = a"),
        ("a, a.b = c, d", "a = c\na.b = d"),
        ("class A:\n    x: int", "class A:\n    x: str"),
        ("def f(a): return a", "def f(b): return b"),
        ("from a import b\nb", "from c import b\nb"),
        ("from .a import b\nb", "from a import b\nb"),
        ("import a\na", "a"),
        ("async def f(): pass", "def f(): pass"),
    ],
)
def test_substance(theirs: str, ours: str) -> None:
    """Both texts stay apart."""
    both = alike(theirs, ours)

    assert both.theirs != both.ours


@pytest.mark.parametrize("name", [kata.name for kata in catalogue.katas()])
def test_no_known_mistake_is_taken_for_layout(name: str) -> None:
    """What the checks refuse is never called the same in substance."""
    reference = reference_of(name)

    for mistake in mistakes_of(name):
        if not mistake.is_fair:
            for label, text in mistake.texts(reference):
                both = alike(text, reference)
                assert both.theirs != both.ours, label


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        # `x` meets two names
        ("def f(): x = 1; x = x + 1; g(x)", "def f(): y = 1; z = y + 1; g(z)"),
        # the new name is one of theirs already, by another way
        ("def f(y): x = 1; g(x)", "def f(): y = 1; g(y)"),
        ("def f(): x = 1; g(x); return y", "def f(): y = 1; g(y)"),
        # names that are swapped
        ("def f(): a = 1; b = 2; g(a, b)", "def f(): b = 1; a = 2; g(b, a)"),
        # a single place is no evidence
        ("def f(): x = 1", "def f(): y = 1"),
        # most of its places are others
        (
            "def f(): x = 1; g(x); h(x + 1); h(x + 2); h(x + 3)",
            "def f(): y = 1; g(y)",
        ),
        ("def f():\n    global x\n    x = 1; g(x)", "def f(): y = 1; g(y)"),
    ],
)
def test_doubtful_names_stay(theirs: str, ours: str) -> None:
    """A wrong name would be worse than a difference."""
    assert alike(theirs, ours).renamed == []


def test_methods_are_compared_too() -> None:
    """Names in a method become those of the same method in the same class."""
    theirs = "class A:\n    def f(self): x = 1; return x"

    both = alike(theirs, theirs.replace("x", "y"))

    assert both.renamed == [("x", "y")]
    assert both.theirs == both.ours
