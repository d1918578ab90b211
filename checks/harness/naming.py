"""How well mistakes are named: figures over solutions that nobody edited from ours.

`checks/selftest/rewritten/NAME/` holds solutions written from scratch. The first line
of each, `# mistakes: ID, ID`, says what is wrong with it: `none` for a right one,
`unknown` for a mistake that the catalogue does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from checks.harness import catalogue, grading
from checks.harness.verdict import Verdict

REWRITTEN = catalogue.ROOT / "checks" / "selftest" / "rewritten"
PREFIX = "# mistakes:"
NONE, UNKNOWN = "none", "unknown"
LEAST_NAMED = 0.95  # of the known mistakes


@dataclass(frozen=True)
class Rewritten:
    """One solution, what is known to be wrong with it, and the verdict on it."""

    file: str
    labels: frozenset[str]
    verdict: Verdict

    @property
    def is_right(self) -> bool:
        """Whether it is labelled as right."""
        return self.labels == {NONE}

    @property
    def known(self) -> frozenset[str]:
        """The mistakes that ought to be named."""
        return self.labels - {NONE, UNKNOWN}

    @property
    def missed(self) -> frozenset[str]:
        """The mistakes that were not named."""
        return self.known - set(self.verdict.mistakes)

    @property
    def misnamed(self) -> frozenset[str]:
        """The names that are wrong."""
        return frozenset(self.verdict.mistakes) - self.known


@dataclass(frozen=True)
class Figures:
    """What came of all rewritten solutions of one kata."""

    kata: str
    solutions: tuple[Rewritten, ...]

    @property
    def num_known(self) -> int:
        """How many mistakes there are to name."""
        return sum(len(s.known) for s in self.solutions)

    @property
    def num_named(self) -> int:
        """How many of them were named."""
        return self.num_known - sum(len(s.missed) for s in self.solutions)

    @property
    def misnamed(self) -> list[Rewritten]:
        """Solutions with a name that is wrong, those without a known mistake too."""
        return [s for s in self.solutions if s.misnamed]

    @property
    def misjudged(self) -> list[Rewritten]:
        """Right solutions that did not pass, and wrong ones that did."""
        return [s for s in self.solutions if s.is_right != (s.verdict.word == "passed")]

    def problems(self) -> list[str]:
        """Say what is misjudged or misnamed, and whether too many go unnamed."""
        found = [f"{s.file}: {s.verdict.word}, which is wrong" for s in self.misjudged]
        found += [f"{s.file}: named {', '.join(s.misnamed)}" for s in self.misnamed]
        if self.num_named < LEAST_NAMED * self.num_known:
            missed = [s for s in self.solutions if s.missed]
            unnamed = [f"{s.file} ({', '.join(s.missed)})" for s in missed]
            found.append(f"too few named; missing are {', '.join(unnamed)}")
        return found

    def summary(self) -> str:
        """Return the figures in one line."""
        num_right = sum(s.is_right for s in self.solutions)
        return (
            f"{self.kata}, rewritten from scratch: {num_right} right and "
            f"{len(self.solutions) - num_right} wrong, "
            f"{len(self.misjudged)} misjudged; "
            f"{self.num_named} of {self.num_known} known mistakes named, "
            f"{len(self.misnamed)} named wrongly"
        )


def labels_of(path: Path) -> frozenset[str]:
    """Read the labels in the first line of a rewritten solution."""
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    if not first.startswith(PREFIX):
        raise ValueError(f"{path}: the first line must be `{PREFIX} ...`")
    return frozenset(label.strip() for label in first[len(PREFIX) :].split(","))


def figures(kata: catalogue.Kata) -> Figures:
    """Grade all rewritten solutions of a kata."""
    paths = sorted((REWRITTEN / kata.name).glob("*.py"))
    sources = [(path.name, path.read_bytes()) for path in paths]
    verdicts = grading.grade(kata, sources) if sources else ()
    solutions = [
        Rewritten(path.name, labels_of(path), verdict)
        for path, verdict in zip(paths, verdicts, strict=True)
    ]
    return Figures(kata.name, tuple(solutions))
