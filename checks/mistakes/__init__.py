"""What people get wrong, and right code that looks unusual, as edits of a reference.

One file a kata, `checks/mistakes/NAME.py`, with a tuple `MISTAKES`. An entry with
`caught_by` is a known mistake; one without is a fair variation that must pass.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

REFERENCE = Path(__file__).parents[2] / "reference"

Edits = tuple[tuple[str, str], ...]


class StaleEdit(ValueError):
    """An edit whose old text is not in the reference exactly once."""


@dataclass(frozen=True)
class Mistake:
    """One slip (or, without `caught_by`, one fair variation) as edits of the reference.

    `edits` are (old, new) pairs applied in order; each old text must occur exactly
    once when its turn comes. `rewrite` replaces the whole file instead: for
    variations that share no line with the reference. `forms` holds further ways of
    making the same mistake, each of them edits or a rewrite. `says` tells the
    candidate, in the second person, what the code does and where to look.
    `caught_by` names checks without their `test_`; each of them must fail.
    """

    id: str
    says: str
    edits: Edits = ()
    caught_by: frozenset[str] | set[str] = field(default_factory=frozenset)
    rewrite: str | None = None
    forms: tuple[Edits | str, ...] = ()
    source: str | None = None

    @property
    def is_fair(self) -> bool:
        """Whether this is a fair variation, which every check must let through."""
        return not self.caught_by

    def texts(self, reference: str) -> Iterator[tuple[str, str]]:
        """Give (label, source text) for each form; the label is the id, then id#2 …"""
        first: Edits | str = self.edits if self.rewrite is None else self.rewrite
        for number, form in enumerate((first, *self.forms), start=1):
            label = self.id if number == 1 else f"{self.id}#{number}"
            yield label, apply(form, reference, label)


def apply(form: Edits | str, reference: str, label: str) -> str:
    """Return the text of a form: the rewrite itself, or the edited reference.

    Raises `StaleEdit` when an edit does not apply exactly once, when the result is
    the reference itself, and when it is no longer Python.
    """
    if isinstance(form, str):
        text = form.lstrip("\n")
    else:
        text = reference
        for old, new in form:
            if text.count(old) != 1:
                raise StaleEdit(
                    f"{label}: {old!r} occurs {text.count(old)} times in the text to "
                    "edit, not once: bring the edit up to date with the reference"
                )
            text = text.replace(old, new)
    if text == reference:
        raise StaleEdit(f"{label}: the edits change nothing")
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise StaleEdit(f"{label}: not Python after the edits: {error}") from error
    return text


def mistakes_of(kata: str) -> tuple[Mistake, ...]:
    """Return the catalogue of one kata, in the order of its file."""
    module = import_module(f"checks.mistakes.{kata}")
    entries: tuple[Mistake, ...] = module.MISTAKES
    return entries


def reference_of(kata: str) -> str:
    """Return the text of the reference of one kata."""
    return (REFERENCE / f"{kata}.py").read_text(encoding="utf-8")
