"""Values of features in words: each column has some, and they are in units that people use."""

import math

import pytest

from features.pipeline import FeaturePipeline
from features.told import told

COLUMNS = [name for name in FeaturePipeline().names if not name.startswith("peer_")]


@pytest.mark.parametrize("column", COLUMNS)
def test_each_column_is_told_with_what_it_measures(column: str) -> None:
    what, said = told(column, 0.5)

    assert what
    assert any(letter.isdigit() for letter in said)
    assert what != column


@pytest.mark.parametrize("value", [math.nan, None])
def test_what_is_missing_is_not_known_and_not_zero(value: float | None) -> None:
    assert "not known" == told("rx_min_shift_6h", value)[1]


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("rx_min_shift_6h", -2.13, "-2.1 dB"),
        ("bias_max_local_shift_6h", math.log(1.38), "+38.0 %"),
        ("ber_max_shift_24h", 2.0, "100-fold"),
        ("temp_max_local_shift_6h", 3.0, "+3 °C"),
        ("volt_dip_24h", -0.051, "-0.051 V"),
        ("rx_min_sigmas_6h", -12.34, "-12.3 standard deviations"),
        ("rx_min_slope_24h", -0.5, "-0.5 dB a day"),
        ("ber_scatter_24h", math.log(4.0), "4-fold"),
        ("rx_restless_24h", -1.0, "0.1 dB"),
        ("flaps_24h", math.log1p(11), "11"),
        ("uncorrected_168h", math.log1p(12_345), "12,345"),
        ("down_share_24h", 0.25, "25 %"),
        ("rx_spent_6h", 0.8, "80 %"),
        ("rx_closing_24h", -1.0, "10 %"),
        ("ber_margin_6h", 1.0, "10-fold"),
        ("lot_excess", 2.0, "4-fold"),
        ("since_touch_h", 30.0, "30 h"),
        ("flaps_both_24h", math.log1p(3), "3"),
    ],
)
def test_a_value_is_turned_back_from_the_scale_of_the_model(column: str, value: float, said: str) -> None:
    assert said == told(column, value)[1]


def test_a_column_that_is_none_is_an_error() -> None:
    with pytest.raises(KeyError):
        told("rx_min_shift_7h", 1.0)
