"""Compaction of every kind of table: slices, versions, lists and structs, sorted files that readers can skip in."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.lake.delta import latest_of_key
from ingest.lake.files import ROW_GROUP_ROWS
from ingest.lake.lease import FileLease
from ingest.schema import (
    LANE_SAMPLES,
    LINKS,
    MAINTENANCE,
    MODULES,
    PORT_EVENTS,
    PORT_SAMPLES,
    REPAIRS,
    REPLACEMENTS,
    SCORES,
    TICKETS,
    Table,
)

Rows = Callable[..., pl.DataFrame]
T0 = datetime(2026, 3, 1, tzinfo=UTC)
RISKS = {f"risk_{hours}h": 0.5 for hours in (6, 12, 24, 48, 96, 168)}
VERSIONS = Table(
    "lane_tiles",
    pa.schema(
        [
            *((name, pa.string()) for name in ("site", "device", "interface")),
            *((name, pa.timestamp("us", tz="UTC")) for name in ("hour", "received_at")),
            ("rows", pa.int32()),
        ]
    ),
    ("site", "device", "interface", "hour"),
    "hour",
)


@pytest.fixture(name="several")
def _several(rows: Rows) -> pl.DataFrame:
    """Seven ports on three devices of two sites, in no order."""
    ports = [("a", "d2", "e1"), ("a", "d1", "e1"), ("b", "d1", "e1"), ("a", "d1", "e2"), ("a", "d1", "e10")]
    found = [rows(5, site=site, device=device, interface=interface) for site, device, interface in ports]
    return pl.concat([*found, rows(5, site="b", lane=2), rows(5, site="b", lane=1)])


@pytest.mark.parametrize("slice_rows", [1, 7, 10, 34, 35, 1000])
def test_slices_of_any_size_give_the_same_sorted_file(
    lake: Lake, lease: FileLease, several: pl.DataFrame, tmp_path: Path, slice_rows: int
) -> None:
    """However small, a slice takes a port whole, so that all rows of a key meet."""
    lake.append(LANE_SAMPLES, several.sample(fraction=1.0, shuffle=True, seed=1))
    lake.append(LANE_SAMPLES, several.head(20).with_columns(rx_power_dbm=pl.lit(-7.0)))

    lake.compact(LANE_SAMPLES, lease=lease, slice_rows=slice_rows)

    (file,) = tmp_path.rglob("compacted-*.parquet")
    kept = pl.read_parquet(file, hive_partitioning=False)
    assert several.height == kept.height
    assert kept.equals(kept.sort(LANE_SAMPLES.key))
    assert 20 == kept.filter(pl.col("rx_power_dbm") == -7.0).height
    assert [] == lake.check(deep=True)


def test_row_groups_are_large_whatever_the_slices(lake: Lake, lease: FileLease, rows: Rows, tmp_path: Path) -> None:
    """Statistics of each let a reader skip; many small ones would weigh more than they save."""
    device = rows(40_000, every=timedelta(seconds=2))
    lake.append(LANE_SAMPLES, pl.concat(device.with_columns(device=pl.lit(f"leaf{n}")) for n in range(5)))

    lake.compact(LANE_SAMPLES, lease=lease, slice_rows=40_000)

    (file,) = tmp_path.rglob("compacted-*.parquet")
    metadata = pq.read_metadata(file)
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    assert [ROW_GROUP_ROWS, 200_000 - ROW_GROUP_ROWS] == [group.num_rows for group in groups]
    assert "leaf3" == groups[0].column(LANE_SAMPLES.schema.get_field_index("device")).statistics.max


def test_lists_and_structs_and_flags_come_through(lake: Lake, lease: FileLease, rows: Rows) -> None:
    port = rows(3).drop("lane", "rx_power_dbm")
    bins = pl.Series([[1, 2, 3], None, []], dtype=pl.List(pl.Int64))
    lake.append(PORT_SAMPLES, port.with_columns(fec_bins=bins, oper_up=pl.Series([True, None, False])))
    lake.append(PORT_EVENTS, port.drop("quality").with_columns(kind=pl.lit("up")))
    types = pl.Series([{"laser_degradation": 0.9}, None, {"other": 0.1}])
    reasons = pl.Series([["bias 38 % up", "hot"], [], None], dtype=pl.List(pl.String))
    scored = port.drop("quality", "source").with_columns(
        type_probabilities=types, reasons=reasons, status=pl.lit("scored"), model_version=pl.lit("1"), **RISKS
    )
    lake.append(SCORES, scored)
    tables = (PORT_SAMPLES, PORT_EVENTS, SCORES)
    before = {table.name: lake.scan(table).collect() for table in tables}

    for table in tables:
        assert 1 == lake.compact(table, lease=lease)

    assert all(before[table.name].equals(lake.scan(table).collect()) for table in tables)
    assert [] == lake.check(deep=True)


def test_where_versions_count_all_rows_of_a_key_are_kept_in_their_order(
    lake: Lake, lease: FileLease, rows: Rows
) -> None:
    hour = rows(1).select("site", "device", "interface", hour="time", received_at="time")
    for late_h, count in ((3, 30), (1, 10), (3, 40)):
        late = pl.col("hour") + timedelta(hours=late_h)
        lake.append(VERSIONS, hour.with_columns(received_at=late, rows=pl.lit(count, pl.Int32)))

    assert 1 == lake.compact(VERSIONS, lease=lease, keep_versions=True)

    assert [10, 30, 40] == lake.scan(VERSIONS).collect()["rows"].to_list()
    assert [40] == lake.latest(VERSIONS).collect()["rows"].to_list()


def test_a_compacted_day_and_what_came_since_are_compacted_together(
    lake: Lake, lease: FileLease, rows: Rows, tmp_path: Path
) -> None:
    lake.append(LANE_SAMPLES, rows(4))
    lake.compact(LANE_SAMPLES, lease=lease)
    lake.append(LANE_SAMPLES, rows(2, rx_power_dbm=-9.0))
    lake.append(LANE_SAMPLES, rows(1, device="leaf00"))

    assert 1 == lake.compact(LANE_SAMPLES, lease=lease)
    assert 0 == lake.compact(LANE_SAMPLES, lease=lease)

    assert [-2.0, -9.0, -9.0, -2.0, -2.0] == lake.scan(LANE_SAMPLES).collect()["rx_power_dbm"].to_list()


def test_today_is_left_alone(lake: Lake, lease: FileLease, rows: Rows) -> None:
    lake.append(LANE_SAMPLES, rows(1, start=datetime.now(UTC)))

    assert 0 == lake.compact(LANE_SAMPLES, lease=lease)
    assert [0] == [entry.waiting_files for entry in lake.stats()]


HISTORIES: dict[Table, dict[str, object]] = {
    MODULES: {"installed_at": T0, "firmware": "1"},
    LINKS: {"a_device": "leaf01", "a_interface": "e1", "z_device": "leaf02", "z_interface": "e1", "kind": "fiber"},
    TICKETS: {"ticket_id": "INC1", "opened_at": T0, "summary": "1"},
    REPAIRS: {"ticket_id": "INC1", "seq": 1, "at": T0, "outcome": "1"},
    REPLACEMENTS: {"time": T0, "old_serial": "SN1", "new_serial": "SN2", "ticket_id": "INC1"},
    MAINTENANCE: {"start": T0, "end": T0 + timedelta(hours=1), "announced_at": T0},
}


def said(table: Table, received_at: datetime, **values: object) -> pl.DataFrame:
    """One row of a small table, received then."""
    empty = pl.from_arrow(table.schema.empty_table())
    assert isinstance(empty, pl.DataFrame)
    port = {"site": "default", "device": "leaf01", "interface": "e1", "a_site": "default", "z_site": "default"}
    row = {"received_at": received_at, **port, "source": "file", **HISTORIES[table], **values}
    known = {name: value for name, value in row.items() if name in empty.columns}
    return pl.DataFrame([known], schema={name: empty.schema[name] for name in known})


def known_at(lake: Lake, table: Table, at: datetime) -> pl.DataFrame:
    """What a reader knew then: of each key the row received last by then."""
    return latest_of_key(table, lake.scan(table).filter(pl.col("received_at") <= at)).collect().sort(table.key)


@pytest.mark.parametrize("table", list(HISTORIES), ids=lambda table: table.name)
def test_a_table_of_records_becomes_one_file_that_tells_what_was_known_at_any_time(
    lake: Lake, lease: FileLease, table: Table
) -> None:
    """One small file an append otherwise; of what came at one time the row appended last is left."""
    times = [T0 + timedelta(days=day) for day in (3, 1, 2, 3, 3)]
    free = [field for field in table.schema if field.nullable and field.name not in table.key]
    for n, received_at in enumerate(times):
        name, value = (free[0].name, f"version {n}") if free else ("announced_at", T0 + timedelta(minutes=n))
        lake.append(table, said(table, received_at, **{name: value}))
    moments = [T0 + timedelta(days=day) for day in range(5)]
    before = [known_at(lake, table, at) for at in moments]

    assert 1 == lake.compact(table, lease=lease)

    assert [1, 3] == [len(lake.files(table)), lake.scan(table).collect().height]
    assert all(frame.equals(known_at(lake, table, at)) for frame, at in zip(before, moments, strict=True))
    assert [] == lake.check([table], deep=True)
    assert 0 == lake.compact(table, lease=lease)


def test_tables_without_days_wait_for_compaction_too(lake: Lake, lease: FileLease) -> None:
    for day in range(3):
        lake.append(MODULES, said(MODULES, T0 + timedelta(days=day)))
    days: list[object] = []
    assert [3] == [entry.waiting_files for entry in lake.stats()]

    lake.compact(MODULES, lease=lease, progress=days.append)

    assert [None] == days
    assert [0] == [entry.waiting_files for entry in lake.stats()]


def test_what_is_appended_after_a_table_of_records_was_compacted_counts(lake: Lake, lease: FileLease) -> None:
    for firmware in ("1", "2"):
        lake.append(MODULES, said(MODULES, T0, firmware=firmware))
    lake.compact(MODULES, lease=lease)
    lake.append(MODULES, said(MODULES, T0, firmware="3"))

    assert ["3"] == lake.latest(MODULES).collect()["firmware"].to_list()
    assert 1 == lake.compact(MODULES, lease=lease)
    assert ["3"] == lake.scan(MODULES).collect()["firmware"].to_list()


def test_a_broken_file_of_a_table_without_days_is_named(lake: Lake, lease: FileLease, tmp_path: Path) -> None:
    for day in range(2):
        lake.append(MODULES, said(MODULES, T0 + timedelta(days=day)))
    next(iter(tmp_path.rglob("modules/part-*.parquet"))).write_bytes(b"nonsense")

    with pytest.raises(LakeError, match=r"modules: it was not compacted: part-.* cannot be read"):
        lake.compact(MODULES, lease=lease)


def test_a_table_that_is_not_there_has_nothing_to_compact(lake: Lake, lease: FileLease) -> None:
    assert 0 == lake.compact(LANE_SAMPLES, lease=lease)


def test_progress_is_told_day_by_day(lake: Lake, lease: FileLease, rows: Rows) -> None:
    lake.append(LANE_SAMPLES, rows(72))
    days: list[object] = []

    lake.compact(LANE_SAMPLES, lease=lease, progress=days.append)

    assert [T0.date() + timedelta(days=n) for n in range(3)] == days
