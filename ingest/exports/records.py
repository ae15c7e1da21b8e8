"""The small files of an export (inventory, links, tickets, …): CSV rows into canonical columns.

Each cell is read by the type its column has in the schema. A row that cannot be taken
goes to the quarantine with its line; a value that only adds to a row becomes null.
"""

import csv
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa

from ingest.errors import ExportError
from ingest.lake import Lake
from ingest.plain import is_plain, one_line
from ingest.ports import Port
from ingest.quarantine import Kind, Quarantine
from ingest.schema import Action, Table
from ingest.utc import to_utc

__all__ = ["Cell", "Layout", "Port", "Record", "Records", "add_new", "read_records"]

Cell = str | float | int | datetime | list[str] | None

_MISSING: Final = ("", "n/a", "na", "nan", "nat", "null", "none", "-", "--")
_DONE_NOTHING: Final = ("action", str(Action.NONE))  # a word of its own, though elsewhere it is "missing"
_FREE: Final = ("summary",)  # free text: its lines become one
_REST: Final = "(more cells)"
_SENTINEL: Final = 1e9  # ENTITY-SENSOR-MIB: +-10^9 is "beyond what the sensor can say"


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a file: canonical columns, and where it stood."""

    line: int
    cells: dict[str, Cell]
    raw: dict[str, str]

    def port(self, end: str = "") -> Port:
        """Site, device and interface, of one end of a link where given as ``a_`` or ``z_``."""
        site, device, interface = (str(self.cells[f"{end}{name}"]) for name in ("site", "device", "interface"))
        return site, device, interface


@dataclass(frozen=True)
class Layout:
    """What one file may look like.

    Attributes:
        file: its name in the export.
        table: where its rows go.
        needed: columns that the file must have, and every row a value in.
        defaults: what stands for an absent value.
        aliases: other names of columns.
        extra: further columns that the reader of the file makes use of.
    """

    file: str
    table: Table
    needed: tuple[str, ...]
    defaults: Mapping[str, Cell] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    extra: tuple[str, ...] = ()


class Records:
    """The rows of one file that are still good, and the way to refuse one."""

    def __init__(self, layout: Layout, quarantine: Quarantine) -> None:
        self.layout = layout
        self.rows: list[Record] = []
        self.read = 0
        self._quarantine = quarantine

    def say(self, kind: Kind, record: Record, reason: str, column: str = "") -> None:
        """Report something about one row."""
        where = f"{self.layout.file}:{record.line}"
        raw = record.raw.get(column) if column else record.raw
        self._quarantine.add(kind, self.layout.file, reason, column=column, examples=[(where, raw)])

    def keep(self, good: Callable[[Record], str | None]) -> None:
        """Keep the rows for which nothing is said against; the others go to the quarantine with the reason."""
        kept = []
        for record in self.rows:
            reason = good(record)
            if reason is None:
                kept.append(record)
            else:
                self.say(Kind.ROW, record, reason)
        self.rows = kept

    def keep_last(self, what: str) -> None:
        """Of rows with the same key keep the last one, and say so."""
        key = self.layout.table.key
        last = {self._key(record, key): record.line for record in self.rows}
        self.keep(
            lambda record: (
                None
                if last[self._key(record, key)] == record.line
                else f"{what} is written again at line {last[self._key(record, key)]}, which is taken"
            )
        )

    def frame(self) -> pl.DataFrame:
        """The rows in the table's schema, without ``received_at``."""
        schema = pa.schema([column for column in self.layout.table.schema if column.name != "received_at"])
        rows = pa.Table.from_pylist([record.cells for record in self.rows], schema=schema)
        frame = pl.from_arrow(rows)
        assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table becomes a frame, not a series
        return frame

    @staticmethod
    def _key(record: Record, key: Iterable[str]) -> tuple[str, ...]:
        return tuple(str(record.cells.get(name)) for name in key)


def read_records(directory: Path, layout: Layout, quarantine: Quarantine) -> Records | None:
    """Read one file of the export; None where there is none.

    Raises:
        ExportError: it is no CSV, or lacks a column that it needs.
    """
    path = directory / layout.file
    if not path.is_file():
        return None
    records = Records(layout, quarantine)
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            reader = csv.DictReader(file, restkey=_REST)
            names = _header(layout, list(reader.fieldnames or ()), quarantine)
            for raw in reader:
                records.read += 1
                _take(records, reader.line_num, raw, names)
    except csv.Error as error:
        msg = f"{layout.file}:{records.read + 2}: not CSV: {error}"
        raise ExportError(msg) from error
    return records


def _header(layout: Layout, header: list[str], quarantine: Quarantine) -> dict[str, str]:
    """Column of the file to column of the table."""
    names = {name: layout.aliases.get(name.strip(), name.strip()) for name in header}
    missing = [name for name in layout.needed if name not in names.values() and name not in layout.defaults]
    if missing:
        msg = f"{layout.file}: has no column {', '.join(missing)}"
        raise ExportError(msg)
    known = set(layout.table.schema.names) - {"received_at"}
    for name, column in names.items():
        if column not in known and column not in (*layout.extra, "received_at"):
            quarantine.add(Kind.NOTE, layout.file, "not a column that is known; left out", column=name)
    return {name: column for name, column in names.items() if column in known}


def _take(records: Records, line: int, raw: dict[str, str], names: Mapping[str, str]) -> None:
    record = Record(line, {}, {str(name): value for name, value in raw.items()})
    if _REST in raw:
        records.say(Kind.ROW, record, "more cells than the header has")
        return
    for name, column in names.items():
        text = (raw[name] or "").strip()
        kind = records.layout.table.schema.field(column).type
        needed = column in records.layout.needed
        try:
            text = one_line(text).strip() if column in _FREE else _name(text)
            value = None if text.lower() in _MISSING and (column, text) != _DONE_NOTHING else _cell(text, kind)
        except _NaiveTimeError as error:
            records.say(Kind.ERROR, record, str(error), name)
            return
        except ValueError as error:
            records.say(Kind.ROW if needed else Kind.VALUE, record, str(error), name)
            if needed:
                return
            value = None
        record.cells[column] = records.layout.defaults.get(column) if value is None else value
    for column, default in records.layout.defaults.items():
        record.cells.setdefault(column, default)
    lacks = [column for column in records.layout.needed if record.cells.get(column) is None]
    if lacks:
        records.say(Kind.ROW, record, f"no {', '.join(lacks)}")
        return
    records.rows.append(record)


def _name(text: str) -> str:
    if not is_plain(text):
        msg = f"{text!r} has control characters"
        raise ValueError(msg)
    return text


class _NaiveTimeError(ValueError):
    """A time whose zone would have to be guessed."""


def _cell(text: str, kind: pa.DataType) -> Cell:
    if pa.types.is_timestamp(kind):
        return _time(text)
    if pa.types.is_list(kind):
        return [item.strip(" \"'") for item in text.strip("[]").replace(";", ",").split(",") if item.strip(" \"'")]
    if pa.types.is_integer(kind):
        return _whole(text, kind)
    if pa.types.is_floating(kind):
        return _number(text)
    return text


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        msg = f"{text!r} is not an ISO 8601 time"
        raise ValueError(msg) from None
    if time.tzinfo is None:
        msg = f"{text!r} is a time without a zone (write +00:00 or Z for UTC)"
        raise _NaiveTimeError(msg)
    try:
        return to_utc(time)
    except ValueError as error:
        msg = f"{text!r} is {error}"
        raise ValueError(msg) from None


def _whole(text: str, kind: pa.DataType) -> int:
    """A whole number that the column has room for."""
    number = _number(text)
    if number is None or not abs(number) < 2.0 ** (kind.bit_width - 1):
        msg = f"{text!r} is no whole number of {kind.bit_width} bits"
        raise ValueError(msg)
    return int(number)


def _number(text: str) -> float | None:
    """A number; an infinite one, or a sensor's "beyond", is no limit at all."""
    try:
        number = float(text)
    except ValueError:
        msg = f"{text!r} is not a number"
        raise ValueError(msg) from None
    return number if math.isfinite(number) and abs(number) < _SENTINEL else None


def add_new(lake: Lake, table: Table, rows: pl.DataFrame, received_at: datetime) -> int:
    """Append the rows that are not, as they stand, the latest of their key already.

    So an export can be imported again and again: only what changed makes a new version.
    """
    columns = rows.columns
    known = lake.latest(table, columns=columns).collect()
    lists = [name for name in columns if isinstance(rows.schema[name], pl.List)]
    flat = [pl.col(name).list.join("\0").alias(name) for name in lists]
    fresh = (
        rows.with_row_index("position")
        .with_columns(flat)
        .join(known.with_columns(flat), on=columns, how="anti", nulls_equal=True)
        .get_column("position")
    )
    changed = rows[fresh.sort()]
    if changed.height:
        lake.append(table, changed.with_columns(received_at=pl.lit(received_at)))
    return changed.height
