"""Files that are there whole or not at all, whatever dies: the spools of the collector and of the agent."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

__all__ = ["put_file"]


def put_file(path: Path, fill: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name (`.tmp` behind its own), to the disk, and only then under its own.

    Raises:
        OSError: it cannot be written; nothing is left behind.
    """
    partial = path.with_name(path.name + ".tmp")
    try:
        with partial.open("wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
        _sync_folder(path.parent)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
