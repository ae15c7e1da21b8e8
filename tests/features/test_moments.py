"""Windows merged of hours against plain NumPy over the samples themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from features.moments import WINDOW_STATS, hour_moments, window_features

Floats = NDArray[np.float64]

HOUR_US = 3_600_000_000
NAN = float("nan")
LENGTHS = np.array([1, 2, 6, 24])
MINUTES = st.lists(st.integers(0, 60 * 40 - 1), unique=True, max_size=60).map(sorted)
READINGS = st.floats(-30, 5, width=32) | st.just(NAN) | st.sampled_from([-40.0, 1e9, 1e-3])


def _features(
    series: list[tuple[list[int], list[float]]], hours: int, low: float = -39.5, high: float = 10.0
) -> NDArray[np.float32]:
    """Shape (series, hours, windows, 5) of series of minutes and readings."""
    bounds = np.cumsum([0, *(len(minutes) for minutes, _ in series)])
    time_us = np.array([m * 60_000_000 for minutes, _ in series for m in minutes], np.int64)
    values = np.array([x for _, readings in series for x in readings], np.float32)
    return window_features(hour_moments(bounds, time_us, values, 0, hours, low, high), LENGTHS)


def _expected(minutes: list[int], readings: list[float], end: int, length: int, high: float = 10.0) -> Floats:
    t, x = np.array(minutes, np.float64) / 60, np.array(readings, np.float32).astype(np.float64)
    mine = (t >= end - length) & (t < end) & (x >= -39.5) & (x <= high)
    t, x = t[mine], x[mine]
    if x.size == 0:
        return np.full(5, NAN)
    centred = t - t.mean()
    slope = 24 * (centred * (x - x.mean())).sum() / (centred**2).sum() if x.size > 1 else NAN
    return np.array([x.mean(), x.std(ddof=1) if x.size > 1 else NAN, x.min(), x.max(), slope])


@given(st.lists(MINUTES, min_size=1, max_size=3), st.data())
@settings(deadline=None, max_examples=60)
def test_windows_are_what_numpy_says_of_their_samples(minutes: list[list[int]], data: st.DataObject) -> None:
    """Gaps, hours without a sample, late starters, impossible values and windows cut by the first hour."""
    series = [(m, data.draw(st.lists(READINGS, min_size=len(m), max_size=len(m)))) for m in minutes]

    out = _features(series, 40)

    for s, (times, readings) in enumerate(series):
        for end in (1, 2, 7, 24, 25, 39, 40):
            for w, length in enumerate(LENGTHS):
                expected = _expected(times, readings, end, int(length))
                np.testing.assert_allclose(out[s, end - 1, w], expected, rtol=2e-5, atol=2e-5)


def test_the_small_noise_of_an_optical_frequency_is_kept() -> None:
    """Uncentred sums are wrong by a hundred percent here; float32 readings at 193 THz are steps of 16 MHz."""
    rng = np.random.default_rng(1)
    minutes = list(range(0, 1440, 5))
    readings = (193.1e12 + rng.normal(0, 5e7, len(minutes))).astype(np.float32).astype(float).tolist()

    out = _features([(minutes, readings)], 24, high=1e15)

    expected = _expected(minutes, readings, 24, 24, high=1e15)
    assert expected[1] == pytest.approx(float(out[0, 23, 3, 1]), rel=1e-6)
    assert expected[4] == pytest.approx(float(out[0, 23, 3, 4]), rel=1e-4)


def test_a_glitch_of_a_billion_leaves_no_trace_once_it_is_outside() -> None:
    minutes = list(range(0, 60 * 30, 5))
    rng = np.random.default_rng(2)
    readings = rng.normal(0, 1e-3, len(minutes)).astype(np.float32).astype(float).tolist()
    readings[3] = 1e9

    out = _features([(minutes, readings)], 30, high=1e12)

    np.testing.assert_allclose(out[0, 29, 3], _expected(minutes, readings, 30, 24, high=1e12), rtol=1e-5)
    assert out[0, 29, 3, 1] < 2e-3


def test_a_constant_has_no_deviation_and_no_slope() -> None:
    out = _features([(list(range(0, 600, 7)), [-2.5] * 86)], 10)

    assert dict.fromkeys(("mean", "min", "max"), -2.5) | {"std": 0.0, "slope": 0.0} == dict(
        zip(WINDOW_STATS, out[0, 9, 2].tolist(), strict=True)
    )


def test_a_sample_on_the_hour_belongs_to_the_hour_that_begins() -> None:
    out = _features([([0, 60], [-1.0, -3.0])], 2)

    assert [-1.0, -3.0] == out[0, :, 0, 0].tolist()


def test_no_series_and_no_hours_are_no_windows() -> None:
    none = np.empty(0, np.int64)

    assert (0, 5, 4, 5) == window_features(
        hour_moments(np.zeros(1, np.int64), none, none.astype(np.float32), 0, 5, 0, 1), LENGTHS
    ).shape
    assert (1, 0, 4, 5) == window_features(np.zeros((1, 0, 8)), LENGTHS).shape
