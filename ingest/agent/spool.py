"""The agent's own spool: what was read and is not acknowledged, one file a round, in order, up to a bound.

A file is whole or not there, and durably so before anything is sent. It goes when the service has acknowledged it, or
when there is no room for newer ones; what the service refuses for good is set aside.
"""

import fcntl
import gzip
import json
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ingest.durable import put_file
from ingest.errors import BusyError

__all__ = ["Kept", "Spool"]

_SUFFIX: Final = ".json.gz"


@dataclass(frozen=True, slots=True)
class Kept:
    """One round's file."""

    path: Path
    size_bytes: int


class Spool:
    """A folder of one agent.

    Args:
        folder: made here.
        max_bytes: of all files.
        say: told in one line what was lost.

    Raises:
        BusyError: another agent has the folder.
    """

    def __init__(self, folder: Path, max_bytes: int, say: Callable[[str], None]) -> None:
        self._folder, self._max_bytes, self._say = folder, max_bytes, say
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            msg = f"{folder}: another agent has this spool"
            raise BusyError(msg) from None
        for left in folder.glob("*.tmp"):
            left.unlink(missing_ok=True)
        self._files = [Kept(path, path.stat().st_size) for path in sorted(folder.glob(f"*{_SUFFIX}"))]
        self._next = 1 + max((int(kept.path.name.partition(".")[0]) for kept in self._files), default=0)
        self.dropped = 0

    def put(self, said: dict[str, Any]) -> None:
        """Keep what a round said; the oldest files make room.

        Raises:
            OSError: the folder cannot be written.
        """
        data = gzip.compress(json.dumps(said, separators=(",", ":")).encode(), 6)
        path = self._folder / f"{self._next:012d}{_SUFFIX}"
        self._next += 1
        put_file(path, lambda file: file.write(data))
        self._files.append(Kept(path, len(data)))
        self._make_room()

    def oldest(self, most_bytes: int) -> list[tuple[Kept, dict[str, Any]]]:
        """The oldest files, at least one, and as many as are not larger than that together."""
        found: list[tuple[Kept, dict[str, Any]]] = []
        size = 0
        for kept in list(self._files):
            if found and size + kept.size_bytes > most_bytes:
                break
            try:
                found.append((kept, json.loads(gzip.decompress(kept.path.read_bytes()))))
                size += kept.size_bytes
            except (OSError, ValueError, EOFError, zlib.error) as error:
                self._say(f"{kept.path.name} of the spool cannot be read ({error}); set aside")
                self.set_aside(kept)
        return found

    def remove(self, kept: Kept) -> None:
        """It is acknowledged."""
        kept.path.unlink(missing_ok=True)
        self._files = [each for each in self._files if each is not kept]

    def set_aside(self, kept: Kept) -> None:
        """It is of no use; somebody may want to look at the latest such."""
        with suppress(OSError):
            kept.path.replace(self._folder / "refused.json.gz.bad")
        self._files = [each for each in self._files if each is not kept]

    @property
    def files(self) -> int:
        """How many rounds wait."""
        return len(self._files)

    def close(self) -> None:
        """Let another agent have it."""
        os.close(self._lock)

    def _make_room(self) -> None:
        gone = 0
        while len(self._files) > 1 and sum(kept.size_bytes for kept in self._files) > self._max_bytes:
            self.remove(self._files[0])
            gone += 1
        if gone:
            self.dropped += gone
            self._say(f"the spool is full: its oldest {gone} rounds were dropped, {self.dropped} so far")
