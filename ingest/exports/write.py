"""The lake as an operator's export: ``forelight export OUT``.

What ``forelight import`` takes (design.md section 2): telemetry as Parquet by day, lane rows with the port's columns
repeated on each, and the small tables as CSV. A lane's own ``pre_fec_ber`` and ``quality`` stand beside the port's,
``port_pre_fec_ber`` and ``port_quality``; a reading of a port without lanes is a row of lane 0 without lane values.
An export appears whole or not at all, and never in the place of another. Rows are sorted by the names as they are
written: the order of the real ones would tell of them.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ingest.errors import ExportError
from ingest.exports.names import Pseudonyms
from ingest.exports.whole import whole_folder
from ingest.lake import Lake
from ingest.lake.table import one_line
from ingest.schema import LANE_SAMPLES, LINKS, MAINTENANCE, MODULES, PORT_SAMPLES, REPAIRS, TICKETS, Table

__all__ = ["ExportReport", "write_export"]

_SLICE_ROWS: Final = 1_000_000  # lane rows joined at once: some 500 MB
_KEY: Final = ["site", "device", "interface", "time"]
_FILES: Final = {
    "inventory.csv": MODULES,
    "links.csv": LINKS,
    "tickets.csv": TICKETS,
    "repairs.csv": REPAIRS,
    "maintenance.csv": MAINTENANCE,
}
_OF_PORT: Final = {"pre_fec_ber": "port_pre_fec_ber", "quality": "port_quality", "serial": "port_serial"}


@dataclass
class ExportReport:
    """What an export holds: telemetry files and their rows, and rows of each small table."""

    files: int = 0
    lane_rows: int = 0
    records: dict[str, int] = field(default_factory=dict)


def write_export(
    lake: Lake,
    out: Path,
    *,
    names: Pseudonyms | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> ExportReport:
    """Write what the lake holds as an export; of equal keys the row received last.

    Args:
        lake: where from.
        out: folder to make; it may exist where it is empty.
        names: replaces names and drops free text; without it everything is written as it is.
        since: telemetry from then on; the small tables are written whole.
        until: telemetry before then.
        progress: called with the fraction done.

    Raises:
        ExportError: `out` is not empty, cannot be written, or the lake has no telemetry.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        msg = f"{out}: is there already and not empty; nothing was written"
        raise ExportError(msg)
    days = [day for day in _days(lake) if (until is None or day < until) and (since is None or _next(day) > since)]
    if not days:
        msg = "the lake holds no telemetry to export: forelight import DIR, or forelight collect, brings some"
        raise ExportError(msg)
    report = ExportReport()
    try:
        with whole_folder(out) as partial:
            (partial / "telemetry").mkdir()
            for done, day in enumerate(days):
                span = max(day, since or day), min(_next(day), until or _next(day))
                _write_day(lake, partial / "telemetry", span, names, report)
                progress((done + 1) / len(days))
            for name, table in _FILES.items():
                _write_records(lake, partial / name, table, names, report)
    except (OSError, pa.ArrowException, pl.exceptions.PolarsError) as error:
        msg = f"{out}: {one_line(error)}; nothing was written"
        raise ExportError(msg) from error
    return report


def _days(lake: Lake) -> list[datetime]:
    days = {*lake.dates(LANE_SAMPLES), *lake.dates(PORT_SAMPLES)}
    return [datetime(day.year, day.month, day.day, tzinfo=UTC) for day in sorted(days)]


def _next(day: datetime) -> datetime:
    return day + timedelta(days=1)


def _write_day(
    lake: Lake, folder: Path, span: tuple[datetime, datetime], names: Pseudonyms | None, report: ExportReport
) -> None:
    """One file: its name is the day as the file tells it."""
    shift = timedelta() if names is None else names.shift
    path = folder / f"{span[0] + shift:%Y-%m-%d}.parquet"
    writer: pq.ParquetWriter | None = None
    try:
        for rows in _slices(lake, *span):
            if names is not None:
                rows = names.rows(LANE_SAMPLES, rows)  # noqa: PLW2901 - the same rows under other names
            table = rows.sort(*_KEY, "lane").to_arrow(compat_level=pl.CompatLevel.oldest())
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False)
            writer.write_table(table)
            report.lane_rows += rows.height
    finally:
        if writer is not None:
            writer.close()
            report.files += 1


def _slices(lake: Lake, since: datetime, until: datetime) -> Iterator[pl.DataFrame]:
    """Lane rows of a day, some hours or minutes at a time, so that a large fleet's day need not be held."""
    count = sum(
        lake.scan(table, since=since, until=until, columns=["time"]).select(pl.len()).collect(engine="streaming").item()
        for table in (LANE_SAMPLES, PORT_SAMPLES)
    )
    parts = count // _SLICE_ROWS + 1
    edges = [since + (until - since) * i / parts for i in range(parts + 1)]
    for start, end in itertools.pairwise(edges):
        with lake.reading(LANE_SAMPLES, since=start, until=end), lake.reading(PORT_SAMPLES, since=start, until=end):
            lanes = lake.latest(LANE_SAMPLES, since=start, until=end).collect()
            ports = lake.latest(PORT_SAMPLES, since=start, until=end).collect()
        rows = _lane_rows(lanes, ports)
        if rows.height:
            yield rows


def _lane_rows(lanes: pl.DataFrame, ports: pl.DataFrame) -> pl.DataFrame:
    """Readings of lanes with their port's beside each, and readings of ports that have none of lanes."""
    ports = ports.drop("received_at", "source").rename(_OF_PORT)
    rows = lanes.drop("received_at", "source").join(ports, on=_KEY, how="full", coalesce=True)
    return rows.with_columns(
        pl.col("lane").fill_null(0),
        pl.coalesce("serial", "port_serial").alias("serial"),
        pl.coalesce("quality", "port_quality").alias("quality"),
    ).drop("port_serial")


def _write_records(lake: Lake, path: Path, table: Table, names: Pseudonyms | None, report: ExportReport) -> None:
    if not lake.exists(table):
        return
    rows = lake.latest(table).drop("received_at").collect()
    if names is not None:
        rows = names.rows(table, rows)
    rows.sort(table.key).with_columns(
        pl.col(name).list.join(";") if isinstance(kind, pl.List) else pl.col(name).dt.strftime("%FT%T%.6f%:z")
        for name, kind in rows.schema.items()
        if isinstance(kind, pl.List | pl.Datetime)
    ).write_csv(path)
    report.records[table.name] = rows.height
