"""Media names, limits, bit error ratios and first passage."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import norm

from data_samples.media import COPPER, MEDIA, Media
from features.fleet import Fleet, is_copper
from features.physics import (
    Installations,
    Technology,
    fec_limit_log10,
    installation_table,
    log_ber_from_counter,
    passage_deviates,
    q_factor_db,
    speed_gbps,
    technology,
)

LASERS = {
    "vcsel": Technology.VCSEL,
    "dml": Technology.DML,
    "eml": Technology.EML_SIPH,
    "siph": Technology.EML_SIPH,
}
KR4, KP4 = np.log10(5e-5), np.log10(2.4e-4)


def _floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def _table(**columns: Any) -> Installations:
    ports = len(next(iter(columns.values())))
    modules = {"device": ["leaf01"] * ports, "interface": [f"Ethernet{i}" for i in range(ports)], **columns}
    return installation_table(Fleet.from_frames(modules=pl.DataFrame(modules)).modules)


# ---- media -----------------------------------------------------------------------------------


@pytest.mark.parametrize("media", MEDIA.values(), ids=lambda media: str(media.name))
def test_each_medium_of_the_generator_has_its_laser_and_its_speed(media: Media) -> None:
    assert LASERS[media.laser] == technology(media.name)
    assert media.speed_gbps == speed_gbps(media.name)


@pytest.mark.parametrize(
    "media", [*COPPER, "100GBASE-CU--SR4", "100GBASE-CU--CWDM4", "400G-DAC", "DAC-3M", "CU2M", "100G AEC", "10GBASE-T"]
)
def test_copper_is_copper_whatever_stands_beside_it(media: str) -> None:
    assert Technology.COPPER == technology(media)


@pytest.mark.parametrize(
    ("media", "expected"),
    [
        ("100GBASE-SR4", Technology.VCSEL),
        ("QSFP-100G-eSR4", Technology.VCSEL),
        ("400G-AOC-10M", Technology.VCSEL),
        ("100G-SWDM4", Technology.VCSEL),
        ("400GBASE-VR4", Technology.VCSEL),
        ("1000BASE-SX", Technology.VCSEL),
        ("SFP-10G-LR", Technology.DML),
        ("10GBASE-LRM", Technology.DML),
        ("QSFP-DD-400G-LR4", Technology.EML_SIPH),
        ("OSFP-2x400G-2xFR4", Technology.EML_SIPH),
        ("100G-PSM4", Technology.EML_SIPH),
        ("400ZR", Technology.EML_SIPH),
        ("OpenZR+", Technology.EML_SIPH),
        ("400GBASE-XDR4", Technology.EML_SIPH),
        ("ACCURATE-1", Technology.UNKNOWN),
        ("CISCO-CUSTOM", Technology.UNKNOWN),
        ("", Technology.UNKNOWN),
        (None, Technology.UNKNOWN),
    ],
)
def test_odd_media_names(media: str | None, expected: int) -> None:
    assert expected == technology(media)


@pytest.mark.parametrize("media", [*MEDIA, *COPPER, "100GBASE-CU--SR4", "DAC-3M", "CU2M", "10GBASE-T", "CISCO-CUSTOM"])
def test_features_and_labels_agree_on_what_is_copper(media: str) -> None:
    row = pl.DataFrame({"kind": [None], "media": [media]}, schema={"kind": pl.String, "media": pl.String})

    assert row.select(is_copper()).item() == (technology(media) == Technology.COPPER)


@pytest.mark.parametrize(
    ("media", "expected"),
    [("QSFP-DD-400G-DR4", 400), ("4x100G-FR", 400), ("1.6T-DR8", 1600), ("SFP56", None), ("C-band 193THz", None)],
)
def test_speeds_of_odd_media_names(media: str, expected: float | None) -> None:
    assert expected == speed_gbps(media)


# ---- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("media", "gbps", "mode", "expected"),
    [
        ("100GBASE-SR4", 100.0, None, KR4),
        ("100GBASE-SR4", None, None, KR4),
        ("400GBASE-DR4", None, None, KP4),
        ("100GBASE-DR", 100.0, None, KP4),
        ("100GBASE-SR4", 100.0, "RS-544", KP4),
        ("400GBASE-DR4", 400.0, "kr4", KR4),
        (None, None, None, KP4),
    ],
)
def test_the_fec_decides_where_frames_begin_to_be_lost(
    media: str | None, gbps: float | None, mode: str | None, expected: float
) -> None:
    assert expected == pytest.approx(fec_limit_log10(media, gbps, mode))


def test_the_last_row_of_the_table_is_the_unknown_module() -> None:
    table = _table(media=["400GBASE-SR8"], rx_power_low_warn_dbm=[-8.4])

    assert (Technology.VCSEL, Technology.UNKNOWN) == tuple(table.technology)
    assert -8.4 == pytest.approx(table.limits["rx_low"][0])
    assert np.isnan(table.limits["rx_low"][1])
    assert np.isnan(table.speed_gbps[1])


def test_a_limit_that_is_not_given_falls_back_to_the_alarm_and_then_to_the_medium() -> None:
    table = _table(media=["400GBASE-DR4", "400GBASE-DR4", "odd"], rx_power_low_alarm_dbm=[-9.9, None, None])

    np.testing.assert_allclose(table.limits["rx_low"], _floats(-9.9, -6.9, np.nan, np.nan), rtol=1e-6)


@pytest.mark.parametrize(
    "limits",
    [
        dict.fromkeys(("low_alarm", "low_warn", "high_warn", "high_alarm"), 0.0),
        {"low_alarm": -8.0, "low_warn": -9.0, "high_warn": 3.0, "high_alarm": 4.0},
        {"low_alarm": -9.0, "low_warn": -8.0, "high_warn": 5.0, "high_alarm": 4.0},
        {"low_warn": float("inf")},
    ],
    ids=["all equal", "low warning below its alarm", "high warning above its alarm", "infinite"],
)
def test_limits_that_no_module_can_have_are_not_given(limits: dict[str, float]) -> None:
    table = _table(media=["400GBASE-DR4"], **{f"rx_power_{name}_dbm": [value] for name, value in limits.items()})

    assert -6.9 == pytest.approx(table.limits["rx_low"][0])


def test_a_bias_limit_of_zero_is_none() -> None:
    assert np.isnan(_table(tx_bias_high_warn_ma=[0.0], tx_bias_high_alarm_ma=[0.0]).limits["bias_high"][0])


def test_a_speed_of_zero_is_read_from_the_medium() -> None:
    assert 400.0 == _table(media=["400GBASE-DR4"], speed_gbps=[0.0]).speed_gbps[0]


# ---- bit error ratios ------------------------------------------------------------------------


def test_one_corrected_codeword_is_one_bit_error() -> None:
    ber = log_ber_from_counter(_floats(36), _floats(3600), _floats(100))

    assert [-13.0] == pytest.approx(ber.tolist())


def test_an_hour_without_errors_reads_as_half_an_error() -> None:
    none, half = log_ber_from_counter(_floats(0, 0.5), _floats(3600, 3600), _floats(400, 400))

    assert half == none


def test_without_a_count_or_a_time_there_is_no_ratio() -> None:
    ber = log_ber_from_counter(_floats(np.nan, 5, 5), _floats(3600, 0, np.nan), _floats(100, 100, 100))

    assert np.isnan(ber).all()


def test_an_unknown_rate_is_taken_as_100g() -> None:
    ber = log_ber_from_counter(_floats(5, 5), _floats(3600, 3600), _floats(np.nan, 100))

    assert ber[1] == ber[0]


# ---- first passage ---------------------------------------------------------------------------


def _probability(*told: Any) -> Any:
    """Of a quantity being beyond its limit: the model's inputs are its normal deviates."""
    return ndtr(passage_deviates(*told))


def test_a_quantity_at_rest_on_its_limit_is_beyond_it_with_even_odds() -> None:
    assert [0.5] == _probability(_floats(0), _floats(0), _floats(0.1), _floats(0), 24).tolist()


def test_a_drift_that_reaches_the_limit_at_the_horizon_has_even_odds() -> None:
    assert [0.5] == pytest.approx(_probability(_floats(3), _floats(1), _floats(0.1), _floats(0.05), 72).tolist())


@given(st.floats(-5, 5), st.floats(-2, 2), st.floats(0.01, 1), st.floats(0, 1), st.sampled_from([6, 24, 72]))
@settings(deadline=None, max_examples=80)
def test_the_probability_is_that_of_the_extrapolated_level(
    margin: float, slope: float, sigma: float, slope_sigma: float, hours: int
) -> None:
    """Drawn in float64: level at the horizon, with the errors of level and slope as independent normals."""
    days = hours / 24
    expected = norm.sf(margin, loc=slope * days, scale=np.hypot(sigma, slope_sigma * days))

    found = _probability(_floats(margin), _floats(slope), _floats(sigma), _floats(slope_sigma), hours)

    assert expected == pytest.approx(float(found[0]), abs=1e-4)


def test_deviates_are_bounded_and_missing_stays_missing() -> None:
    deviates = passage_deviates(_floats(1e6, np.nan), _floats(0, 0), _floats(0.01, 0.01), _floats(0, 0), 24)

    assert -30.0 == deviates[0]
    assert np.isnan(deviates[1])


@pytest.mark.parametrize(("ber", "q"), [(1e-12, 7.0345), (2.4e-4, 3.4921), (1e-3, 3.0902)])
def test_a_bit_error_ratio_is_the_tail_of_the_q_factor(ber: float, q: float) -> None:
    found = q_factor_db(_floats(math.log10(ber)))

    assert 10 * math.log10(q) == pytest.approx(float(found[0]), abs=1e-3)


def test_q_is_bounded_where_there_are_no_errors_or_nothing_but_errors() -> None:
    assert np.isfinite(q_factor_db(np.array([-60.0, 0.0], np.float32))).all()
