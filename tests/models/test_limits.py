"""The module-limit baseline, on series short enough to read."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from features.fleet import Fleet
from models.baselines.limits import ALARM_SCHEMA, limit_alarms, limit_alarms_of

START = datetime(2026, 3, 1, tzinfo=UTC)
POLL = timedelta(minutes=15)
PORT = {"site": "default", "device": "leaf01", "interface": "Ethernet0"}
LOW, GOOD = -12.0, -2.0


@pytest.fixture(name="fleet")
def _fleet() -> Fleet:
    """One module that warns of Rx below -10 dBm and of 70 °C."""
    limits = {"rx_power_low_warn_dbm": [-10.0], "rx_power_low_alarm_dbm": [-15.0], "temperature_high_warn_c": [70.0]}
    return Fleet.from_frames(modules=pl.DataFrame({**{name: [value] for name, value in PORT.items()}, **limits}))


def _lanes(rx_power_dbm: Sequence[float | None], **extra: Any) -> pl.LazyFrame:
    """One lane's readings from START on, beside a good second lane."""
    times = [START + i * POLL for i in range(len(rx_power_dbm))]
    frame = pl.DataFrame({"time": times, "rx_power_dbm": rx_power_dbm}, schema_overrides={"rx_power_dbm": pl.Float32})
    columns = PORT | {"tx_power_dbm": 0.0, "tx_bias_ma": 50.0, "quality": 0} | extra
    frame = frame.with_columns(pl.lit(value).alias(name) for name, value in columns.items())
    other = frame.with_columns(lane=2, rx_power_dbm=pl.lit(GOOD, pl.Float32))
    return pl.concat([frame.with_columns(lane=1), other]).lazy()


def _ports(count: int, **values: Any) -> pl.LazyFrame:
    columns = PORT | {"oper_up": True, "admin_up": True, "temperature_c": 45.0, "quality": 0} | values
    frame = pl.DataFrame({"time": [START + i * POLL for i in range(count)]})
    series = {name: value if isinstance(value, pl.Series) else pl.lit(value) for name, value in columns.items()}
    return frame.with_columns(**series).lazy()


def _raised(alarms: pl.DataFrame) -> list[tuple[int, int | None]]:
    """Polls after START at which each alarm was raised and cleared."""
    rows = alarms.select("raised_at", "cleared_at").rows()
    return [((up - START) // POLL, None if down is None else (down - START) // POLL) for up, down in rows]


def _run(fleet: Fleet, rx_power_dbm: Sequence[float | None], **ports: Any) -> pl.DataFrame:
    count = len(rx_power_dbm)
    return limit_alarms(_lanes(rx_power_dbm), _ports(count, **ports), fleet, start=START, end=START + count * POLL)


def test_the_second_low_reading_raises_and_the_eighth_good_one_clears(fleet: Fleet) -> None:
    alarms = _run(fleet, [GOOD, LOW, LOW, LOW] + [GOOD] * 9)

    assert [(2, 11)] == _raised(alarms)
    assert ALARM_SCHEMA == alarms.schema
    assert ("rx_power_dbm", "fiber", "clean_connector") == alarms.select("quantity", "suspect", "action").row(0)


def test_a_single_low_reading_raises_nothing(fleet: Fleet) -> None:
    assert [] == _raised(_run(fleet, [GOOD, LOW, GOOD, LOW, GOOD]))


def test_a_short_recovery_does_not_clear(fleet: Fleet) -> None:
    assert [(1, None)] == _raised(_run(fleet, [LOW, LOW] + [GOOD] * 7 + [LOW, LOW]))


def test_no_light_on_a_port_that_is_down_announces_nothing(fleet: Fleet) -> None:
    down = pl.Series([True, False, False, False])

    assert [] == _raised(_run(fleet, [GOOD, LOW, -40.0, -40.0], oper_up=down))
    assert [] == _raised(_run(fleet, [LOW] * 4, admin_up=False))


def test_no_reading_is_no_crossing(fleet: Fleet) -> None:
    assert [] == _raised(_run(fleet, [None] * 4))


def test_a_limit_of_the_port_counts_too(fleet: Fleet) -> None:
    alarms = _run(fleet, [GOOD] * 3, temperature_c=71.0)

    assert [(1, None)] == _raised(alarms)
    assert ["temperature_c"] == alarms["quantity"].to_list()


def test_alarm_limits_are_farther_out_than_warnings(fleet: Fleet) -> None:
    lanes, ports = _lanes([LOW] * 3), _ports(3)

    alarms = limit_alarms(lanes, ports, fleet, start=START, end=START + 3 * POLL, level="alarm")

    assert alarms.is_empty()


def test_both_levels_are_read_at_once(fleet: Fleet) -> None:
    lanes, ports, end = _lanes([GOOD, LOW, LOW, -16.0, -16.0]), _ports(5), START + 5 * POLL

    both = limit_alarms_of(("warn", "alarm"), lanes, ports, fleet, start=START, end=end)

    assert [(2, None)] == _raised(both["warn"])
    assert [(4, None)] == _raised(both["alarm"])


def test_maintenance_is_left_out(fleet: Fleet) -> None:
    work = pl.DataFrame({"device": ["leaf01"], "start": [START], "end": [START + 10 * POLL]})
    quiet = Fleet.from_frames(modules=fleet.modules, maintenance=work)

    assert [] == _raised(_run(quiet, [LOW] * 6))


def test_doubtful_readings_are_left_out(fleet: Fleet) -> None:
    alarms = limit_alarms(_lanes([LOW] * 4, quality=1), _ports(4), fleet, start=START, end=START + 4 * POLL)

    assert alarms.is_empty()


def test_an_alarm_goes_on_over_the_steps_in_which_history_is_read(fleet: Fleet) -> None:
    """Five days are read in three steps; the alarm is one, and a pair of readings across a step is a pair."""
    across = [GOOD] * 191 + [LOW] * 2  # two days are 192 polls
    alarms = _run(fleet, across + [LOW] * 200 + [GOOD] * 87)

    assert [(192, 400)] == _raised(alarms)


def test_without_limits_or_port_samples_there_is_an_answer(fleet: Fleet) -> None:
    none = Fleet.from_frames(modules=fleet.modules.select("device", "interface"))
    lanes = _lanes([LOW] * 3)
    no_ports = _ports(3).clear()

    assert limit_alarms(lanes, _ports(3), none, start=START, end=START + 3 * POLL).is_empty()
    assert [(1, None)] == _raised(limit_alarms(lanes, no_ports, fleet, start=START, end=START + 3 * POLL))
