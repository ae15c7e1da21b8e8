"""Day tiles: what a day comes to, made once it has been over for a day, and again where something came late."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from features.cube import LakeTiles
from features.day_tables import LANE_DAYS, PORT_DAYS
from features.day_tiles import DayPart, make_days, update_days
from features.engine import Here
from features.fleet import Fleet
from features.pipeline import FeaturePipeline, hourly
from features.tiles import update_tiles
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Table

Quarters = Callable[[datetime, int], list[datetime]]
Rows = Callable[..., pl.DataFrame]

DAY = datetime(2026, 3, 1, tzinfo=UTC)
LONG_AFTER = datetime(2030, 1, 1, tzinfo=UTC)
PIPELINE = FeaturePipeline()


def _hour(hours: float) -> datetime:
    return DAY + timedelta(hours=hours)


def _lake(folder: Path, *rows: pl.DataFrame, now: datetime = LONG_AFTER) -> Lake:
    lake = Lake(str(folder / "lake"))
    for frame in rows:
        table: Table = LANE_SAMPLES if "lane" in frame.columns else PORT_SAMPLES
        lake.append(table, frame)
    update_tiles(lake, now=now)
    return lake


def _days(lake: Lake) -> tuple[pl.DataFrame, pl.DataFrame]:
    lanes, ports = (lake.scan(t).collect().sort(*t.key, "received_at") for t in (LANE_DAYS, PORT_DAYS))
    return lanes, ports


def test_a_day_is_the_middle_and_the_scatter_of_its_hourly_means(
    tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters
) -> None:
    rng = np.random.default_rng(1)
    hourly_rx = rng.normal(-2, 0.5, 24).round(3)
    rx = np.repeat(hourly_rx, 4).tolist()
    times = quarters(DAY, 96)
    lake = _lake(
        tmp_path,
        lane_rows(times, rx_power_dbm=rx, tx_bias_ma=40.0),
        port_rows(times, temperature_c=50.0, link_flaps=list(range(96)), oper_up=[i % 4 > 0 for i in range(96)]),
    )

    (lane,), (port,) = (frame.rows(named=True) for frame in _days(lake))

    middle = np.median(hourly_rx)
    scatter = 1.4826 * np.median(np.abs(hourly_rx - middle))
    assert (24, 96) == (lane["rx_n"], lane["rows"])
    assert [middle, scatter] == pytest.approx([lane["rx_centre"], lane["rx_scatter"]], abs=1e-5)
    assert [np.log(40), np.log(40) - 0.325] == pytest.approx([lane["bias_raw_centre"], lane["bias_centre"]], rel=1e-6)
    assert (0, 95, 95, 24) == (port["flaps_first"], port["flaps_last"], port["flaps_grown"], port["down"])


def test_serials_of_a_day_are_the_first_the_last_and_when_it_changed(
    tmp_path: Path, port_rows: Rows, quarters: Quarters
) -> None:
    serials = [None] * 8 + ["A"] * 20 + ["B"] * 20 + [None] * 48
    lake = _lake(tmp_path, port_rows(quarters(DAY, 96), serial=serials))

    (port,) = _days(lake)[1].rows(named=True)

    assert ("A", "B") == (port["serial_first"], port["serial_last"])
    assert (2, 11, 7) == (port["serial_first_h"], port["serial_last_h"], port["serial_changed_h"])


@pytest.mark.parametrize(("hours", "made"), [(47, 0), (48, 1), (71, 1), (72, 2)])
def test_a_day_is_made_when_it_has_been_over_for_a_day(
    tmp_path: Path, lane_rows: Rows, quarters: Quarters, hours: int, made: int
) -> None:
    lake = _lake(tmp_path, lane_rows(quarters(DAY, 96 * 3), rx_power_dbm=-2.0), now=_hour(hours))

    assert made == _days(lake)[0].height


def test_what_comes_after_that_makes_another_version_of_that_port_alone(
    tmp_path: Path, lane_rows: Rows, quarters: Quarters
) -> None:
    times = quarters(DAY, 96)
    late = [_hour(100.5) if i in {50, 51} else t for i, t in enumerate(times)]
    lake = _lake(
        tmp_path,
        lane_rows(times, rx_power_dbm=-2.0, received_at=late),
        lane_rows(times, interface="Ethernet4", rx_power_dbm=-2.0),
    )

    lanes = _days(lake)[0]

    assert ["Ethernet0", "Ethernet0", "Ethernet4"] == lanes["interface"].to_list()
    assert [94, 96, 96] == lanes["rows"].to_list()
    assert _hour(100.5) == lanes["received_at"][1]


class _Watched(Here):
    """Keeps the days that are made."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[DayPart] = []

    def run(self, work: Any, jobs: Iterable[Any]) -> Iterator[Any]:
        for part, result in super().run(work, jobs):
            if isinstance(part, DayPart):
                self.made.append(part)
            yield part, result


def test_only_days_with_news_and_only_devices_in_them_are_made_again(
    tmp_path: Path, lane_rows: Rows, quarters: Quarters
) -> None:
    devices = ("leaf01", "leaf02")
    lake = _lake(tmp_path, *(lane_rows(quarters(DAY, 96 * 4), device=d, rx_power_dbm=-2.0) for d in devices))
    lake.append(LANE_SAMPLES, lane_rows([_hour(30.1)], device="leaf02", received_at=[_hour(200)]))
    engine = _Watched()

    update_tiles(lake, now=LONG_AFTER, engine=engine)
    update_tiles(lake, now=LONG_AFTER, engine=engine)

    assert [DayPart(lake.uri, _hour(24), ("leaf02",))] == engine.made


def test_a_run_that_ended_between_the_two_tables_is_mended(
    tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters
) -> None:
    times = quarters(DAY, 96 * 2)
    rows = lane_rows(times, rx_power_dbm=-2.0), port_rows(times, temperature_c=40.0)
    whole = _days(_lake(tmp_path / "whole", *rows))
    lake = _lake(tmp_path, *rows, now=_hour(40))
    lake.append(PORT_DAYS, make_days(DayPart(lake.uri, DAY))[0], transaction="half")

    update_tiles(lake, now=LONG_AFTER)

    for expected, found in zip(whole, _days(lake), strict=True):
        assert_frame_equal(expected, found)


def test_a_day_in_parts_is_the_day(tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters) -> None:
    times = quarters(DAY, 96)
    devices = [f"leaf{i:02d}" for i in range(5)]
    rows = [make(times, device=d) for make in (lane_rows, port_rows) for d in devices]
    whole = _days(_lake(tmp_path / "whole", *rows))
    lake = _lake(tmp_path, *rows, now=_hour(40))
    engine = Here()
    engine.job_bytes = 40_000

    assert 10 == update_days(lake, LONG_AFTER, engine)

    for expected, found in zip(whole, _days(lake), strict=True):
        assert_frame_equal(expected, found)


def test_features_of_a_time_are_the_same_alone_and_among_many_where_days_come_late(
    tmp_path: Path, lane_rows: Rows, port_rows: Rows, quarters: Quarters
) -> None:
    """Twenty days of a link; a whole day comes five days late, single samples three; a swap in the middle."""
    times = quarters(DAY, 96 * 20)

    def received(i: int, time: datetime) -> datetime:
        if 96 * 9 <= i < 96 * 10:
            return time + timedelta(days=5)
        return time + timedelta(days=3, minutes=10) if i % 97 == 0 else time

    late = [received(i, t) for i, t in enumerate(times)]
    rx = [-2.0 - 0.01 * (i % 89) for i in range(len(times))]
    serials = ["A"] * (96 * 12 + 30) + ["B"] * (96 * 8 - 30)
    port = {
        "temperature_c": [40.0 + i % 7 for i in range(len(times))],
        "link_flaps": [i // 50 for i in range(len(times))],
    }
    lake = _lake(
        tmp_path,
        lane_rows(times, rx_power_dbm=rx, tx_bias_ma=40.0, received_at=late),
        port_rows(times, serial=serials, fec_corrected=[9 * i for i in range(len(times))], received_at=late, **port),
    )
    at = hourly(_hour(24 * 9), _hour(24 * 20), every_h=7)

    many = PIPELINE.transform(LakeTiles(lake), Fleet.from_frames(), at)

    alone = [PIPELINE.transform(LakeTiles(lake), Fleet.from_frames(), time) for time in at]
    assert_frame_equal(pl.concat(alone), many, check_exact=True)
    assert many["rx_min_shift_24h"].n_unique() > 10
