"""Runs Python in an environment that has the packages, setting it up when need be.

`python3 checks/harness/bootstrap.py ARGUMENTS` is `python ARGUMENTS` in `.venv`; with
VENV=0 in the Python that runs this, when it has the packages; with `--as-is` first, in
that Python whatever it has. The Makefile starts it on whatever Python there is, and
the old ones must be told so: hence no syntax that Python 3.6 lacks, annotations in
quotes, and nothing of ours imported before the version is known to do.
"""

import os
import subprocess
import sys
from typing import NoReturn

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLDEST = (3, 10)


def main(arguments: "list[str]") -> NoReturn:
    """Become `python ARGUMENTS` in the right environment, or exit saying why not."""
    if sys.version_info[:2] < OLDEST:
        print(too_old(), file=sys.stderr)
        sys.exit(3)
    sys.path[0] = ROOT  # where `checks` is; this script's folder was there
    from checks.harness import environment

    python = sys.executable
    try:
        if arguments[:1] == ["--as-is"]:
            arguments = arguments[1:]
        elif environment.is_as_it_is():
            environment.require_packages(arguments)
        else:
            python = str(environment.PYTHON)
            if not environment.is_ready():
                refuse_unknown_kata(arguments)
                environment.set_up()
    except environment.SetupFailed as reason:
        print(f"{reason}\n  {reason.type_next or typed()}", file=sys.stderr)
        sys.exit(3)
    except KeyboardInterrupt:
        print("\nStopped; the next `make` sets .venv up.", file=sys.stderr)
        sys.exit(130)
    os.execv(python, [python, *arguments])


def too_old() -> str:
    """Return what to say when the Python that runs this is too old."""
    newer = newer_python()
    return "Python 3.10 or newer is needed; {} is {}.\n{}\n  {} PYTHON={}".format(
        sys.executable,
        ".".join(map(str, sys.version_info[:3])),
        "Type:" if newer else "Install one (www.python.org), then type, say:",
        typed(),
        newer or "python3.12",
    )


def newer_python() -> str:
    """Return the name of an installed Python that is new enough, or an empty text."""
    for name in ("python3.13", "python3.12", "python3.11", "python3.10"):
        try:  # a name is not enough: a version manager's may lead nowhere
            subprocess.check_output([name, "-c", ""], stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            continue
        return name
    return ""


def typed() -> str:
    """Return the command that led here, as the Makefile tells it."""
    return os.environ.get("TYPED", "").strip() or "make kata NAME=train_epoch"


def refuse_unknown_kata(arguments: "list[str]") -> None:
    """Answer a wrong NAME at once, before a minute of set-up."""
    from checks.harness import catalogue

    if arguments[:2] == ["-m", "checks.harness"] and len(arguments) > 3:
        try:
            if arguments[2] in ("kata", "diff", "reset"):
                catalogue.find(arguments[3])
        except catalogue.UnknownKata as error:
            print(error, file=sys.stderr)
            sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
