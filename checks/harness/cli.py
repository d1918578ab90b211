"""Arguments in, exit code out. What a word does stands in a module of its own.

Exit codes: 0 passed or fine, 1 not, 2 a wrong command, 3 a fault of the grader's own.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from checks.harness.catalogue import UnknownKata

WRONG_COMMAND, FAULT, INTERRUPTED = 2, 3, 130

# Where each word is done: `module.function(args) -> exit code`. A module is imported
# when its word is used: a list, or a wrong name, need not wait for torch.
WORDS = {
    "kata": "practice.kata",
    "grade": "batch.run",
    "list": "listing.run",
    "diff": "diff.run",
    "reset": "practice.reset",
    "matrix": "matrix.run",
    "doctor": "doctor.run",
    "picture": "picture.run",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks; return the exit code."""
    args = parser().parse_args(arguments)
    module, function = WORDS[args.word].split(".")
    try:
        code: int = getattr(import_module(f"checks.harness.{module}"), function)(args)
    except (UnknownKata, WrongCommand) as error:
        print(error, file=sys.stderr)
        return WRONG_COMMAND
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read what we print has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAULT
    except Exception:
        traceback.print_exc()
        print("This is a fault of the tool, not of your code.", file=sys.stderr)
        return FAULT
    return code


class WrongCommand(Exception):
    """What was asked cannot be done; the text says what, and what to type instead."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; `args.word` says what to do."""
    top = argparse.ArgumentParser(prog="python -m checks.harness", description=__doc__)
    words = top.add_subparsers(dest="word", required=True, metavar="WORD")

    kata = words.add_parser(
        "kata", help="grade katas/NAME/solution.py, made if missing"
    )
    kata.add_argument("name", nargs="?")
    kata.add_argument("--file", help="grade this file instead")

    grade = words.add_parser("grade", help="grade any files")
    grade.add_argument("name")
    grade.add_argument("files", nargs="+", metavar="FILE")
    grade.add_argument("--json", action="store_true", help="one line of JSON a file")

    words.add_parser("list", help="the katas, and how far you are")

    diff = words.add_parser("diff", help="your solution beside the reference")
    diff.add_argument("name", nargs="?")
    diff.add_argument("--giveup", action="store_true", help="show it before a pass")
    diff.add_argument("--unified", action="store_true", help="not side by side")

    reset = words.add_parser("reset", help="start anew; your solution is kept")
    reset.add_argument("name", nargs="?")

    matrix = words.add_parser("matrix", help="every known mistake against every check")
    matrix.add_argument("names", nargs="*", metavar="NAME", help="of some katas only")

    words.add_parser("doctor", help="what is installed, what is off")
    words.add_parser("picture", help="make the pictures in the README")
    return top
