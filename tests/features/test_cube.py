"""Tiles as dense arrays: each port in its own row, and of late tiles only those received by then."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from features.cube import Cube, LakeTiles, hour_index
from features.tiles import update_tiles
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES

Quarters = Callable[[datetime, int], list[datetime]]
Rows = Callable[..., pl.DataFrame]

DAY = datetime(2026, 3, 1, tzinfo=UTC)
REACH = timedelta(hours=6)


def _hour(hours: float) -> datetime:
    return DAY + timedelta(hours=hours)


def _lake(folder: Path, *rows: pl.DataFrame) -> Lake:
    lake = Lake(str(folder / "lake"))
    for frame in rows:
        lake.append(LANE_SAMPLES if "lane" in frame.columns else PORT_SAMPLES, frame)
    update_tiles(lake, now=_hour(1000))
    return lake


def _cubes(lake: Lake, *hours: float, reach: timedelta = REACH) -> list[tuple[Cube, list[datetime]]]:
    return list(LakeTiles(lake).cubes([_hour(h) for h in hours], reach))


def test_an_hour_index_is_whole_hours_since_1970() -> None:
    assert hour_index(_hour(3.9)) == hour_index(_hour(3)) == int(_hour(3).timestamp()) // 3600


def test_without_late_data_all_times_share_one_cube(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    lake = _lake(tmp_path, lane_rows(quarters(DAY, 48), rx_power_dbm=-2.0))

    ((cube, times),) = _cubes(lake, 7, 8, 12)

    assert [_hour(7), _hour(8), _hour(12)] == times
    assert hour_index(_hour(1)) == cube.start
    assert (1, 11) == cube.lanes["rx_mean"].shape
    assert (cube.lanes["rx_mean"] == -2.0).all()


def test_pinned_tiles_are_those_of_then(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    lake = _lake(tmp_path, lane_rows(quarters(DAY, 24), rx_power_dbm=-2.0))
    tiles = LakeTiles(lake).pinned(_hour(6), REACH, 1)
    lake.append(LANE_SAMPLES, lane_rows(quarters(DAY, 24), rx_power_dbm=-2.0, device="leaf02"))
    update_tiles(lake, now=_hour(1000))

    found = [[cube.ports.height for cube, _ in each.cubes([_hour(6)], REACH, 1)] for each in (tiles, LakeTiles(lake))]

    assert [[1], [2]] == found


def test_hours_without_a_tile_are_nan(tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters) -> None:
    lake = _lake(tmp_path, lane_rows(quarters(_hour(2), 4), rx_power_dbm=-2.0), port_rows(quarters(_hour(3), 4)))

    ((cube, _),) = _cubes(lake, 6)

    assert hour_index(_hour(2)) == cube.start
    assert [True, False, False, False] == (~np.isnan(cube.lanes["rx_mean"][0])).tolist()
    assert [False, True, False, False] == (~np.isnan(cube.states["rows"][0])).tolist()


def test_late_tiles_are_invisible_before_their_receipt_and_seen_from_then_on(
    tmp_path: Path, lane_rows: Rows, quarters: Quarters
) -> None:
    times = quarters(DAY, 32)
    received = [t if t != _hour(2.75) else _hour(5.1) for t in times]
    lake = _lake(
        tmp_path, lane_rows(times, rx_power_dbm=[-2.0 - (t == _hour(2.75)) for t in times], received_at=received)
    )

    (before, early), (after, later) = _cubes(lake, 4, 5, 6, 7)

    assert ([_hour(4), _hour(5)], [_hour(6), _hour(7)]) == (early, later)
    hour = hour_index(_hour(2)) - before.start
    assert (3, 4) == (before.lanes["rows"][0, hour], after.lanes["rows"][0, hour])
    assert (-2.0, -2.25) == (before.lanes["rx_mean"][0, hour], after.lanes["rx_mean"][0, hour])


def test_a_tile_received_at_the_very_time_is_seen(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    times = quarters(DAY, 8)
    lake = _lake(tmp_path, lane_rows(times, received_at=[*times[:3], _hour(3), *times[4:]]))

    (first, _), (second, _) = _cubes(lake, 2, 3)

    assert (3, 4) == (first.lanes["rows"][0, 0], second.lanes["rows"][0, 0])


def test_of_several_late_versions_the_newest_known_one_is_seen(
    tmp_path: Path, lane_rows: Rows, quarters: Quarters
) -> None:
    times = quarters(DAY, 4)
    lake = _lake(tmp_path, lane_rows(times, received_at=[times[0], _hour(2.5), _hour(1.5), _hour(3.5)]))

    cubes = _cubes(lake, 1, 2, 3, 4)

    assert [1, 2, 3, 4] == [int(cube.lanes["rows"][0, 0]) for cube, _ in cubes]


def test_of_on_time_versions_the_one_appended_last_is_seen(tmp_path: Path, lane_rows: Rows, quarters: Quarters) -> None:
    """An import sets receipt to the sample's time: what a second file adds is no late data."""
    times = quarters(DAY, 4)
    lake = _lake(tmp_path, lane_rows([times[0], times[3]], rx_power_dbm=-2.0))
    lake.append(LANE_SAMPLES, lane_rows(times[1:3], rx_power_dbm=-4.0))
    update_tiles(lake, now=_hour(1000))

    ((cube, _),) = _cubes(lake, 6)

    assert (4, -3.0) == (cube.lanes["rows"][0, 0], cube.lanes["rx_mean"][0, 0])


def test_the_same_names_at_other_sites_and_devices_are_other_rows(
    tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters
) -> None:
    times = quarters(DAY, 4)
    lake = _lake(
        tmp_path,
        lane_rows(times, rx_power_dbm=-1.0),
        lane_rows(times, rx_power_dbm=-2.0, site="oslo", lane=2),
        lane_rows(times, rx_power_dbm=-3.0, site="oslo"),
        lane_rows(times, device="leaf02", rx_power_dbm=-4.0),
        port_rows(times, device="leaf02", temperature_c=40.0),
        port_rows(times, device="leaf03", temperature_c=50.0),
    )

    ((cube, _),) = _cubes(lake, 6)

    ports = [("default", "leaf01"), ("default", "leaf02"), ("default", "leaf03"), ("oslo", "leaf01")]
    assert ports == cube.ports.select("site", "device").rows()
    assert {(*port, "Ethernet0"): p for p, port in enumerate(ports)} == cube.port_of
    assert [0, 1, 3, 3] == cube.lane_port.tolist()
    assert [-1.0, -4.0, -3.0, -2.0] == cube.lanes["rx_mean"][:, 0].tolist()
    np.testing.assert_array_equal([np.nan, 40.0, 50.0, np.nan], cube.states["temp_mean"][:, 0])


def test_counters_are_exact_where_they_are_huge(tmp_path: Path, port_rows: Rows, quarters: Quarters) -> None:
    """One step a sample at 4e15: in float32 each of them would be lost."""
    counts = [4 * 10**15 + i for i in range(24)]
    lake = _lake(tmp_path, port_rows(quarters(DAY, 24), fec_corrected=counts))

    ((cube, _),) = _cubes(lake, 6)

    assert [3.0, 4.0, 4.0, 4.0, 4.0, 4.0] == cube.states["corrected"][0].tolist()
    assert [3600.0] * 5 == cube.states["corrected_s"][0, 1:].tolist()


def test_serials_are_codes_and_unread_ones_are_minus_one(tmp_path: Path, port_rows: Rows, quarters: Quarters) -> None:
    serials = ["A"] * 4 + [None] * 4 + ["B"] * 4
    lake = _lake(tmp_path, port_rows(quarters(DAY, 12), serial=serials))

    ((cube, _),) = _cubes(lake, 6)

    a, none, b, *rest = cube.serials[0].tolist()
    assert -1 not in {a, b}
    assert a != b
    assert [-1, -1, -1, -1] == [none, *rest]


def test_an_empty_lake_is_a_cube_without_ports(tmp_path: Path) -> None:
    ((cube, times),) = _cubes(Lake(str(tmp_path / "none")), 6, 7)

    assert [_hour(6), _hour(7)] == times
    assert (0, 7) == cube.states["corrected"].shape == cube.lanes["rx_mean"].shape
