"""kill -9 and full disks in each step: what was acknowledged is there, once, and the lake is whole."""

import random
import shutil
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.errors import LakeError
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES

Rows = Callable[..., pl.DataFrame]
Work = Callable[..., Any]
KILLS = 30
DAY = timedelta(days=1)

APPEND = """
for n in range(1000):
    times = [T0 + timedelta(hours=6 * i, seconds=n) for i in range(8)]
    rows = pl.DataFrame({"time": times, "received_at": times, "site": "s", "device": name, "interface": "e", "lane": 1,
                         "quality": 0, "source": "file"})
    lake.append(LANE_SAMPLES, rows, transaction=f"{name}-{n}")
    say(n)
"""
COMPACT = "lake.compact(LANE_SAMPLES, lease=lease, slice_rows=20)"
PRUNE = "lake.prune(LANE_SAMPLES, lease=lease, keep=timedelta(days=2), safe_age=timedelta())"


@pytest.mark.slow
def test_an_append_killed_anywhere_loses_nothing_acknowledged_and_tears_nothing(
    lake: Lake, lease: FileLease, work: Work
) -> None:
    chance = random.Random(1)
    for n in range(KILLS):
        acknowledged = work(APPEND, lake, lease, name=f"w{n}").killed(chance.uniform(0.0, 0.25))

        rows = lake.scan(LANE_SAMPLES).filter(pl.col("device") == f"w{n}").collect()
        groups = rows.height // 8
        assert len(acknowledged) <= groups <= len(acknowledged) + 1
        assert rows.height == 8 * groups == rows.unique(LANE_SAMPLES.key).height
    assert [] == lake.check(deep=True)


@pytest.mark.slow
def test_a_compaction_killed_anywhere_leaves_the_rows_as_they_were(
    lake: Lake, lease: FileLease, rows: Rows, work: Work
) -> None:
    chance = random.Random(2)
    for n in range(KILLS):
        lake.append(LANE_SAMPLES, rows(96, rx_power_dbm=-float(n)))
        work(COMPACT, lake, lease).killed(chance.uniform(0.0, 0.25))

        found = lake.latest(LANE_SAMPLES).collect()
        assert 96 == found.height
        assert {-float(n)} == set(found["rx_power_dbm"])
        assert [] == lake.check()
    lake.compact(LANE_SAMPLES, lease=lease)
    assert 96 == lake.scan(LANE_SAMPLES).collect().height
    assert [] == lake.check(deep=True)


@pytest.mark.slow
def test_a_prune_killed_anywhere_drops_whole_days_and_no_file_that_is_read(
    lake: Lake, lease: FileLease, rows: Rows, work: Work
) -> None:
    chance = random.Random(3)
    for n in range(KILLS):
        lake.append(LANE_SAMPLES, rows(120, device=f"d{n}"))  # five days
        if n % 3 == 0:
            lake.compact(LANE_SAMPLES, lease=lease)
        work(PRUNE, lake, lease).killed(chance.uniform(0.0, 0.2))

        days = lake.dates(LANE_SAMPLES)
        found = lake.scan(LANE_SAMPLES).collect()
        assert len(days) in {2, 5}
        assert (n + 1) * 48 == found.filter(pl.col("time") >= rows(1)["time"][0] + 3 * DAY).height
        assert 24 * len(days) == found.filter(pl.col("device") == f"d{n}").height
        assert [] == lake.check()
    lake.prune(LANE_SAMPLES, lease=lease, keep=2 * DAY, safe_age=timedelta())
    assert [date(2026, 3, 4), date(2026, 3, 5)] == lake.dates(LANE_SAMPLES)
    assert [] == lake.check(deep=True)


@pytest.fixture(name="small_disk")
def _small_disk(disk_of: Callable[[str], Path]) -> Path:
    """A file system of 4 MB of its own."""
    return disk_of("4m")


def fill(folder: Path, leave_bytes: int) -> Path:
    """Take the disk's room but for some."""
    filler = folder / "filler"
    free = shutil.disk_usage(folder).free
    with filler.open("wb") as out:
        out.write(b"\0" * max(free - leave_bytes, 0))
    return filler


def noise(rows: Rows, count: int, **changes: object) -> pl.DataFrame:
    """Rows that do not compress."""
    found = rows(count, every=timedelta(seconds=1), **changes)
    chance = random.Random(4)
    return found.with_columns(pre_fec_ber=pl.Series([chance.random() for _ in range(count)]))


@pytest.mark.slow
@pytest.mark.parametrize("leave_bytes", [0, 4096, 60_000])
def test_a_disk_that_fills_up_keeps_what_was_acknowledged(small_disk: Path, rows: Rows, leave_bytes: int) -> None:
    lake = Lake(str(small_disk / "lake"))
    lake.append(LANE_SAMPLES, noise(rows, 10_000))
    filler = fill(small_disk, leave_bytes)

    with pytest.raises(LakeError, match="lane_samples: "):
        lake.append(LANE_SAMPLES, noise(rows, 10_000, device="leaf02"))

    assert 10_000 == lake.scan(LANE_SAMPLES).collect().height
    assert [] == lake.check(deep=True)
    filler.unlink()
    lake.append(LANE_SAMPLES, noise(rows, 10_000, device="leaf02"))
    assert 20_000 == lake.scan(LANE_SAMPLES).collect().height


@pytest.mark.slow
@pytest.mark.parametrize("leave_bytes", [0, 4096, 60_000])
def test_a_compaction_on_a_full_disk_changes_nothing_and_leaves_nothing(
    small_disk: Path, lease: FileLease, rows: Rows, leave_bytes: int
) -> None:
    lake = Lake(str(small_disk / "lake"))
    for device in ("leaf01", "leaf02"):
        lake.append(LANE_SAMPLES, noise(rows, 10_000, device=device))
    before = sorted(small_disk.rglob("*.parquet"))
    filler = fill(small_disk, leave_bytes)

    with pytest.raises(LakeError, match="lane_samples: "):
        lake.compact(LANE_SAMPLES, lease=lease)

    assert 20_000 == lake.scan(LANE_SAMPLES).collect().height
    assert before == sorted(small_disk.rglob("*.parquet"))
    assert [] == lake.check(deep=True)
    filler.unlink()
    assert 1 == lake.compact(LANE_SAMPLES, lease=lease)


@pytest.mark.slow
def test_a_prune_on_a_full_disk_says_so_or_makes_room(
    small_disk: Path, lease: FileLease, rows: Rows, t0: datetime
) -> None:
    lake = Lake(str(small_disk / "lake"))
    for day in range(3):
        lake.append(LANE_SAMPLES, noise(rows, 5_000, start=t0 + day * DAY))
    filler = fill(small_disk, 0)

    with pytest.raises(LakeError, match="lane_samples: "):
        lake.prune(LANE_SAMPLES, lease=lease, keep=DAY, safe_age=timedelta())

    assert 15_000 == lake.scan(LANE_SAMPLES).collect().height
    assert [] == lake.check(deep=True)
    filler.unlink()
    fill(small_disk, 20_000)
    pruned = lake.prune(LANE_SAMPLES, lease=lease, keep=DAY, safe_age=timedelta())
    assert (2, 2) == (pruned.days, pruned.files)
    assert 5_000 == lake.scan(LANE_SAMPLES).collect().height
