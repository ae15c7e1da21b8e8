"""A lake that goes away and comes back, rows to append, and a spool between them."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ingest.collect.spool import Spool
from ingest.schema import LANE_SAMPLES, Table

T0 = datetime(2026, 3, 1, tzinfo=UTC)
Rows = Callable[..., pa.Table]


class Away:
    """A lake in memory that goes away and comes back, and remembers marks as Delta does."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.only: Table | None = None
        self.hold = threading.Event()
        self.hold.set()
        self.loses_answers = False
        self.kept: list[tuple[str, str]] = []
        self.marks: dict[tuple[str, str], int] = {}
        self.attempts = 0

    def append(self, table: Table, rows: pa.Table, *, mark: tuple[str, int] | None = None) -> None:
        self.attempts += 1
        self.hold.wait(30)
        if self.error is not None and self.only in {None, table}:
            raise self.error
        self.kept += [(table.name, name) for name in rows["interface"].to_pylist()]
        if mark:
            self.marks[table.name, mark[0]] = mark[1]
        if self.loses_answers:
            msg = "connection reset"
            raise OSError(msg)

    def mark(self, table: Table, writer: str) -> int:
        return self.marks.get((table.name, writer), 0)

    @property
    def names(self) -> list[str]:
        return [name for _, name in self.kept]


@pytest.fixture(name="lake")
def _lake() -> Away:
    return Away()


@pytest.fixture(name="rows")
def _rows() -> Rows:
    def make(name: str, table: Table = LANE_SAMPLES, count: int = 1) -> pa.Table:
        row = {"site": "default", "device": "leaf01", "interface": name, "quality": 0, "source": "snmp"}
        lane = {"lane": 1} if table is LANE_SAMPLES else {}
        times = [T0 + timedelta(seconds=i) for i in range(count)]
        return pa.Table.from_pylist([row | lane | {"time": t, "received_at": t} for t in times], schema=table.schema)

    return make


class Said(list[str]):
    def __call__(self, line: str) -> None:
        self.append(line)


@pytest.fixture(name="said")
def _said() -> Said:
    return Said()


@pytest.fixture(name="spool")
def _spool(lake: Away, tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Spool]:
    """Opens spools on one folder; a failure is followed by no wait, so that tests need none."""
    monkeypatch.setattr("ingest.collect.spool._FIRST_WAIT_S", 0.0)

    def open_one(**options: Any) -> Spool:
        return Spool(lake, tmp_path / "spool", say=said, **options)

    return open_one


@pytest.fixture(name="another_lake")
def _another_lake() -> type[Away]:
    """Makes more lakes, where one a test is not enough."""
    return Away
