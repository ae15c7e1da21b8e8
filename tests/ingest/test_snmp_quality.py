"""What may be believed of a reading: units and scales for every value, sentinels, zeros and limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.decode.quality import LIMIT_NAMES, Rows, judge, plausible_limits
from ingest.decode.sensors import scaled
from ingest.decode.slots import QUANTITIES

MILLI, UNITS = -3, 0
POWERS = ("rx_power_dbm", "tx_power_dbm")


Given = tuple[str, int, float]


def _of(quantity: str, value: float, lane: int = 1) -> Given:
    return quantity, lane, value


def _judge(*readings: Given, oper_up: bool | None = True) -> dict[tuple[str, int], float | None]:
    """One port's readings, judged; echoes of lanes are left out."""
    lanes = sorted({0, *(lane for _, lane, _ in readings)})
    values = np.full((len(lanes), len(QUANTITIES)), np.nan)
    for quantity, lane, value in readings:
        values[lanes.index(lane), QUANTITIES.index(quantity)] = value
    up = {True: 1, False: 0, None: -1}[oper_up]
    kept, echoes = judge(values, values == 0, Rows.of([0] * len(lanes), lanes), np.array([up], np.int8))
    cells = {(q, lane): (lanes.index(lane), QUANTITIES.index(q)) for q, lane, _ in readings}
    return {key: None if np.isnan(kept[at]) else float(kept[at]) for key, at in cells.items() if not echoes[at]}


@given(st.integers(1, 65_535), st.integers(0, 6))
def test_watts_are_the_same_power_at_every_precision(raw: int, precision: int) -> None:
    """0.1 uW a bit, told as milliwatts with four decimals, or as any other scale of the same."""
    in_milliwatts = scaled(raw, MILLI - 4, "w")
    elsewhere = scaled(raw * 10**precision, UNITS - 7 - precision, "w")

    assert in_milliwatts == pytest.approx(10 * math.log10(raw / 10_000), abs=1e-9)
    assert in_milliwatts == pytest.approx(elsewhere, abs=1e-9)


@given(st.integers(-10_000, 10_000), st.sampled_from(["dbm", "v", "c"]), st.integers(-8, 9))
def test_scaling_is_a_shift_of_the_decimal_point(raw: int, unit: str, precision: int) -> None:
    assert scaled(raw, -precision, unit) == pytest.approx(raw * 10.0**-precision, rel=1e-12)


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-24, 24))
def test_amperes_are_a_thousand_milliamperes(raw: int, exponent: int) -> None:
    assert scaled(raw, exponent, "a") == pytest.approx(1_000 * scaled(raw, exponent, "v"), rel=1e-12)


def test_no_power_is_no_light_and_less_is_nothing() -> None:
    assert -math.inf == scaled(0, MILLI - 4, "w")
    assert math.isnan(scaled(-5, MILLI - 4, "w"))
    assert -40.0 == _judge(_of("rx_power_dbm", -math.inf))["rx_power_dbm", 1]
    assert _judge(_of("rx_power_dbm", math.nan))["rx_power_dbm", 1] is None


@given(
    st.sampled_from(["rx_power_dbm", "tx_power_dbm", "tx_bias_ma", "temperature_c", "voltage_v"]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([True, False, None]),
)
def test_what_is_kept_is_finite_plausible_and_at_least_the_floor(
    quantity: str, value: float, oper_up: bool | None
) -> None:
    kept = _judge(_of(quantity, value), oper_up=oper_up)[quantity, 1]

    assert kept is None or (math.isfinite(kept) and -50.0 <= kept <= 1_000.0)
    assert kept is None or quantity not in POWERS or -40.0 <= kept <= 15.0


@given(st.floats(-40.0, 8.0).filter(lambda dbm: dbm != 0.0), st.sampled_from([True, False, None]))
def test_an_honest_power_is_kept_as_it_is_whatever_the_port_does(dbm: float, oper_up: bool | None) -> None:
    assert dbm == _judge(_of("rx_power_dbm", dbm), oper_up=oper_up)["rx_power_dbm", 1]


@pytest.mark.parametrize(("oper_up", "expected"), [(True, 0.0), (False, -40.0), (None, None)])
def test_exactly_0_dbm_is_judged_by_the_port(oper_up: bool | None, expected: float | None) -> None:
    """field_faults.md, row 6."""
    readings = (_of("rx_power_dbm", 0.0), _of("tx_bias_ma", 6.0), _of("temperature_c", 30.0, 0))

    assert expected == _judge(*readings, oper_up=oper_up)["rx_power_dbm", 1]


def test_a_laser_without_current_does_not_shine_a_milliwatt() -> None:
    kept = _judge(_of("tx_power_dbm", 0.0), _of("tx_bias_ma", 0.0), _of("rx_power_dbm", -3.0))

    assert kept["tx_power_dbm", 1] is None
    assert 0.0 == kept["tx_bias_ma", 1]


def test_copper_that_says_0_to_everything_optical_is_not_measured() -> None:
    """field_faults.md, row 34: on a port that is up, all zeros of a lane are no readings."""
    kept = _judge(*(_of(q, 0.0) for q in (*POWERS, "tx_bias_ma")), _of("temperature_c", 31.0, 0))

    assert {None} == {kept[q, 1] for q in (*POWERS, "tx_bias_ma")}
    assert 31.0 == kept["temperature_c", 0]


def test_zero_degrees_is_missing_with_a_running_laser_and_cold_without() -> None:
    """field_faults.md, row 67."""
    running = _judge(_of("temperature_c", 0.0, 0), _of("tx_bias_ma", 6.0), _of("voltage_v", 3.3, 0))
    cold = _judge(_of("temperature_c", 0.0, 0), _of("tx_bias_ma", 0.0), _of("voltage_v", 3.3, 0))

    assert running["temperature_c", 0] is None
    assert 0.0 == cold["temperature_c", 0]


def test_zero_volts_is_missing() -> None:
    assert _judge(_of("voltage_v", 0.0, 0), _of("temperature_c", 30.0, 0))["voltage_v", 0] is None


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        ("tx_bias_ma", -3276.8),
        ("tx_bias_ma", 131.07),
        ("temperature_c", -3276.8),
        ("temperature_c", 128.0),
        ("voltage_v", -32.768),
        ("voltage_v", 6.5535),
        ("rx_power_dbm", 8.164733),
        ("rx_power_dbm", -3276.8),
        ("tx_power_dbm", 21.5),
    ],
)
def test_ends_of_registers_are_no_readings(quantity: str, value: float) -> None:
    assert _judge(_of(quantity, value))[quantity, 1] is None


def test_a_shut_laser_that_reports_one_bit_is_off() -> None:
    """field_faults.md, row 10: 2 uA are no running laser, so 0 C beside it is a cold module."""
    cold = _judge(_of("temperature_c", 0.0, 0), _of("tx_bias_ma", 0.002), _of("voltage_v", 3.3, 0))

    assert 0.0 == cold["temperature_c", 0]


def test_the_modules_0_does_not_hide_what_its_lanes_say() -> None:
    """field_faults.md, row 14."""
    kept = _judge(_of("rx_power_dbm", 0.0, 0), _of("rx_power_dbm", -2.0, 1), _of("rx_power_dbm", -3.0, 2))

    assert {("rx_power_dbm", 1), ("rx_power_dbm", 2)} == set(kept)


def test_a_limit_of_0_dbm_is_one_and_minus_infinity_is_none() -> None:
    """field_faults.md, rows 28 and 29."""
    limits = {"low_alarm": -math.inf, "low_warn": -10.0, "high_warn": -1.0, "high_alarm": 0.0}

    assert {"low_warn": -10.0, "high_warn": -1.0, "high_alarm": 0.0} == plausible_limits(limits, "rx_power_dbm")


@pytest.mark.parametrize(
    "values", [(-10.0, -8.0, -9.0, 2.0), (3.0, 2.0, 1.0, 0.0), (0.0, 0.0, 0.0, 0.0), (5.0, 5.0, 5.0, 5.0)]
)
def test_limits_that_contradict_each_other_are_none(values: tuple[float, ...]) -> None:
    """field_faults.md, rows 21 and 30."""
    assert {} == plausible_limits(dict(zip(LIMIT_NAMES, values, strict=True)), "rx_power_dbm")
