"""Dumps that tests hand in, and what the lake holds afterwards."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.dumps import DumpReport, Given, Reading, import_dumps, read_text
from ingest.lake import Lake
from ingest.quarantine import Quarantine
from ingest.schema import Table

SAMPLES = Path(__file__).parent / "samples"
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
GIVEN = Given(device="gpu17", at=AT)

Take = Callable[..., DumpReport]
Rows = Callable[[Table], list[dict[str, Any]]]


@pytest.fixture(name="sample")
def _sample() -> Callable[[str], str]:
    """The text of a sample."""
    return lambda name: (SAMPLES / name).read_text(encoding="utf-8")


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture(name="take")
def _take(lake: Lake, tmp_path: Path) -> Take:
    """Import files by their paths, or samples by their names."""

    def take(*paths: Path | str, given: Given = GIVEN) -> DumpReport:
        found = [SAMPLES / path if isinstance(path, str) else path for path in paths]
        return import_dumps(found, lake, given=given, quarantine=tmp_path / "quarantine")

    return take


@pytest.fixture(name="rows")
def _rows(lake: Lake) -> Rows:
    """Rows of a table, sorted by its key, without what is null."""

    def rows(table: Table) -> list[dict[str, Any]]:
        if not lake.exists(table):
            return []
        found = lake.latest(table).collect().drop("date", strict=False)
        key = [name for name in table.key if name in found.columns]
        return [
            {name: value for name, value in row.items() if value is not None}
            for row in found.sort(key).iter_rows(named=True)
        ]

    return rows


@pytest.fixture(name="quarantine")
def _quarantine(tmp_path: Path) -> Iterator[Quarantine]:
    kept = Quarantine(tmp_path / "quarantine.jsonl")
    yield kept
    kept.close()


@pytest.fixture(name="read")
def _read(quarantine: Quarantine) -> Callable[..., list[Reading]]:
    """Readings of a text."""

    def read(text: str, given: Given = GIVEN) -> list[Reading]:
        return read_text(text, given=given, quarantine=quarantine)

    return read
