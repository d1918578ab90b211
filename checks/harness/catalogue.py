"""Which katas there are, and where each of their files stands."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEVELS = ("warm-up", "core", "engineering", "hard", "capstone")


class UnknownKata(ValueError):
    """No kata has that name; the text lists those that there are, and the nearest."""


@dataclass(frozen=True)
class Kata:
    """A kata, as the first lines of its statement describe it, and its files."""

    name: str
    level: str
    minutes: int
    topics: tuple[str, ...]
    root: Path = ROOT

    @property
    def statement(self) -> Path:
        """The problem, for the candidate."""
        return self.root / "katas" / self.name / "README.md"

    @property
    def stub(self) -> Path:
        """The signatures and their contract."""
        return self.root / "katas" / self.name / "stub.py"

    @property
    def solution(self) -> Path:
        """The candidate's file; it may not be there yet."""
        return self.root / "katas" / self.name / "solution.py"

    @property
    def reference(self) -> Path:
        """The right answer."""
        return self.root / "reference" / f"{self.name}.py"

    @property
    def sheet(self) -> Path:
        """The interviewer's sheet."""
        return self.root / "reference" / f"{self.name}.md"

    @property
    def checks(self) -> Path:
        """The checks, a pytest file."""
        return self.root / "checks" / f"test_{self.name}.py"

    @property
    def mistakes(self) -> Path:
        """The known mistakes and the fair variations."""
        return self.root / "checks" / "mistakes" / f"{self.name}.py"

    def check_names(self) -> list[str]:
        """Return the names of the checks, without `test_`, in the order of the file.

        They are read from the text: nothing that runs can add to them or take away.
        """
        tree = ast.parse(self.checks.read_text(encoding="utf-8"))
        return [
            node.name.removeprefix("test_")
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        ]

    def with_grounds(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return these checks and all that they need, in the order of the file.

        A check needs those that its marker `needs` names; see checks/conftest.py.
        """
        needs = self._needs()
        wanted: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in wanted:
                wanted.add(name)
                waiting += needs.get(name, [])
        return tuple(name for name in self.check_names() if name in wanted)

    def _needs(self) -> dict[str, list[str]]:
        tree = ast.parse(self.checks.read_text(encoding="utf-8"))
        return {
            node.name.removeprefix("test_"): [
                ast.literal_eval(argument)
                for call in node.decorator_list
                if isinstance(call, ast.Call)
                and ast.unparse(call.func) == "pytest.mark.needs"
                for argument in call.args
            ]
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
        }


def katas(root: Path = ROOT) -> list[Kata]:
    """Return every kata under `root`, the easiest level first, then by name."""
    found = [_read(path, root) for path in (root / "katas").glob("*/README.md")]
    return sorted(found, key=lambda kata: (LEVELS.index(kata.level), kata.name))


def find(name: str | None, root: Path = ROOT) -> Kata:
    """Return the kata called `name`. Raises `UnknownKata`."""
    known = {kata.name: kata for kata in katas(root)}
    if name in known:
        return known[name]
    said = f"there is no kata `{name}`" if name else "which kata? NAME is missing"
    near = difflib.get_close_matches(name or "", known, n=1, cutoff=0.5)
    hint = f"; did you mean `{near[0]}`?" if near else ""
    raise UnknownKata(f"{said}{hint}\nThe katas: {', '.join(known)}")


def _read(statement: Path, root: Path) -> Kata:
    """Read `level · N minutes · trains: a, b`, the second line of a statement."""
    line = statement.read_text(encoding="utf-8").splitlines()[1]
    level, minutes, topics = (part.strip() for part in line.split("·"))
    return Kata(
        name=statement.parent.name,
        level=level,
        minutes=int(minutes.split()[0]),
        topics=tuple(re.split(r"\s*[,;]\s*", topics.removeprefix("trains:").strip())),
        root=root,
    )
