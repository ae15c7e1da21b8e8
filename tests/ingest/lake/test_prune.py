"""Retention: whole days go, files that someone may still read stay, a wrong clock does no harm."""

import os
import shutil
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES, MODULES

Rows = Callable[..., pl.DataFrame]
NONE = timedelta()
DAY = timedelta(days=1)


@pytest.fixture(name="ten_days")
def _ten_days(lake: Lake, rows: Rows) -> Lake:
    """1 to 10 March."""
    lake.append(LANE_SAMPLES, rows(240))
    return lake


def test_days_that_ended_longer_ago_are_dropped_whole(ten_days: Lake, lease: FileLease, t0: datetime) -> None:
    pruned = ten_days.prune(LANE_SAMPLES, lease=lease, keep=3 * DAY, now=t0 + 10 * DAY)

    assert (7, 7 * 24) == (pruned.days, pruned.rows)
    assert [date(2026, 3, day) for day in (8, 9, 10)] == ten_days.dates(LANE_SAMPLES)


def test_a_day_that_has_not_ended_long_enough_ago_is_kept(ten_days: Lake, lease: FileLease, t0: datetime) -> None:
    ten_days.prune(LANE_SAMPLES, lease=lease, keep=3 * DAY, now=t0 + 10 * DAY - timedelta(seconds=1))

    assert date(2026, 3, 7) == ten_days.dates(LANE_SAMPLES)[0]


def test_without_a_retention_no_row_is_dropped(ten_days: Lake, lease: FileLease) -> None:
    assert 0 == ten_days.prune(LANE_SAMPLES, lease=lease).days
    assert 240 == ten_days.scan(LANE_SAMPLES).collect().height


def test_a_clock_that_runs_years_ahead_drops_no_more_than_the_right_one(
    ten_days: Lake, lease: FileLease, t0: datetime
) -> None:
    """Age counts from the end of the last day that has rows."""
    ten_days.prune(LANE_SAMPLES, lease=lease, keep=3 * DAY, now=t0 + 5000 * DAY)

    assert 3 == len(ten_days.dates(LANE_SAMPLES))


def test_a_clock_that_runs_behind_drops_less(ten_days: Lake, lease: FileLease, t0: datetime) -> None:
    ten_days.prune(LANE_SAMPLES, lease=lease, keep=3 * DAY, now=t0)

    assert 10 == len(ten_days.dates(LANE_SAMPLES))


def test_whoever_opened_the_lake_before_reads_on(ten_days: Lake, lease: FileLease, t0: datetime) -> None:
    opened = ten_days.scan(LANE_SAMPLES)

    ten_days.prune(LANE_SAMPLES, lease=lease, keep=3 * DAY, now=t0 + 10 * DAY)
    ten_days.compact(LANE_SAMPLES, lease=lease)
    ten_days.prune(LANE_SAMPLES, lease=lease, safe_age=timedelta(hours=1))

    assert 240 == opened.collect().height
    assert 72 == ten_days.scan(LANE_SAMPLES).collect().height


def test_files_that_left_the_table_long_enough_ago_are_deleted(
    ten_days: Lake, lease: FileLease, t0: datetime, tmp_path: Path
) -> None:
    ten_days.compact(LANE_SAMPLES, lease=lease)
    assert 20 == len(list(tmp_path.rglob("*.parquet")))

    pruned = ten_days.prune(LANE_SAMPLES, lease=lease, keep=3 * DAY, safe_age=NONE, now=t0 + 10 * DAY)

    assert 17 == pruned.files
    assert pruned.size_bytes > 0
    assert 3 == len(list(tmp_path.rglob("*.parquet")))
    assert [] == ten_days.check(deep=True)


def test_what_a_killed_writer_left_is_deleted_when_it_is_old(ten_days: Lake, lease: FileLease, tmp_path: Path) -> None:
    file = next(tmp_path.rglob("date=2026-03-05/part-*.parquet"))
    young, old = (Path(shutil.copy(file, file.with_name(f"part-{name}.parquet"))) for name in ("young", "old"))
    os.utime(old, (1, 1))

    pruned = ten_days.prune(LANE_SAMPLES, lease=lease)

    assert 1 == pruned.files
    assert (True, False) == (young.exists(), old.exists())


def test_files_of_others_are_left_alone(ten_days: Lake, lease: FileLease, tmp_path: Path) -> None:
    notes = tmp_path / "lake" / "lane_samples" / "notes.txt"
    notes.write_text("mine")
    os.utime(notes, (1, 1))

    ten_days.prune(LANE_SAMPLES, lease=lease, safe_age=NONE)

    assert notes.exists()


def test_tables_without_days_lose_files_only(lake: Lake, lease: FileLease, rows: Rows) -> None:
    lake.append(MODULES, rows(1).select("received_at", "site", "device", "interface"))

    assert (0, 0) == ((pruned := lake.prune(MODULES, lease=lease, keep=DAY, safe_age=NONE)).days, pruned.files)
    assert 1 == lake.scan(MODULES).collect().height


def test_a_table_that_is_not_there_has_nothing_to_prune(lake: Lake, lease: FileLease) -> None:
    assert ("lane_samples", 0) == ((pruned := lake.prune(LANE_SAMPLES, lease=lease)).name, pruned.files)


def test_prune_waits_for_nobody_who_rewrites(ten_days: Lake, lease: FileLease) -> None:
    with lease, pytest.raises(LakeError, match="another rewrite"):
        ten_days.prune(LANE_SAMPLES, lease=FileLease(lease.path))


def test_rows_that_come_late_for_a_dropped_day_are_dropped_the_next_time(
    ten_days: Lake, lease: FileLease, rows: Rows, t0: datetime
) -> None:
    ten_days.prune(LANE_SAMPLES, lease=lease, keep=3 * DAY, now=t0 + 10 * DAY)
    ten_days.append(LANE_SAMPLES, rows(3))
    assert 75 == ten_days.scan(LANE_SAMPLES).collect().height

    assert 3 == ten_days.prune(LANE_SAMPLES, lease=lease, keep=3 * DAY, now=t0 + 10 * DAY).rows
