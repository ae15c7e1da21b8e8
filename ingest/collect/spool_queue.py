"""What waits for the lake, in order: on disk up to a bound, and in memory, up to another, where there is no disk."""

import fcntl
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa

from ingest.collect import spool_files
from ingest.collect.spool_files import Entry
from ingest.schema import Table

__all__ = ["Queue"]

_BATCH_ROWS: Final = 500_000  # of one commit: a backlog is many small files


class Queue:
    """Entries by number. Of those that wait the oldest are dropped where there is no room.

    Args:
        folder: for the files; made here.
        max_bytes: of all files, those set aside included.
        memory_bytes: of rows that cannot be written to the folder.
        say: told in one line what was lost or set aside.
    """

    def __init__(self, folder: Path, max_bytes: int, memory_bytes: int, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._memory_bytes = memory_bytes
        self._say = say
        self._entries: list[Entry] = []
        self._bad: list[Path] = []
        self._bad_bytes = 0
        self._descriptor: int | None = None
        self._disk_error: str | None = None
        self.dropped_rows = 0
        self.owned = False
        self.own()

    def own(self) -> bool:
        """Have the folder, with what an earlier process left in it, where no other process has it."""
        if not self.owned and self._lock():
            self.owned = True
            self._find()
            self._numbers = spool_files.take_numbers(self._folder, self._entries)
            self._next = self._numbers.first
            if self._entries:
                self._say(f"{self.rows} rows wait in the spool since the last run")
        return self.owned

    def close(self) -> None:
        """Let another process have the folder."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def entry(self, table: Table, rows: pa.Table) -> Entry:
        """Rows with the next number; not in the queue yet."""
        self._next += 1
        return Entry(self._next - 1, self._numbers.writer, table, rows.num_rows, rows.nbytes, data=rows)

    def put(self, entry: Entry, rows: pa.Table) -> None:
        """Keep rows in exactly their table's schema on disk; in memory, and told once, while that cannot be."""
        entry.data, entry.size_bytes = rows, rows.nbytes
        self._entries.append(entry)
        try:
            for each in [each for each in self._entries if each.data is not None]:
                spool_files.write(self._folder, each)
        except (OSError, pa.ArrowException) as error:
            if self._disk_error is None:
                self._say(f"the spool {self._folder} cannot be written ({_line(error)}): rows are kept in memory")
            self._disk_error = _line(error)
        else:
            self._disk_error = None
        self._make_room()

    def remove(self, entries: Iterable[Entry]) -> None:
        """Forget entries, and their files."""
        gone = {id(entry) for entry in entries}
        for entry in self._entries:
            if id(entry) in gone and entry.path is not None:
                with suppress(OSError):  # found again at the next start, the lake's mark tells that it is done
                    entry.path.unlink(missing_ok=True)
        self._entries = [entry for entry in self._entries if id(entry) not in gone]

    def has(self, table: Table) -> bool:
        """Whether rows of a table wait."""
        return any(entry.table is table for entry in self._entries)

    def tables(self) -> list[Table]:
        """Tables that have entries, those with the oldest first."""
        return list({entry.table.name: entry.table for entry in self._entries}.values())

    def batch(self, table: Table) -> list[tuple[Entry, pa.Table]]:
        """The oldest entries of a table with their rows, of one writer and as many as one commit should have."""
        taken: list[tuple[Entry, pa.Table]] = []
        rows = 0
        for entry in [entry for entry in self._entries if entry.table is table]:
            if taken and (entry.writer != taken[0][0].writer or rows + entry.rows > _BATCH_ROWS):
                break
            data = self._read(entry)
            if data is not None:
                taken.append((entry, data))
                rows += entry.rows
        return taken

    def pending(self, table: Table) -> list[pa.Table]:
        """All rows of a table that wait, the oldest first."""
        read = [self._read(entry) for entry in self._entries if entry.table is table]
        return [data for data in read if data is not None]

    @property
    def files(self) -> int:
        """Files that wait."""
        return sum(entry.path is not None for entry in self._entries)

    @property
    def size_bytes(self) -> int:
        """What the files take, those set aside included."""
        return sum(entry.size_bytes for entry in self._entries if entry.path is not None) + self._bad_bytes

    @property
    def rows(self) -> int:
        """Rows that wait."""
        return sum(entry.rows for entry in self._entries)

    @property
    def memory_rows(self) -> int:
        """Rows that wait in memory."""
        return sum(entry.rows for entry in self._entries if entry.data is not None)

    @property
    def memory_bytes(self) -> int:
        """What waits in memory takes."""
        return sum(entry.size_bytes for entry in self._entries if entry.data is not None)

    @property
    def bad_files(self) -> int:
        """Files that could not be read."""
        return len(self._bad)

    def _lock(self) -> bool:
        """Whether the folder is this process's; the kernel gives it back when the process dies."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._folder / "lock", os.O_CREAT | os.O_RDWR, 0o644)
        except OSError:
            return True  # nobody can write here: what waits stays in memory
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError as error:  # a file system without locks
            self._say(f"the spool {self._folder} cannot be locked ({_line(error)}): give it to one collector only")
        self._descriptor = descriptor
        return True

    def _find(self) -> None:
        try:
            self._entries, self._bad = spool_files.found(self._folder)
            self._bad_bytes = sum(path.stat().st_size for path in self._bad)
        except OSError as error:
            self._say(f"the spool {self._folder} cannot be read ({_line(error)})")

    def _read(self, entry: Entry) -> pa.Table | None:
        try:
            return spool_files.read(entry)
        except (OSError, ValueError, pa.ArrowException) as error:
            self._set_aside(entry, _line(error))
            return None

    def _set_aside(self, entry: Entry, reason: str) -> None:
        """What cannot be read must not hold up what can."""
        self._entries.remove(entry)
        path = entry.path or self._folder / entry.file_name
        try:
            self._bad.append(spool_files.set_aside(path))
            self._bad_bytes += entry.size_bytes
        except OSError as error:
            reason = f"{reason}; {_line(error)}"
        self._say(f"{path.name} of the spool cannot be read ({reason}): set aside as {path.name}.bad")

    def _make_room(self) -> None:
        """Files set aside go first, then the oldest entries of the disk and of the memory."""
        while self._bad and self.size_bytes > self._max_bytes:
            path = self._bad.pop(0)
            self._bad_bytes -= path.stat().st_size if path.exists() else 0
            path.unlink(missing_ok=True)
        over = {True: self.size_bytes - self._max_bytes, False: self.memory_bytes - self._memory_bytes}
        dropped: list[Entry] = []
        for entry in self._entries:
            on_disk = entry.path is not None
            if over[on_disk] > 0:
                over[on_disk] -= entry.size_bytes
                dropped.append(entry)
        if dropped:
            rows = sum(entry.rows for entry in dropped)
            self.remove(dropped)
            self.dropped_rows += rows
            self._say(f"the spool is full: its oldest {rows} rows were dropped, {self.dropped_rows} so far")


def _line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
