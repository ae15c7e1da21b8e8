"""Tiles: what an hour of samples becomes, and that they are made once, whenever and however samples come."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from features import tile_maker
from features import tiles as tiles_module
from features.cube import LakeTiles
from features.day_tiles import DayPart
from features.engine import Here
from features.fleet import polars_schema
from features.tiles import KERNEL, LANE_TILES, PORT_TILES, samples_waiting, tile_day, update_tiles
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Quality

Quarters = Callable[[datetime, int], list[datetime]]
Rows = Callable[..., pl.DataFrame]

DAY = datetime(2026, 3, 1, tzinfo=UTC)
LONG_AFTER = DAY + timedelta(days=300)
MINUTE = timedelta(minutes=1)


def _one(tiles: pl.DataFrame) -> dict[str, Any]:
    assert 1 == tiles.height
    return tiles.row(0, named=True)


def _lake(folder: Path, *rows: pl.DataFrame) -> Lake:
    lake = Lake(str(folder / "lake"))
    for frame in rows:
        lake.append(LANE_SAMPLES if "lane" in frame.columns else PORT_SAMPLES, frame)
    return lake


def _tiles(lake: Lake) -> pl.DataFrame:
    return lake.scan(LANE_TILES).collect().sort(*LANE_TILES.key, "received_at", "rows")


# ---- what a tile says ------------------------------------------------------------------------


def test_a_lane_tile_has_the_columns_and_types_of_its_table(lane_rows: Rows, quarters: Quarters) -> None:
    assert polars_schema(LANE_TILES) == tile_day(lane_rows(quarters(DAY, 5)), LANE_TILES).schema


def test_a_port_tile_has_the_columns_and_types_of_its_table(port_rows: Rows, quarters: Quarters) -> None:
    assert polars_schema(PORT_TILES) == tile_day(port_rows(quarters(DAY, 5)), PORT_TILES).schema


@pytest.mark.parametrize("table", [LANE_TILES, PORT_TILES], ids=lambda table: str(table.name))
def test_no_samples_make_no_tiles(table: Any) -> None:
    source = LANE_SAMPLES if table is LANE_TILES else PORT_SAMPLES

    assert polars_schema(table) == tile_day(polars_schema(source).to_frame(), table).schema


def test_a_module_of_one_lane_is_one_series_whichever_number_its_sources_give_it(lane_rows: Rows) -> None:
    """SNMP and ethtool tell an SFP's values as the module's (lane 0), SONiC and OpenConfig as those of lane 1."""
    times = [DAY, DAY + MINUTE, DAY + timedelta(hours=1)]
    rows = [
        lane_rows([time], lane=lane, rx_power_dbm=rx)
        for time, lane, rx in zip(times, (0, 1, 0), (-2.0, -3.0, -4.0), strict=True)
    ]

    tiles = tile_day(pl.concat(rows), LANE_TILES)

    assert [(1, 2, -2.5), (1, 1, -4.0)] == tiles.sort("hour").select("lane", "rows", "rx_mean").rows()


def test_a_value_of_the_whole_module_beside_its_lanes_stays_lane_0(lane_rows: Rows) -> None:
    """A sum over four lanes is not the first one's power; another port's lanes say nothing of this one."""
    rows = [lane_rows([DAY], lane=lane, tx_power_dbm=float(lane)) for lane in (0, 1, 2)]
    rows.append(lane_rows([DAY], interface="Ethernet9", lane=0, tx_power_dbm=9.0))

    tiles = tile_day(pl.concat(rows), LANE_TILES)

    assert [0.0, 1.0, 2.0, 9.0] == tiles.sort("tx_mean")["tx_mean"].to_list()
    assert [0, 1, 2, 1] == tiles.sort("tx_mean")["lane"].to_list()


def test_a_lane_tile_counts_darkness_and_takes_levels_from_the_rest(lane_rows: Rows, quarters: Quarters) -> None:
    rows = lane_rows(quarters(DAY, 4), rx_power_dbm=[-40.0, -2.0, -2.5, None], tx_power_dbm=-1.0, serial="S1")

    tile = _one(tile_day(rows, LANE_TILES))

    assert (4, 1, 0, "S1") == tuple(tile[name] for name in ("rows", "rx_dark", "tx_dark", "serial"))
    assert (2.0, -2.25, -2.5, -2.0, -2.5) == tuple(tile[f"rx_{stat}"] for stat in ("n", "mean", "min", "max", "last"))
    assert (0.0, None) == (tile["bias_n"], tile["bias_mean"])


def test_a_bit_error_ratio_of_zero_is_the_smallest_that_is_told(lane_rows: Rows, quarters: Quarters) -> None:
    """OpenConfig gives 0 below 1e-18."""
    tile = _one(tile_day(lane_rows(quarters(DAY, 3), pre_fec_ber=[0.0, 1e-18, 1e-16]), LANE_TILES))

    assert (3.0, -18.0, -16.0) == (tile["ber_n"], tile["ber_min"], tile["ber_max"])


def test_a_port_tile_counts_states_and_growth(port_rows: Rows, quarters: Quarters) -> None:
    rows = port_rows(
        quarters(DAY, 4),
        oper_up=[True, False, False, None],
        admin_up=[True, True, False, None],
        rx_los=[None, True, True, False],
        link_flaps=[7, 9, 1, None],
    )

    tile = _one(tile_day(rows, PORT_TILES))

    assert (4, 1, 1, 2, 0) == tuple(tile[name] for name in ("rows", "down", "admin_down", "los", "fault"))
    assert (7.0, 1.0, 3.0, 2.0) == tuple(tile[f"flaps_{part}"] for part in ("first", "last", "grown", "burst"))
    assert (0.0, 2700.0) == (tile["first_s"], tile["last_s"])


def test_of_a_repeated_key_the_latest_received_counts(lane_rows: Rows, quarters: Quarters) -> None:
    first = lane_rows(quarters(DAY, 4), rx_power_dbm=[-2.0, -2.0, -2.0, -2.0])
    again = lane_rows(quarters(DAY, 4)[1:2], rx_power_dbm=-4.0, received_at=[DAY + 50 * MINUTE])

    tile = _one(tile_day(pl.concat([again, first]), LANE_TILES))

    assert (4, -2.5) == (tile["rows"], tile["rx_mean"])


def test_of_keys_received_at_the_same_time_the_last_appended_counts(lane_rows: Rows, quarters: Quarters) -> None:
    rows = [lane_rows(quarters(DAY, 4), rx_power_dbm=float(-i)) for i in range(1, 40)]

    assert -39.0 == _one(tile_day(pl.concat(rows), LANE_TILES))["rx_mean"]


def test_ports_of_the_same_name_on_other_devices_and_sites_have_their_own_tiles(
    lane_rows: Rows, quarters: Quarters
) -> None:
    times = quarters(DAY, 4)
    rows = [
        lane_rows(times, rx_power_dbm=-1.0),
        lane_rows(times, rx_power_dbm=-2.0, site="oslo"),
        lane_rows(times, device="leaf02", rx_power_dbm=-3.0),
        lane_rows(times, rx_power_dbm=-4.0, lane=2),
    ]

    tiles = tile_day(pl.concat(rows), LANE_TILES).sort("rx_mean")

    assert [-4.0, -3.0, -2.0, -1.0] == tiles["rx_mean"].to_list()
    assert [("default", "leaf01", 2), ("default", "leaf02", 1), ("oslo", "leaf01", 1), ("default", "leaf01", 1)] == (
        tiles.select("site", "device", "lane").rows()
    )


@given(st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=15)
def test_the_order_of_samples_changes_no_tile(lane_rows: Rows, quarters: Quarters, random: Any) -> None:
    times = quarters(DAY, 40)
    rows = pl.concat(
        lane_rows(times, interface=name, rx_power_dbm=[-2.0 - 0.01 * (i * k % 7) for i in range(40)])
        for k, name in enumerate(("Ethernet0", "Ethernet4", "Ethernet8"))
    )
    order = list(range(rows.height))
    random.shuffle(order)

    tiles = (tile_day(frame, LANE_TILES).sort(LANE_TILES.key) for frame in (rows, rows[order]))

    assert_frame_equal(*tiles, check_exact=True)


def test_what_a_collector_marked_is_left_out_once_the_mark_is_in(lane_rows: Rows, quarters: Quarters) -> None:
    """Rows of a poll that turned out to be a glitch come again, marked, with the next poll."""
    times = [DAY + i * MINUTE for i in range(5)]
    rows = lane_rows(times, rx_power_dbm=[-2.0, -2.1, 3.0, -2.0, -2.1], tx_bias_ma=40.0)
    marked = rows[2:3].with_columns(quality=pl.lit(int(Quality.GLITCH), pl.Int16), received_at=pl.lit(times[3]))

    before, after = (_one(tile_day(frame, LANE_TILES)) for frame in (rows, pl.concat([rows, marked])))

    assert (5, 3.0) == (before["rx_n"], before["rx_max"])
    assert (4, -2.0, 5, 5) == tuple(after[name] for name in ("rx_n", "rx_max", "bias_n", "rows"))


def test_what_an_import_left_in_a_marked_row_counts(lane_rows: Rows, quarters: Quarters) -> None:
    """It took the impossible value out, and the rest of the row is good, also where it is the hour's only one."""
    rows = lane_rows([DAY], rx_power_dbm=-2.0, tx_bias_ma=None, quality=int(Quality.GLITCH))

    tile = _one(tile_day(rows, LANE_TILES))

    assert (1, -2.0, 0) == (tile["rx_n"], tile["rx_mean"], tile["bias_n"])


def test_what_no_module_can_give_is_left_out_before_anything_is_summed(lane_rows: Rows, quarters: Quarters) -> None:
    wrong = [1e9, -2.0, float("inf"), -2.0]
    rows = lane_rows(quarters(DAY, 4), rx_power_dbm=wrong, tx_bias_ma=wrong, pre_fec_ber=[-1.0, 2.0, 1e-9, None])

    tile = _one(tile_day(rows, LANE_TILES))

    assert (2, -2.0, 0.0) == tuple(tile[f"rx_{stat}"] for stat in ("n", "mean", "m2"))
    assert (0, 1, -9.0) == (tile["bias_n"], tile["ber_n"], tile["ber_mean"])


# ---- late samples ----------------------------------------------------------------------------


def test_late_samples_make_a_further_tile_for_each_hour_in_which_some_came(lane_rows: Rows, quarters: Quarters) -> None:
    late = [DAY + 14 * MINUTE, DAY + 5 * 60 * MINUTE, DAY + 200 * MINUTE, DAY + 210 * MINUTE]
    rows = lane_rows(quarters(DAY, 4), rx_power_dbm=[-2.0, -3.0, -4.0, -5.0], received_at=late)

    tiles = tile_day(rows, LANE_TILES).sort("received_at")

    assert [1, 3, 4] == tiles["rows"].to_list()
    assert [late[0], late[3], late[1]] == tiles["received_at"].to_list()
    assert [-2.0, -11 / 3, -3.5] == pytest.approx(tiles["rx_mean"].to_list())


def test_what_a_reader_saw_at_a_time_does_not_depend_on_later_arrivals(lane_rows: Rows, quarters: Quarters) -> None:
    received = [DAY + minutes * MINUTE for minutes in (5, 20, 130, 300)]
    rows = lane_rows(quarters(DAY, 4), rx_power_dbm=[-2.0, -3.0, -4.0, -5.0], received_at=received)

    for hours in range(1, 7):
        at = DAY + timedelta(hours=hours)
        then = tile_day(rows.filter(pl.col("received_at") <= at), LANE_TILES).sort("received_at")
        now = tile_day(rows, LANE_TILES).filter(pl.col("received_at") <= at).sort("received_at")
        assert_frame_equal(then, now, check_exact=True)


def test_a_late_sample_of_one_lane_leaves_the_tiles_of_others_alone(lane_rows: Rows, quarters: Quarters) -> None:
    times = quarters(DAY, 4)
    rows = [
        lane_rows(times, received_at=[*times[:3], DAY + 90 * MINUTE]),
        lane_rows(times, lane=2),
        lane_rows(times, interface="Ethernet4"),
    ]

    assert 4 == tile_day(pl.concat(rows), LANE_TILES).height


# ---- in the lake -----------------------------------------------------------------------------


def test_a_second_update_writes_nothing(tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters) -> None:
    lake = _lake(tmp_path, lane_rows(quarters(DAY, 200)), port_rows(quarters(DAY, 200)))

    assert [100, 0] == [update_tiles(lake, now=LONG_AFTER) for _ in range(2)]


def test_an_update_reads_the_days_that_changed(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    lake = _lake(tmp_path, lane_rows(quarters(DAY, 192)))
    update_tiles(lake, now=LONG_AFTER)
    lake.append(LANE_SAMPLES, lane_rows(quarters(DAY + timedelta(days=1), 4), interface="Ethernet4"))

    assert 1 == update_tiles(lake, now=LONG_AFTER)


def test_the_running_hour_is_left_for_later(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    lake = _lake(tmp_path, lane_rows(quarters(DAY, 10)))

    counts = [update_tiles(lake, now=DAY + minutes * MINUTE) for minutes in (59, 60, 150, 179, 180)]

    assert [0, 1, 1, 0, 1] == counts
    assert [4, 4, 2] == _tiles(lake)["rows"].to_list()


def test_the_running_hour_is_told_by_the_clock_of_any_zone(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    lake = _lake(tmp_path, lane_rows(quarters(DAY, 10)))
    kolkata = (DAY + 150 * MINUTE).astimezone(ZoneInfo("Asia/Kolkata"))  # half an hour off

    assert 2 == update_tiles(lake, now=kolkata)


def test_late_samples_add_a_version_and_leave_the_first(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    times = quarters(DAY, 8)
    lake = _lake(tmp_path, lane_rows(times[:3] + times[4:], rx_power_dbm=-2.0))
    update_tiles(lake, now=LONG_AFTER)
    came = DAY + timedelta(hours=6, minutes=1)
    lake.append(LANE_SAMPLES, lane_rows(times[3:4], rx_power_dbm=-4.0, received_at=[came]))

    assert 1 == update_tiles(lake, now=LONG_AFTER)
    versions = _tiles(lake).filter(pl.col("hour") == DAY).select("received_at", "rows", "rx_mean").rows()
    assert [(times[2], 3, -2.0), (came, 4, -2.5)] == versions


def test_a_value_that_was_imported_again_with_a_correction_makes_a_new_tile(
    tmp_path: Path, lane_rows: Rows, quarters: Quarters
) -> None:
    """Same key, same receipt, same number of rows: the values decide."""
    lake = _lake(tmp_path, lane_rows(quarters(DAY, 4), rx_power_dbm=-2.0))
    update_tiles(lake, now=LONG_AFTER)
    lake.append(LANE_SAMPLES, lane_rows(quarters(DAY, 4), rx_power_dbm=-3.0))

    assert 1 == update_tiles(lake, now=LONG_AFTER)
    assert [-2.0, -3.0] == lake.scan(LANE_TILES).collect()["rx_mean"].to_list()


def test_after_compaction_of_the_samples_nothing_new_is_written(
    tmp_path: Path, lane_rows: Rows, quarters: Quarters
) -> None:
    """Compaction takes away the readings that later ones replaced; what tiles said of them stands."""
    times = quarters(DAY, 96)
    corrected = [t + timedelta(hours=7) for t in times[::10]]
    lake = _lake(
        tmp_path,
        lane_rows(times, rx_power_dbm=-2.0),
        lane_rows(times[::10], rx_power_dbm=-3.0, received_at=corrected),
        lane_rows(times[:20], interface="Ethernet4"),
        lane_rows(times[20:], interface="Ethernet4"),
    )
    update_tiles(lake, now=LONG_AFTER)
    before = _tiles(lake)

    assert 1 == lake.compact(LANE_SAMPLES, lease=FileLease(tmp_path / "lease"), before=date(2027, 1, 1))

    assert 0 == update_tiles(lake, now=LONG_AFTER)
    assert_frame_equal(before, _tiles(lake))


@given(st.lists(st.integers(1, 95), min_size=0, max_size=4), st.booleans())
@settings(deadline=None, max_examples=8)
def test_samples_appended_in_pieces_end_in_the_tiles_of_all_at_once(
    tmp_path_factory: pytest.TempPathFactory,
    lane_rows: Rows,
    quarters: Quarters,
    cuts: list[int],
    between: bool,
) -> None:
    """Whether or not tiles were made between two pieces: the latest version of each is the same."""
    rows = lane_rows(quarters(DAY, 96), rx_power_dbm=[-2.0 - 0.01 * (i % 11) for i in range(96)])
    whole = _lake(tmp_path_factory.mktemp("whole"), rows)
    pieces = _lake(tmp_path_factory.mktemp("pieces"))
    bounds = [0, *sorted(set(cuts)), 96]
    for start, end in pairwise(bounds):
        pieces.append(LANE_SAMPLES, rows[start:end])
        if between:
            update_tiles(pieces, now=LONG_AFTER)
    for lake in (whole, pieces):
        update_tiles(lake, now=LONG_AFTER)

    latest = (lake.latest(LANE_TILES).collect().sort(LANE_TILES.key) for lake in (whole, pieces))

    assert_frame_equal(*latest, check_exact=True)


class _Watched(Here):
    """This process, with the hours that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[tuple[str, float, float]] = []

    def run(self, work: Any, jobs: Any) -> Iterator[Any]:
        for part, result in super().run(work, jobs):
            if isinstance(part, DayPart):
                yield part, result
                continue
            since, until = ((time - DAY) / timedelta(hours=1) for time in (part.since, part.until))
            self.read.append((part.table, since, until))
            yield part, result


def test_only_hours_with_news_are_read_again(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    """A collector's commits, one a sweep; then a late sample and the next hours."""
    lake, times, now = Lake(str(tmp_path / "lake")), quarters(DAY, 48), DAY + timedelta(hours=12)
    for time in times[:40]:
        lake.append(LANE_SAMPLES, lane_rows([time], rx_power_dbm=-2.0))
    update_tiles(lake, now=DAY + timedelta(hours=10))
    for time in times[40:]:
        lake.append(LANE_SAMPLES, lane_rows([time], rx_power_dbm=-2.0))
    came = DAY + timedelta(hours=11.9)
    lake.append(LANE_SAMPLES, lane_rows([DAY + 200 * MINUTE], rx_power_dbm=-4.0, received_at=[came]))
    watched = _Watched()

    assert 3 == update_tiles(lake, now=now, engine=watched)
    assert [("lane_tiles", 3.0, 4.0), ("lane_tiles", 10.0, 12.0)] == watched.read
    assert 0 == samples_waiting(lake, now=now)


def test_an_old_day_is_read_as_a_whole(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    lake, watched = _lake(tmp_path, lane_rows(quarters(DAY, 96))), _Watched()
    update_tiles(lake, now=LONG_AFTER)
    lake.append(LANE_SAMPLES, lane_rows([DAY + 200 * MINUTE], received_at=[LONG_AFTER - timedelta(days=1)]))

    assert 1 == update_tiles(lake, now=LONG_AFTER, engine=watched)
    assert [("lane_tiles", 0.0, 24.0)] == watched.read


def test_tiles_of_other_code_are_neither_read_nor_taken_for_done(
    tmp_path: Path, lane_rows: Rows, quarters: Quarters, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = _lake(tmp_path, lane_rows(quarters(DAY, 96), rx_power_dbm=-2.0))
    with monkeypatch.context() as other:
        for module in (tile_maker, tiles_module):
            other.setattr(module, "KERNEL", 1)
        assert 24 == update_tiles(lake, now=LONG_AFTER)
    reader, at = LakeTiles(lake), DAY + timedelta(hours=24)
    ((before, _),) = reader.cubes([at], timedelta(hours=24))

    assert [24, 0] == [update_tiles(lake, now=LONG_AFTER) for _ in range(2)]

    ((after, _),) = reader.cubes([at], timedelta(hours=24))
    assert (0, 1) == (before.lane_port.size, after.lane_port.size)
    assert {1: 24, KERNEL: 24} == dict(lake.scan(LANE_TILES).group_by("kernel").len().collect().iter_rows())


def test_progress_ends_at_the_whole(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    told: list[float] = []

    update_tiles(_lake(tmp_path, lane_rows(quarters(DAY, 192))), now=LONG_AFTER, progress=told.append)

    assert [0.0, 0.5, 1.0] == told
