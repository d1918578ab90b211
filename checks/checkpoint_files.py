"""Files, as the checks of `checkpoint` need them: folders, watches, and bad content.

All of it observes effects: what lies in a folder, what is done to one path, and what
that path holds while a save is under way.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

NO_SUCH_GPU = "cuda:99"


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Give an empty folder that is removed in the end; its path has no links in it.

    The working directory is then what it was, wherever a candidate has gone.
    """
    before = os.getcwd()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        try:
            yield Path(os.path.realpath(name))
        finally:
            os.chdir(before)


def listing(place: Path) -> list[str]:
    """Name all files and folders under a folder, hidden ones too."""
    return sorted(str(entry.relative_to(place)) for entry in place.rglob("*"))


class Place(os.PathLike[str]):
    """A path that is neither `str` nor `Path`."""

    def __init__(self, path: Path) -> None:
        """Stand for `path`."""
        self.path = str(path)

    def __fspath__(self) -> str:
        """Return the path."""
        return self.path

    def __str__(self) -> str:
        """Return the path, as `Path` does."""
        return self.path


class SavingFails(Exception):
    """What saving ends in when it meets an `Unpicklable`."""


class Unpicklable:
    """Cannot be saved: pickling it raises, with part of the state written already."""

    def __reduce__(self) -> Any:
        """Raise."""
        raise SavingFails("this object cannot be pickled")


class Peek:
    """Looks at a file whenever it is itself pickled; reads back as an empty dict.

    `holds` says of each look what the file held: None when it was whole and as it was
    when the peek was made.
    """

    def __init__(self, path: Path) -> None:
        """Look at `path`."""
        self.path, self.content = path, path.read_bytes()
        self.holds: list[str | None] = []

    def __reduce__(self) -> Any:
        """Look, and be pickled as something that weights_only=True admits."""
        self.holds.append(self._look())
        return (OrderedDict, ())

    def _look(self) -> str | None:
        try:
            content = self.path.read_bytes()
        except OSError:
            return "there was no file at all"
        if content == self.content:
            return None
        return (
            f"it held {len(content)} bytes of the {len(self.content)} of the old file"
        )


class PathWatch:
    """Notes what is done to one path, from Python, while the watch is on.

    `deeds` are those that leave a moment without a whole file there; `sources` are the
    paths that were renamed to it. Writes from C++ raise no event: for them see `Peek`.
    """

    def __init__(self, path: Path) -> None:
        """Watch `path`."""
        self.path = str(path)
        self.deeds: list[str] = []
        self.sources: list[Path] = []

    def __enter__(self) -> PathWatch:
        """Begin to note."""
        _install()
        _watches.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Note no more."""
        _watches.remove(self)

    def note(self, event: str, args: tuple[Any, ...]) -> None:
        """Take one audit event."""
        if event == "open" and self._is_here(args[0]):
            if isinstance(args[2], int) and args[2] & os.O_TRUNC:
                self.deeds.append("opened for writing, and so emptied")
        elif event in ("os.remove", "os.truncate") and self._is_here(args[0]):
            self.deeds.append(f"{event.removeprefix('os.')}d")
        elif event == "os.rename" and tuple(args[2:4]) == (-1, -1):
            if self._is_here(args[0]):
                self.deeds.append("renamed to something else")
            elif self._is_here(args[1]):
                self.sources.append(Path(_absolute(args[0])))

    def _is_here(self, path: Any) -> bool:
        return not isinstance(path, int) and _absolute(path) == self.path


def _absolute(path: Any) -> str:
    parent, name = os.path.split(os.path.abspath(os.fsdecode(path)))
    return os.path.join(os.path.realpath(parent), name)


_watches: list[PathWatch] = []
_installed: list[bool] = []


def _install() -> None:
    """Add the audit hook, once: Python has no way to remove one."""
    if not _installed:
        _installed.append(True)
        sys.addaudithook(_on_event)


def _on_event(event: str, args: tuple[Any, ...]) -> None:
    if not _watches or event not in ("open", "os.remove", "os.truncate", "os.rename"):
        return
    for watch in _watches:
        with contextlib.suppress(Exception):  # it would come up in the candidate's code
            watch.note(event, args)


class Payload:
    """Makes a folder when it is unpickled, as an attacker's file might do worse."""

    def __init__(self, marker: Path) -> None:
        """Make `marker`."""
        self.marker = str(marker)

    def __reduce__(self) -> Any:
        """Be pickled as a call."""
        return (os.mkdir, (self.marker,))


def written_on_a_gpu(content: Any) -> bytes:
    """Return a file of `content` as a machine with a hundred GPUs would write it.

    The tensors are tagged with the place that they come from; torch.load puts them back
    there unless it is told otherwise.
    """
    plain, tagged = io.BytesIO(), io.BytesIO()
    torch.save(content, plain)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(tagged, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("data.pkl"):
                data = data.replace(_pickled("cpu"), _pickled(NO_SUCH_GPU))
            new.writestr(entry, data)
    return tagged.getvalue()


def _pickled(text: str) -> bytes:
    """The opcode BINUNICODE, the length, the text."""
    return b"X" + len(text).to_bytes(4, "little") + text.encode()
