"""A lake that knows some ports, and files to import into it."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.exports import ImportReport
from ingest.lake import Lake
from ingest.records import import_records
from ingest.schema import LINKS, MODULES

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    """leaf01 and leaf02 with Ethernet1/1 and Ethernet1/2, of which the first ones are a link; junos01 at site fra1."""
    lake = Lake(str(tmp_path / "lake"))
    ports = [("default", device, f"Ethernet1/{number}") for device in ("leaf01", "leaf02") for number in (1, 2)]
    ports.append(("fra1", "junos01.fra1.example.net", "et-0/0/1"))
    rows = [
        {"site": site, "device": device, "interface": interface, "serial": f"SN-{device[:6]}-{interface[-1]}"}
        for site, device, interface in ports
    ]
    lake.append(MODULES, _frame(MODULES, rows))
    ends = {
        f"{end}_{name}": value
        for end, port in (("a", ports[0]), ("z", ports[2]))
        for name, value in zip(("site", "device", "interface"), port, strict=True)
    }
    lake.append(LINKS, _frame(LINKS, [ends | {"cable_id": "C1", "source": "file"}]))
    return lake


def _frame(table: Any, rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist([row | {"received_at": LONG_AGO} for row in rows], schema=table.schema)


@pytest.fixture(name="write")
def _write(tmp_path: Path) -> Callable[..., Path]:
    """Writes lines into a file."""

    def write(name: str, *lines: str, encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding=encoding)
        return path

    return write


@pytest.fixture(name="take")
def _take(lake: Lake) -> Callable[..., ImportReport]:
    """Imports files."""

    def take(*paths: Path, **options: Any) -> ImportReport:
        return import_records(paths, lake, **options)

    return take


@pytest.fixture(name="latest")
def _latest(lake: Lake) -> Callable[..., list[dict[str, Any]]]:
    """Rows of a table as they are now, in order of its key."""

    def latest(table: Any) -> list[dict[str, Any]]:
        rows: pl.DataFrame = lake.latest(table).collect()
        return rows.sort(table.key).to_dicts()

    return latest
