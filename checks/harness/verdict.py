"""What grading a file ends in: plain data, shared by the grader and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["passed", "failed", "not_checked", "stopped"]
Word = Literal["passed", "wrong", "not_ready", "stopped", "fault"]


@dataclass(frozen=True)
class Check:
    """One check of a kata, its name without `test_`, and how it ended.

    `message` is empty for a pass; else it is what the candidate reads, some lines of
    plain text.
    """

    name: str
    outcome: Outcome
    message: str = ""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one file.

    `checks` holds every check of the kata in the order of its file. `message` says
    what is wrong where no check can: not ready, stopped, fault. `mistakes` are the ids
    of the known mistakes that the file makes. `output` is what the
    candidate's code printed. `seconds` is the wall clock from fork to verdict.
    """

    kata: str
    file: str
    word: Word
    checks: tuple[Check, ...]
    seconds: float
    message: str = ""
    mistakes: tuple[str, ...] = ()
    named: tuple[str, ...] = ()  # a sentence for each of the mistakes
    output: str = ""

    @property
    def first_wrong(self) -> Check | None:
        """The first check that failed or was stopped."""
        wrong = (c for c in self.checks if c.outcome in ("failed", "stopped"))
        return next(wrong, None)

    def as_json(self) -> dict[str, Any]:
        """Return the record that `grade --json` prints, one a file."""
        return {
            "kata": self.kata,
            "file": self.file,
            "verdict": self.word,
            "checks": [
                {"name": c.name, "outcome": c.outcome, "message": c.message}
                for c in self.checks
            ],
            "mistakes": list(self.mistakes),
            "seconds": round(self.seconds, 3),
            "message": self.message or "\n".join(self.named),
        }
