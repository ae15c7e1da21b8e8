"""Tiles: what an hour of samples becomes, and that they are made once, whenever and however samples come."""

from collections.abc import Callable
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

from features.fleet import polars_schema
from features.tiles import LANE_TILES, PORT_TILES, tile_day, update_tiles
from ingest.lake import Lake
from ingest.lease import FileLease
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

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


def test_progress_ends_at_the_whole(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    told: list[float] = []

    update_tiles(_lake(tmp_path, lane_rows(quarters(DAY, 192))), now=LONG_AFTER, progress=told.append)

    assert [0.0, 0.5, 1.0] == told
