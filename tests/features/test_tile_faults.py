"""Tiles and what befalls whoever makes them: kill -9 at any point, a full disk, a week of late data."""

import errno
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from features.day_tables import LANE_DAYS, PORT_DAYS
from features.day_tiles import update_days
from features.engine import Here
from features.tiles import LANE_TILES, PORT_TILES, update_tiles
from ingest.errors import ForelightError, LakeError
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Table

Rows = Callable[..., pl.DataFrame]
Quarters = Callable[[datetime, int], list[datetime]]

DAY = datetime(2026, 3, 1, tzinfo=UTC)
NOW = datetime(2030, 1, 1, tzinfo=UTC)
DAYS = 8
KILLS = 30


def _fill(lake: Lake, lane_rows: Rows, port_rows: Rows, times: list[datetime]) -> None:
    for device in ("leaf01", "leaf02"):
        rx = [-2.0 - 0.01 * (i % 17) for i in range(len(times))]
        lake.append(LANE_SAMPLES, lane_rows(times, device=device, rx_power_dbm=rx))
        lake.append(PORT_SAMPLES, port_rows(times, device=device, link_flaps=[i // 7 for i in range(len(times))]))


HOURS = (LANE_TILES, PORT_TILES)


def _tiles(lake: Lake, tables: tuple[Table, ...] = HOURS) -> tuple[pl.DataFrame, ...]:
    return tuple(lake.scan(table).collect().sort(*table.key, "received_at", "rows") for table in tables)


def _make_hours(lake: Lake) -> None:
    update_tiles(lake, now=NOW)


def _make_days(lake: Lake) -> None:
    update_days(lake, NOW, Here())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "tables", "longest_s"),
    [(_make_hours, HOURS, 2.0), (_make_days, (LANE_DAYS, PORT_DAYS), 0.6)],
    ids=["hours", "days"],
)
def test_tiles_survive_kills_at_any_point(
    work: Callable[[Lake], None],
    tables: tuple[Table, ...],
    longest_s: float,
    tmp_path: Path,
    lane_rows: Rows,
    port_rows: Rows,
    quarters: Quarters,
) -> None:
    """Thirty updates are killed: what is there is right and there once, and the last one makes what is missing."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["features.tiles"])
    expected, ready = (Lake(str(tmp_path / name)) for name in ("expected", "ready"))
    _fill(expected, lane_rows, port_rows, quarters(DAY, 96 * DAYS))
    update_tiles(expected, now=NOW)
    _fill(ready, lane_rows, port_rows, quarters(DAY, 96 * DAYS))
    if work is _make_days:
        for table in HOURS:
            ready.append(table, expected.scan(table).collect())
    rng, kills, lives = random.Random(5), 0, 0
    lake = _copy(ready, tmp_path / "lake0")
    while kills < KILLS:
        worker = context.Process(target=work, args=(lake,))
        worker.start()
        worker.join(rng.uniform(0.05, longest_s))
        if worker.exitcode is None:
            worker.kill()
            worker.join()
            kills += 1
        else:
            assert 0 == worker.exitcode
            lives += 1
            _assert_tiles(expected, lake, tables)
            lake = _copy(ready, tmp_path / f"lake{lives}")
        for whole, part, table in zip(_tiles(expected, tables), _tiles(lake, tables), tables, strict=True):
            assert 0 == part.join(whole, on=part.columns, how="anti", nulls_equal=True).height
            assert part.height == part.select(table.key).n_unique()

    work(lake)

    _assert_tiles(expected, lake, tables)


def _copy(lake: Lake, to: Path) -> Lake:
    return Lake(str(shutil.copytree(lake.uri, to)))


def _assert_tiles(expected: Lake, lake: Lake, tables: tuple[Table, ...] = HOURS) -> None:
    for whole, made in zip(_tiles(expected, tables), _tiles(lake, tables), strict=True):
        assert_frame_equal(whole, made, check_exact=True)


@pytest.fixture(name="small_disk")
def _small_disk(disk_of: Callable[[str], Path]) -> Path:
    """A file system of a megabyte."""
    return disk_of("1m")


@pytest.mark.slow
def test_a_full_disk_is_said_and_costs_nothing(
    small_disk: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters
) -> None:
    """Once there is room again the tiles are as if nothing had happened."""
    lake = Lake(str(small_disk / "lake"))
    _fill(lake, lane_rows, port_rows, quarters(DAY, 96 * DAYS))
    ballast = small_disk / "ballast"
    _fill_up(ballast)

    with pytest.raises((ForelightError, OSError)):
        update_tiles(lake, now=NOW)

    ballast.unlink()
    expected = Lake(str(small_disk.parent / "expected"))
    _fill(expected, lane_rows, port_rows, quarters(DAY, 96 * DAYS))
    for each in (lake, expected):
        update_tiles(each, now=NOW)
    _assert_tiles(expected, lake)


def _fill_up(file: Path) -> None:
    with file.open("wb", buffering=0) as out:
        for size in (65_536, 4_096, 64):
            try:
                while True:
                    out.write(bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


def test_a_corrupt_file_among_good_ones_is_named_and_costs_its_own_rows_only(
    tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters
) -> None:
    """Tiles of what came before it are kept; once it is taken out, those of all the rest are made."""
    lake, good = (Lake(str(tmp_path / name)) for name in ("lake", "good"))
    _fill(lake, lane_rows, port_rows, quarters(DAY, 96 * 3))
    torn = max((tmp_path / "lake" / LANE_SAMPLES.name / "date=2026-03-02").glob("*.parquet"), key=os.path.getmtime)
    (device,) = pl.read_parquet(torn, hive_partitioning=False)["device"].unique()
    torn.write_bytes(torn.read_bytes()[:-50])

    with pytest.raises(LakeError, match=rf"lane_samples: date=2026-03-02/{torn.name} cannot be read .*lake check"):
        update_tiles(lake, now=NOW)

    lake.repair(lake.check(), lease=FileLease(tmp_path / "lock"))
    update_tiles(lake, now=NOW)
    _fill(good, lane_rows, port_rows, quarters(DAY, 96 * 3))
    update_tiles(good, now=NOW)
    lost = (pl.col("device") == device) & (pl.col("hour").dt.date() == datetime(2026, 3, 2, tzinfo=UTC).date())
    assert_frame_equal(_tiles(good)[0].filter(~lost), _tiles(lake)[0], check_exact=True)
    assert_frame_equal(_tiles(good)[1], _tiles(lake)[1], check_exact=True)


_ZONED = """
import sys, time
from datetime import UTC, datetime
from features.tiles import update_tiles
from ingest.lake import Lake
assert time.tzname != ("UTC", "UTC"), time.tzname
update_tiles(Lake(sys.argv[1]), now=datetime(2030, 1, 1, tzinfo=UTC))
"""


@pytest.mark.slow
def test_the_zone_of_the_machine_and_its_clocks_going_forward_change_no_tile(
    tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters
) -> None:
    """Through New York's night of 2026-03-08, and Berlin's of 2026-03-29."""
    nights = [datetime(2026, 3, day, tzinfo=UTC) for day in (8, 29)]
    lakes = {
        zone: Lake(str(tmp_path / zone.replace("/", "-"))) for zone in ("UTC", "America/New_York", "Europe/Berlin")
    }
    for zone, lake in lakes.items():
        for night in nights:
            _fill(lake, lane_rows, port_rows, quarters(night, 96))
        if zone == "UTC":
            update_tiles(lake, now=NOW)
        else:
            subprocess.run([sys.executable, "-c", _ZONED, lake.uri], env={**os.environ, "TZ": zone}, check=True)

    made = [_tiles(lake) for lake in lakes.values()]
    assert 2 * 2 * 24 == made[0][0].height
    for zoned in made[1:]:
        for expected, found in zip(made[0], zoned, strict=True):
            assert_frame_equal(expected, found, check_exact=True)


def test_a_week_of_late_data_is_seen_from_when_it_came(
    tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters
) -> None:
    """A spool of a week arrives at once, after tiles of the samples around it were made."""
    lake = Lake(str(tmp_path / "lake"))
    times, came = quarters(DAY, 96 * 10), DAY + timedelta(days=10, minutes=5)
    late = [t for t in times if DAY + timedelta(days=2) <= t < DAY + timedelta(days=9)]
    _fill(lake, lane_rows, port_rows, [t for i, t in enumerate(times) if t not in late or i % 4 == 0])
    update_tiles(lake, now=came)
    before = _tiles(lake)
    missing = [t for i, t in enumerate(times) if t in late and i % 4]
    lake.append(LANE_SAMPLES, lane_rows(missing, rx_power_dbm=-2.0, received_at=[came] * len(missing)))

    assert 7 * 24 == update_tiles(lake, now=came + timedelta(hours=1))

    after = lake.scan(LANE_TILES).collect()
    assert before[0].height + 7 * 24 == after.height
    assert_frame_equal(
        before[0], after.filter(pl.col("received_at") < came).sort(*LANE_TILES.key, "received_at", "rows")
    )
    assert [4] * 7 * 24 == after.filter(pl.col("received_at") == came)["rows"].to_list()
