"""Files that are written whole or not at all, and moves that overwrite nothing."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def prepared(content: bytes, target: Path) -> Iterator[Path]:
    """Write a file beside `target`, safe on the disk, to be put in its place whole."""
    path = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with path.open("wb") as file:
            file.write(content)
            _sync(file)
        yield path
    finally:
        path.unlink(missing_ok=True)


def put(ready: Path, target: Path) -> bool:
    """Put a prepared file at `target` unless there is one; return whether it was."""
    try:
        os.link(ready, target)
    except OSError:  # it is there, or the file system knows no links
        if os.path.lexists(target):
            return False
        os.replace(ready, target)
    return True


def reserved(folder: Path) -> Path:
    """Make an empty file named after the time (UTC), to be replaced by another."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{datetime.now(timezone.utc):%Y-%m-%d-%H%M%S-%f}.py"
    path.touch(exist_ok=False)
    return path


def move(source: Path, target: Path) -> None:
    """Move a file, to another file system too; of a link, move what it leads to."""
    if not source.is_symlink():
        try:
            os.replace(source, target)
            return
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
    with source.open("rb") as old, target.open("wb") as new:
        shutil.copyfileobj(old, new)
        _sync(new)
    source.unlink()


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
