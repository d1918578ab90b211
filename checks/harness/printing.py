"""Where text goes: a console that is good piped, without colour and in plain ASCII.

Nothing printed here is read as rich's markup, and no character that came from a
candidate's code can command the terminal.
"""

from __future__ import annotations

import codecs
import io
import re
import sys
import textwrap
from pathlib import Path

from rich.console import Console
from rich.text import Text

PIPED_WIDTH = 80
# What stands for a character of ours where the encoding has none.
IN_ASCII = {
    "✓": "+",
    "✗": "x",
    "–": "-",
    "—": "-",
    "…": "...",
    "·": "*",
    "×": "x",
    "−": "-",
    "→": "->",
    "“": '"',
    "”": '"',
    "’": "'",
}
# Control characters but tab and line break, and those that turn the writing direction.
CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def console() -> Console:
    """Return a console on standard output: 80 columns wide where it is a file."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_in_ascii.__name__)
    plain = Console(highlight=False, markup=False, emoji=False)
    if not plain.is_terminal:
        plain.width = PIPED_WIDTH
    return plain


def say(to: Console, text: str = "", style: str = "", indent: int = 0) -> None:
    """Print a paragraph, its lines broken to the width, each indented alike."""
    for line in visible(text).split("\n"):
        for part in wrapped(line, to.width, indent):
            put(to, Text(part, style))


def say_command(to: Console, command: str) -> None:
    """Print what to type, on a line of its own, whole: it is to be copied."""
    put(to, Text(f"  {command}", "bold"))


def put(to: Console, text: Text) -> None:
    """Print one line as it is, however long."""
    to.print(text, soft_wrap=True)


def wrapped(line: str, width: int, indent: int = 0) -> list[str]:
    """Break one line; what it begins with in spaces is kept on each part."""
    own = len(line) - len(line.lstrip())
    margin = " " * (indent + own)
    parts = textwrap.wrap(
        line,
        max(width, 20),
        initial_indent=" " * indent,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
    )
    return parts or [""]


def clipped(text: str, width: int) -> str:
    """Return the first line of a text, cut to the width with an ellipsis."""
    first = visible(text).rstrip().split("\n")[0]
    return first if len(first) <= width else f"{first[: width - 1].rstrip()}…"


def visible(text: str) -> str:
    """Write control characters as escapes, and a tab as spaces."""
    text = text.replace("\r\n", "\n").expandtabs(4)
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def short(path: Path, root: Path) -> str:
    """Return a path as one would type it at the top of the repository."""
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Put ASCII where the stream's encoding has no such character."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    said = (IN_ASCII.get(char, ascii(char)[1:-1]) for char in lost)
    return "".join(said), error.end


codecs.register_error(_in_ascii.__name__, _in_ascii)
