"""Whatever is appended, compacted and pruned, in any order and by any clock, the lake is what a dictionary would be."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from deltalake import CommitProperties, DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.lake import Lake
from ingest.lake.delta import canonical, data_files
from ingest.lake.files import SortedFile, add
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES

Rows = Callable[..., pl.DataFrame]
T0 = datetime(2026, 3, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FUTURE = timedelta(hours=5)

readings = st.lists(
    st.tuples(st.integers(0, 95), st.sampled_from(["a", "b", "c"]), st.integers(0, 3), st.integers(-30, 3)),
    min_size=1,
    max_size=25,
)
steps = st.lists(
    st.one_of(
        readings.map(lambda found: ("append", found)),
        readings.map(lambda found: ("append by a clock that is ahead", found)),
        st.tuples(st.just("compact"), st.integers(1, 5)),
        st.tuples(st.just("compact in slices"), st.integers(1, 10)),
        st.tuples(st.just("prune"), st.integers(1, 4)),
    ),
    min_size=2,
    max_size=9,
)


class Held:
    """The dictionary: of each key the row received last, of those the one that came last."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, str], tuple[int, int]] = {}

    def append(self, found: list[tuple[int, str, int, int]]) -> None:
        for hour, device, late, rx_dbm in found:
            if hour + late >= self.rows.get((hour, device), (-1, 0))[0]:
                self.rows[hour, device] = (hour + late, rx_dbm)

    def prune(self, keep_days: int) -> None:
        end = max((hour // 24 + 1 for hour, _ in self.rows), default=0)
        self.rows = {key: row for key, row in self.rows.items() if key[0] // 24 + 1 > end - keep_days}


def frame(found: list[tuple[int, str, int, int]]) -> pl.DataFrame:
    return pl.DataFrame(found, schema=["hour", "device", "late", "rx_power_dbm"], orient="row").select(
        time=T0 + pl.duration(hours="hour"),
        received_at=T0 + pl.duration(hours=pl.col("hour") + pl.col("late")),
        site=pl.lit("default"),
        device="device",
        interface=pl.lit("Ethernet0"),
        lane=pl.lit(1),
        rx_power_dbm="rx_power_dbm",
        quality=pl.lit(0),
        source=pl.lit("file"),
    )


def append_ahead(lake: Lake, rows: pl.DataFrame) -> None:
    """As a machine appends whose clock is hours ahead: its commits are the newest for hours."""
    lake.create([LANE_SAMPLES])
    handle = DeltaTable(f"{lake.uri}/{LANE_SAMPLES.name}")
    ahead_ms = int((datetime.now(UTC) + FUTURE).timestamp() * 1000)
    ahead_ms = max([ahead_ms, *(file.modified_ms + 1 for file in data_files(handle))])
    files = []
    for (day,), part in rows.group_by(pl.col("time").dt.date(), maintain_order=True):
        with SortedFile(handle, LANE_SAMPLES, (day, None), ahead_ms, prefix="part-") as out:
            out.write(canonical(LANE_SAMPLES, part).select(LANE_SAMPLES.schema.names))
        files.append(out)
    add(handle, files, CommitProperties())


def take(lake: Lake, lease: FileLease, held: Held, step: tuple[str, object]) -> None:
    """One step, in the lake and in the dictionary."""
    name, argument = step
    if name == "append":
        lake.append(LANE_SAMPLES, frame(argument))  # type: ignore[arg-type]  # each step's own kind
        held.append(argument)  # type: ignore[arg-type]
    elif name.startswith("append"):
        append_ahead(lake, frame(argument))  # type: ignore[arg-type]
        held.append(argument)  # type: ignore[arg-type]
    elif name == "compact":
        lake.compact(LANE_SAMPLES, lease=lease, before=(T0 + int(str(argument)) * DAY).date())
    elif name.startswith("compact"):
        lake.compact(LANE_SAMPLES, lease=lease, slice_rows=int(str(argument)))
    else:
        lake.prune(LANE_SAMPLES, lease=lease, keep=int(str(argument)) * DAY, safe_age=timedelta())
        held.prune(int(str(argument)))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps, st.sampled_from([1, 2]))
def test_the_lake_holds_what_a_dictionary_would_hold(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, object]], buckets: int
) -> None:
    if any("ahead" in name for name, _ in steps):
        buckets = 1  # `append_ahead` knows none
    folder = tmp_path_factory.mktemp("lake")
    lake, lease, held = Lake(str(folder / "lake"), buckets=buckets), FileLease(folder / "lock"), Held()
    for step in steps:
        take(lake, lease, held, step)

    latest = lake.latest(LANE_SAMPLES).collect()
    lake.compact(LANE_SAMPLES, lease=lease)
    compacted = lake.scan(LANE_SAMPLES).collect()

    for rows in (latest, compacted):
        found = {
            (round((time - T0) / HOUR), device): rx_dbm
            for time, device, rx_dbm in rows.select("time", "device", "rx_power_dbm").iter_rows()
        }
        assert {key: rx_dbm for key, (_, rx_dbm) in held.rows.items()} == found
        assert len(held.rows) == rows.height
    assert [] == lake.check(deep=True)


def test_a_week_of_late_data_is_taken_in_any_order(lake: Lake, lease: FileLease, rows: Rows) -> None:
    """Compacted days get rows again, out of order and twice."""
    week = rows(7 * 24)
    lake.append(LANE_SAMPLES, week.filter(pl.int_range(pl.len()) % 2 == 0))
    lake.compact(LANE_SAMPLES, lease=lease)
    late = week.filter(pl.int_range(pl.len()) % 2 == 1).with_columns(received_at=pl.col("time") + DAY)
    for part in (late.reverse().head(60), late, late.sample(fraction=1.0, shuffle=True, seed=1)):
        lake.append(LANE_SAMPLES, part)

    assert 7 == lake.compact(LANE_SAMPLES, lease=lease)

    assert week["time"].to_list() == lake.scan(LANE_SAMPLES).collect()["time"].to_list()
    assert 7 * 24 == lake.latest(LANE_SAMPLES).collect().height


def test_days_are_those_of_utc_whatever_zone_the_rows_come_in(lake: Lake, tmp_path: Path, rows: Rows) -> None:
    """Through the night in which Europe's clocks were put forward, 2026-03-29."""
    start = datetime(2026, 3, 28, 22, tzinfo=UTC)
    night = rows(8, start=start).with_columns(pl.col("time").dt.convert_time_zone("Europe/Berlin"))

    lake.append(LANE_SAMPLES, night)

    assert [start + HOUR * i for i in range(8)] == lake.scan(LANE_SAMPLES).collect()["time"].to_list()
    assert {"date=2026-03-28", "date=2026-03-29"} == {path.name for path in tmp_path.rglob("date=*")}
    assert 6 == lake.scan(LANE_SAMPLES, since=datetime(2026, 3, 29, tzinfo=UTC)).collect().height


def test_after_the_clock_jumped_back_the_row_appended_last_still_wins(lake: Lake, lease: FileLease, rows: Rows) -> None:
    append_ahead(lake, rows(3, rx_power_dbm=-1.0))
    for rx_dbm in (-2.0, -3.0):
        lake.append(LANE_SAMPLES, rows(3, rx_power_dbm=rx_dbm), transaction=f"file {rx_dbm}")

    before = lake.latest(LANE_SAMPLES).collect()["rx_power_dbm"].to_list()
    lake.compact(LANE_SAMPLES, lease=lease)
    lake.append(LANE_SAMPLES, rows(1, rx_power_dbm=-4.0))

    assert [-3.0] * 3 == before
    assert [-3.0, -3.0, -4.0] == sorted(lake.latest(LANE_SAMPLES).collect()["rx_power_dbm"], reverse=True)
    assert lake.has_transaction(LANE_SAMPLES, "file -2.0")
    assert lake.has_transaction(LANE_SAMPLES, "file -3.0")
