"""A folder that appears whole or not at all, whatever befalls whoever writes it.

It is written beside its place, under a hidden name, flushed to disk and renamed. What a killed writer left there is
taken away by the next one; a writer that lives holds a lock on its own.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["whole_folder"]

_SUFFIX = ".partial"


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder to write to that becomes `out` at the end; left by an exception, it is deleted.

    Raises:
        OSError: there is no room, or something stands at `out` meanwhile.
    """
    for left in out.parent.iterdir() if out.parent.is_dir() else ():
        if left.name.startswith(f".{out.name}.") and left.name.endswith(_SUFFIX):
            _take_away(left)
    partial, lock = _made(out)
    try:
        yield partial
        _flush(partial)
        partial.replace(out)
        _sync(out.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        os.close(lock)


def _made(out: Path) -> tuple[Path, int]:
    """A new folder, and the descriptor that keeps others from it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for number in range(1_000_000):
        partial = out.parent / f".{out.name}.{os.getpid()}-{number}{_SUFFIX}"
        with contextlib.suppress(FileExistsError):
            partial.mkdir()
            lock = _locked(partial)
            if lock is not None:
                return partial, lock
    msg = f"{out}: no folder can be made beside it"
    raise FileExistsError(msg)


def _locked(folder: Path) -> int | None:
    """A descriptor that holds the folder's lock; None where another has it, or took the folder away before."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), folder.stat()):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _take_away(left: Path) -> None:
    lock = _locked(left)
    if lock is not None:
        shutil.rmtree(left, ignore_errors=True)
        os.close(lock)


def _flush(folder: Path) -> None:
    """Onto the disk with all of it, before its name says that it is there."""
    for path in (*folder.rglob("*"), folder):
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
