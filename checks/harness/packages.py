"""The packages that pyproject.toml asks for, against those that this Python has.

Imports the standard library alone: it runs before anything is installed.
"""

from __future__ import annotations

import ast
import re
from importlib import metadata
from pathlib import Path

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def requirements(group: str) -> list[str]:
    """Return an array of pyproject.toml, such as `dependencies` or `dev`.

    Read as Python, in which strings, commas and comments look the same: Python 3.10
    has no reader of TOML.
    """
    text = PYPROJECT.read_text("utf-8")
    array = re.search(rf"^{group} = (\[.*?^\])", text, re.MULTILINE | re.DOTALL)
    if array is None:
        raise LookupError(f"pyproject.toml has no array `{group}`")
    names: list[str] = ast.literal_eval(array[1])
    return names


def package_of(requirement: str) -> str:
    """Return the name in a requirement: `torch` of `torch>=2.6`."""
    return re.split(r"[^\w.-]", requirement)[0]


def installed(package: str) -> str | None:
    """Return the version of a package of this Python, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def release(version: str) -> tuple[int, ...]:
    """Return the numbers that order a version: (2, 13) of `2.13.0a0+cpu`."""
    numbers = re.match(r"\d+(\.\d+)*", version)
    parts = [int(part) for part in numbers[0].split(".")] if numbers else []
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def is_recent_enough(requirement: str) -> bool:
    """Whether this Python has a package, at the least version asked for or above."""
    version = installed(package_of(requirement))
    least = re.search(r">=([\d.]+)", requirement)
    if version is None or least is None:
        return version is not None
    return release(version) >= release(least[1])


def is_too_new(requirement: str) -> bool:
    """Whether this Python has a package above the range that is tested."""
    version = installed(package_of(requirement))
    bound = re.search(r"<([\d.]+)", requirement)
    if version is None or bound is None:
        return False
    return release(version) >= release(bound[1])
