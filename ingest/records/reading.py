"""What every reader of people's records works with, and how one row of a mapped file becomes a record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import pyarrow as pa

from ingest.errors import ExportError
from ingest.exports.records import Cell, Layout, Record, Records
from ingest.ports import Ports
from ingest.quarantine import Kind, Quarantine
from ingest.records.grid import Grid, Row, filled_down
from ingest.records.mapping import TABLES, RecordMap
from ingest.records.times import TimeReader, UnzonedError

__all__ = ["Reading", "absent"]

_ABSENT: Final = ("", "n/a", "na", "nan", "null", "none", "-", "--", "(empty)", "unknown")
_SEVERAL: Final = ("port", "steps", "failure_type", "action", "shared_risk", "summary")
"""Columns of ours that all cells are looked at for, or that one is as good as another for."""


def absent(text: str) -> bool:
    """Whether a cell says that there is nothing to say."""
    return text.strip().casefold() in _ABSENT


@dataclass
class Reading:
    """One file on its way into the lake.

    Attributes:
        grid: its rows.
        mapped: what its columns mean.
        times: reads its times.
        ports: that are known.
        now: when it is read.
        made: records by table.
    """

    grid: Grid
    mapped: RecordMap
    times: TimeReader
    ports: Ports
    quarantine: Quarantine
    now: datetime
    made: dict[str, Records] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mapped.fill_down:
            self.grid = filled_down(self.grid, self.mapped.fill_down)
        if self.grid.note:
            self.quarantine.add(Kind.NOTE, self.grid.file, self.grid.note)
        for row in self.grid.torn:
            self.refuse(row, row.wrong)
        self._tell_doubled()

    def records(self, kind: str) -> Records:
        """Those of a table so far."""
        if kind not in self.made:
            layout = Layout(self.grid.file, TABLES[kind], needed=())
            self.made[kind] = Records(layout, self.quarantine)
        return self.made[kind]

    def add(self, kind: str, row: Row, cells: Mapping[str, Cell]) -> None:
        """Keep a record."""
        raw = {name: "; ".join(texts) for name, texts in row.cells.items()}
        self.records(kind).rows.append(Record(row.line, dict(cells), raw))

    def refuse(self, row: Row, reason: str, column: str = "", *, kind: Kind = Kind.ROW) -> None:
        """Put a row, or one value of it, into the quarantine."""
        raw: object = row.text(column) if column else {name: "; ".join(texts) for name, texts in row.cells.items()}
        where = f"{self.grid.file}:{row.line}"
        self.quarantine.add(kind, self.grid.file, reason, column=column, examples=[(where, raw)])

    def note(self, row: Row, reason: str, column: str = "") -> None:
        """Say something of a row that is kept."""
        self.refuse(row, reason, column, kind=Kind.NOTE)

    def theirs(self, ours: str) -> tuple[str, ...]:
        """Columns of the file."""
        return self.mapped.columns.get(ours, ())

    def _tell_doubled(self) -> None:
        """Say where a column stands twice, once with this and once with that, and only the first is taken."""
        names = {name for ours, theirs in self.mapped.columns.items() if ours not in _SEVERAL for name in theirs}
        for row in self.grid.rows:
            for name in sorted(names):
                if len(set(row.texts(name))) > 1:
                    self.note(row, "this column stands several times and says several things; the first is taken", name)

    def text(self, row: Row, ours: str) -> str:
        """What a row says for one of our columns; empty where that is nothing."""
        found = row.text(*self.theirs(ours))
        return "" if absent(found) else found

    def time(self, row: Row, ours: str, *, needed: bool = False) -> datetime | None:
        """A time of a row.

        Raises:
            UnzonedError: its zone would have to be guessed.
            ValueError: a needed one is not there or cannot be read; one that is not needed is left out and told.
        """
        text = self.text(row, ours)
        column = next((each for each in self.theirs(ours) if row.text(each)), "")
        if not text:
            if needed:
                msg = f"no {ours}"
                raise ValueError(msg)
            return None
        try:
            found = self.times.read(text)
        except UnzonedError as error:
            msg = f"{column}: {error}"
            raise UnzonedError(msg) from None
        except ValueError as error:
            if needed:
                msg = f"{column}: {error}"
                raise ValueError(msg) from None
            self.refuse(row, str(error), column, kind=Kind.VALUE)
            return None
        if self.times.twice(text):
            self.note(row, "an hour that the clock showed twice; taken as the first", column)
        return found

    def value(self, row: Row, ours: str, kind: pa.DataType) -> Cell:
        """A cell by the type of our column.

        Raises:
            UnzonedError: as `time`.
        """
        if pa.types.is_timestamp(kind):
            return self.time(row, ours)
        if pa.types.is_list(kind):
            cells = [text for each in self.theirs(ours) for text in row.texts(each)]
            items = [item.strip() for text in cells for item in text.replace(";", ",").split(",")]
            return [item for item in items if item]
        text = self.text(row, ours)
        if not text or pa.types.is_string(kind):
            return text or None
        try:
            return int(float(text)) if pa.types.is_integer(kind) else float(text)
        except (ValueError, OverflowError):
            self.refuse(row, f"{text!r} is not a number", ours, kind=Kind.VALUE)
            return None

    def refuse_nothing(self) -> None:
        """Refuse the file where none of its rows could be taken, with the reason that most of them have."""
        rows = len(self.grid.rows) + len(self.grid.torn)
        if not rows or any(records.rows for records in self.made.values()):
            return
        mine = [each for each in self.quarantine.findings if each.file == self.grid.file and each.kind is Kind.ROW]
        most = max(mine, key=lambda finding: finding.count, default=None)
        why = f"; most often, as at {most}" if most else ""
        self.quarantine.add(Kind.ERROR, self.grid.file, f"none of its {rows:,} rows could be taken{why}")

    def each(self, take: Callable[["Reading", Row], None]) -> None:
        """Take every row; one that cannot be is refused.

        Raises:
            ExportError: nothing of the file could be taken, since no time of it has a zone.
        """
        unzoned: list[str] = []
        for row in self.grid.rows:
            try:
                take(self, row)
            except UnzonedError as error:
                unzoned.append(f"{self.grid.file}:{row.line}: {error}")
                self.refuse(row, str(error), kind=Kind.ERROR)
            except ValueError as error:
                self.refuse(row, str(error))
        if unzoned and len(unzoned) == len(self.grid.rows):
            raise ExportError(unzoned[0])
