"""Which known mistakes a failing file makes, by what it does and not how it is written.

A record tells what a program did in a kata's recorded worlds (`checks/recorded`). Where
the candidate's record departs from the reference's, each departure must be one that a
known mistake shows, and each symptom of that mistake must be there. Otherwise nothing
is named: a wrong name is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from checks.recorded import Record, agree

MOST = 3  # mistakes named together
MIXED = 0.3  # of a pair's departures, the share in which the two may blur each other
MISSING = "(not recorded)"


@dataclass(frozen=True)
class Form:
    """One form of a known mistake: its id, and its departures from the reference."""

    id: str
    symptoms: Record


@dataclass(frozen=True)
class Study:
    """What the reference and all known mistakes of one kata did."""

    reference: Record
    forms: tuple[Form, ...]


def departures(record: Mapping[str, Any], reference: Mapping[str, Any]) -> Record:
    """Return what differs from the reference, by its place in the record."""
    places = [*reference, *(place for place in record if place not in reference)]
    return {
        place: record.get(place, MISSING)
        for place in places
        if not agree(record.get(place, MISSING), reference.get(place, MISSING))
    }


def diagnose(record: Record, study: Study) -> tuple[str, ...]:
    """Return the ids of the mistakes that explain all of the record's departures.

    As few as will do. None at all when some departure stays unexplained, or when
    different mistakes explain them equally well.
    """
    seen = departures(record, study.reference)
    if not seen:
        return ()
    shown = [form for form in study.forms if shows(seen, form)]
    for number in range(1, MOST + 1):
        found = set(_covers(seen, shown, number))
        if len(found) == 1:
            return found.pop()
        if found:
            return ()
    found = set(_blurred_pairs(seen, study.forms))
    return found.pop() if len(found) == 1 else ()


def shows(seen: Record, form: Form) -> bool:
    """Whether every symptom of the form is among the departures, with its value."""
    return bool(form.symptoms) and all(
        place in seen and agree(seen[place], value)
        for place, value in form.symptoms.items()
    )


def _covers(
    seen: Record, shown: Sequence[Form], number: int
) -> Iterator[tuple[str, ...]]:
    """Find sets of so many different mistakes that together explain everything."""
    for forms in combinations(shown, number):
        ids = tuple(dict.fromkeys(form.id for form in forms))
        explained = set().union(*(form.symptoms for form in forms))
        if len(ids) == number and explained == seen.keys():
            yield ids


def _blurred_pairs(seen: Record, forms: Sequence[Form]) -> Iterator[tuple[str, ...]]:
    """Find pairs that explain everything but where both depart, and mix.

    Where just one of the two departs, the candidate must depart in exactly its way.
    """
    possible = [form for form in forms if form.symptoms.keys() <= seen.keys()]
    for one, other in combinations(possible, 2):
        if one.id == other.id or not _explains_most(seen, one, other):
            continue
        yield one.id, other.id


def _explains_most(seen: Record, one: Form, other: Form) -> bool:
    first, second = one.symptoms, other.symptoms
    if first.keys() | second.keys() != seen.keys():
        return False
    alone = [(p, v) for p, v in first.items() if p not in second]
    alone_too = [(p, v) for p, v in second.items() if p not in first]
    if not alone or not alone_too:
        return False
    if not all(agree(seen[place], value) for place, value in alone + alone_too):
        return False
    blurred = [
        place
        for place in first.keys() & second.keys()
        if not agree(seen[place], first[place])
        and not agree(seen[place], second[place])
    ]
    return len(blurred) <= MIXED * len(seen)


def evidence(record: Record, study: Study, id: str) -> str:
    """Say in numbers where the candidate shows a mistake: the first of its symptoms."""
    seen = departures(record, study.reference)
    forms = [form for form in study.forms if form.id == id]
    form = max(forms, key=lambda form: sum(place in seen for place in form.symptoms))
    place = next(place for place in form.symptoms if place in seen)
    right = study.reference.get(place, MISSING)
    world, _, what = place.rpartition(" · ")
    where = f"In the world “{world}”, " if world else ""
    return f"{where}{what}: {_told(seen[place])}; right is {_told(right)}"


def _told(value: Any) -> str:
    """Show a recorded value in a sentence."""
    if isinstance(value, dict) and all(isinstance(x, float) for x in value.values()):
        parts = (what if by == 1 else f"{by:g} × {what}" for what, by in value.items())
        return " + ".join(parts) or "nothing"
    if isinstance(value, dict):
        return ", ".join(f"{what}: {_told(x)}" for what, x in value.items())
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list):
        return f"[{', '.join(map(_told, value))}]"
    return "none" if value is None else str(value)
