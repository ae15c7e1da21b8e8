"""Appenders, readers and compaction side by side: nothing is lost, nothing doubled."""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES

Rows = Callable[..., pl.DataFrame]

T0 = datetime(2026, 3, 1, 22, tzinfo=UTC)
"""Two hours before a day ends."""


_APPENDER = """
import sys, time
from datetime import UTC, datetime, timedelta
import polars as pl
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES
uri, device, commits = sys.argv[1], sys.argv[2], int(sys.argv[3])
start = datetime(2026, 3, 1, tzinfo=UTC)
for n in range(commits):
    times = [start + timedelta(minutes=20 * n + i) for i in range(20)]
    rows = pl.DataFrame({"time": times, "received_at": times, "site": "s", "device": device, "interface": "e",
                         "lane": 1, "rx_power_dbm": -2.0, "quality": 0, "source": "file"})
    assert Lake(uri).append(LANE_SAMPLES, rows, transaction=f"{device}-{n}") == 20
    time.sleep(0.05)
"""


@pytest.mark.slow
def test_appenders_beside_a_compaction_lose_nothing_and_double_nothing(lake: Lake, lease: FileLease) -> None:
    """Two processes start on a table that is not there yet, and a third rewrites what they append to."""
    commits = 20
    appenders = [
        subprocess.Popen([sys.executable, "-c", _APPENDER, lake.uri, device, str(commits)]) for device in ("a", "b")
    ]
    rewrites = 0
    while any(appender.poll() is None for appender in appenders):
        if lake.exists(LANE_SAMPLES):
            rewrites += lake.compact(LANE_SAMPLES, lease=lease)
            seen = lake.latest(LANE_SAMPLES).collect()
            assert 0 == seen.height % 20

    assert [0, 0] == [appender.returncode for appender in appenders]
    assert rewrites >= 1
    rows = lake.scan(LANE_SAMPLES).collect()
    assert 2 * commits * 20 == rows.height == rows.unique(LANE_SAMPLES.key).height


class MeanwhileLease(FileLease):
    """Lets something else happen once, when what was rewritten is about to be committed."""

    def __init__(self, path: Path, *meanwhile: Callable[[], object]) -> None:
        super().__init__(path)
        self.meanwhile = list(meanwhile)
        self.checks = 0

    def check(self) -> None:
        self.checks += 1
        if self.checks == 2 and self.meanwhile:  # the first check is before the day is read
            self.meanwhile.pop(0)()


def test_rows_appended_between_reading_a_day_and_exchanging_its_files_are_kept(
    lake: Lake, rows: Rows, tmp_path: Path
) -> None:
    """They stay in a file of their own, and the rewrite need not start again."""
    lake.append(LANE_SAMPLES, rows(2, start=T0))
    late = rows(1, start=T0 + timedelta(minutes=30))
    lease = MeanwhileLease(tmp_path / "lock", lambda: lake.append(LANE_SAMPLES, late))

    assert 1 == lake.compact(LANE_SAMPLES, lease=lease)

    assert (2, []) == (lease.checks, lease.meanwhile)
    assert 3 == lake.scan(LANE_SAMPLES).collect().height
    assert [2] == [entry.files for entry in lake.stats()]


def test_a_corrected_row_appended_during_a_compaction_wins_over_the_compacted_one(
    lake: Lake, rows: Rows, tmp_path: Path
) -> None:
    lake.append(LANE_SAMPLES, rows(2, start=T0))
    lease = MeanwhileLease(tmp_path / "lock", lambda: lake.append(LANE_SAMPLES, rows(2, start=T0, rx_power_dbm=-9.0)))

    lake.compact(LANE_SAMPLES, lease=lease)

    assert [-9.0] * 2 == lake.latest(LANE_SAMPLES).collect().get_column("rx_power_dbm").to_list()


def test_of_two_compactions_without_a_common_lease_one_starts_again_and_no_row_is_doubled(
    rows: Rows, lake: Lake, tmp_path: Path
) -> None:
    """Delta refuses the second exchange of the same files."""
    lake.append(LANE_SAMPLES, rows(2, start=T0))
    lake.append(LANE_SAMPLES, rows(2, start=T0 + timedelta(minutes=20)))
    other = FileLease(tmp_path / "other")
    lease = MeanwhileLease(tmp_path / "lock", lambda: lake.compact(LANE_SAMPLES, lease=other))

    lake.compact(LANE_SAMPLES, lease=lease)

    assert 4 == lake.scan(LANE_SAMPLES).collect().height
    assert [(1, 0)] == [(entry.files, entry.waiting_files) for entry in lake.stats()]


readings = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 2), st.integers(0, 3), st.integers(-30, 3)), min_size=1, max_size=30
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(readings, min_size=1, max_size=4), st.integers(0, 4))
def test_latest_is_what_a_dictionary_would_hold(
    tmp_path_factory: pytest.TempPathFactory, commits: list[list[tuple[int, int, int, int]]], compact_after: int
) -> None:
    """However rows are spread over commits, and wherever a compaction falls."""
    folder = tmp_path_factory.mktemp("lake")
    lake = Lake(str(folder / "lake"))
    held: dict[tuple[int, int], tuple[int, int]] = {}
    for n, commit in enumerate(commits):
        rows = pl.DataFrame(commit, schema=["hour", "lane", "late", "rx_power_dbm"], orient="row").select(
            time=T0 + pl.duration(hours="hour"),
            received_at=T0 + pl.duration(hours=pl.col("hour") + pl.col("late")),
            lane="lane",
            rx_power_dbm="rx_power_dbm",
            site=pl.lit("default"),
            device=pl.lit("leaf01"),
            interface=pl.lit("Ethernet0"),
            quality=pl.lit(0),
            source=pl.lit("file"),
        )
        lake.append(LANE_SAMPLES, rows)
        for hour, lane, late, rx_dbm in commit:
            if late >= held.get((hour, lane), (-1, 0))[0]:
                held[hour, lane] = (late, rx_dbm)
        if n == compact_after:
            lake.compact(LANE_SAMPLES, lease=FileLease(folder / "lock"))

    latest = lake.latest(LANE_SAMPLES).collect()

    found = {
        (round((time - T0) / timedelta(hours=1)), lane): rx_dbm
        for time, lane, rx_dbm in latest.select("time", "lane", "rx_power_dbm").iter_rows()
    }
    assert {key: rx_dbm for key, (_, rx_dbm) in held.items()} == found
