"""Files of the spool: one append each, whole or not there, in an order that survives restarts.

A name says all that replay needs to know of a file before it is read::

    000000000000000017-5f2c9a01d3b4-lane_samples-57600.arrow
    number             writer       table        rows

Numbers rise over the life of a folder: a process takes a block of them at its start, so
that one which was killed hands none out twice. Writer and number are what the lake records
with the rows.
"""

import json
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import IO, Final

import pyarrow as pa

from ingest.durable import put_file
from ingest.schema import TABLES, Table

__all__ = ["Entry", "Numbers", "found", "read", "set_aside", "take_numbers", "write"]

_NAME: Final = re.compile(r"(\d{18})-([0-9a-f]{12})-([a-z_]+)-(\d+)\.arrow")
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="zstd")
_BLOCK: Final = 10**9  # numbers of one process: a thousand years of a sweep a minute and a few tables
_NUMBERS: Final = "numbers.json"


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a process may number its appends with: its writer's name, and the first number."""

    writer: str
    first: int


@dataclass(slots=True)
class Entry:
    """One append that waits.

    Attributes:
        size_bytes: of the file, or of the rows in memory.
        path: None while it is in memory.
        data: the rows; None once they are in a file.
    """

    number: int
    writer: str
    table: Table
    rows: int
    size_bytes: int
    path: Path | None = None
    data: pa.Table | None = None

    @property
    def file_name(self) -> str:
        """Its name in the spool."""
        return f"{self.number:018d}-{self.writer}-{self.table.name}-{self.rows}.arrow"

    @property
    def mark(self) -> tuple[str, int]:
        """What the lake records with its rows."""
        return f"collect-{self.writer}", self.number


def take_numbers(folder: Path, entries: list[Entry]) -> Numbers:
    """A block of numbers above all that were ever given out here; under a new name where that cannot be noted."""
    floor = 1 + max((entry.number for entry in entries), default=0)
    note = folder / _NUMBERS
    try:
        before = json.loads(note.read_text(encoding="utf-8"))
        numbers = Numbers(_checked(before), max(floor, int(before["next"])))
    except (OSError, ValueError, KeyError, TypeError):
        numbers = Numbers(secrets.token_hex(6), floor)
    text = json.dumps({"host": gethostname(), "writer": numbers.writer, "next": numbers.first + _BLOCK})
    try:
        put_file(note, lambda file: file.write(text.encode()))
    except OSError:
        return Numbers(secrets.token_hex(6), floor)
    return numbers


def _checked(note: dict[str, object]) -> str:
    """The writer of a note, which another machine's copy of the folder may not go on with."""
    writer = str(note["writer"])
    if note["host"] != gethostname() or not re.fullmatch(r"[0-9a-f]{12}", writer):
        raise ValueError(writer)
    return writer


def write(folder: Path, entry: Entry) -> None:
    """Put an entry's rows into its file, durably, and out of memory.

    Raises:
        OSError: the folder cannot be written; nothing is left of the attempt.
    """
    rows = entry.data
    if rows is None:
        return
    path = folder / entry.file_name

    def put(file: IO[bytes]) -> None:
        with pa.ipc.new_file(file, rows.schema, options=_OPTIONS) as writer:
            writer.write_table(rows)

    put_file(path, put)
    entry.path, entry.data, entry.size_bytes = path, None, path.stat().st_size


def read(entry: Entry) -> pa.Table:
    """The rows of an entry.

    Raises:
        ValueError: the file is torn, or not what its name says.
        OSError: it cannot be read.
    """
    if entry.data is not None or entry.path is None:
        return entry.data
    with pa.OSFile(str(entry.path)) as file:
        rows = pa.ipc.open_file(file).read_all()
    rows.validate(full=True)
    if not rows.schema.equals(entry.table.schema) or rows.num_rows != entry.rows:
        msg = f"{entry.path.name}: not {entry.rows} rows of {entry.table.name}"
        raise ValueError(msg)
    return rows


def found(folder: Path) -> tuple[list[Entry], list[Path]]:
    """Entries of an earlier process in their order, and what was set aside; half-written files are cleared away.

    A file of another name is set aside too.
    """
    entries: list[Entry] = []
    for path in sorted(folder.glob("*.tmp")):
        path.unlink(missing_ok=True)
    for path in sorted(folder.glob("*.arrow")):
        parts = _NAME.fullmatch(path.name)
        if parts is None or parts[3] not in TABLES:
            set_aside(path)
            continue
        number, writer, table, rows = parts.groups()
        entries.append(Entry(int(number), writer, TABLES[table], int(rows), path.stat().st_size, path))
    return sorted(entries, key=lambda entry: entry.number), sorted(folder.glob("*.bad"))


def set_aside(path: Path) -> Path:
    """Rename a file that cannot be used, for somebody to look at."""
    aside = path.with_name(path.name + ".bad")
    path.rename(aside)
    return aside
