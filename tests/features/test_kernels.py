"""The kernels against plain NumPy in float64: tiles, windows, baselines, counters, lanes and devices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from features.baseline_kernels import baselines, day_centres
from features.counter_kernels import elapsed, growth, tile_counter
from features.kernels import ages, lines, long_sums, medians, of_lanes, recently, windows
from features.tile_kernels import COLLECTED, FOUND, IMPORTED, STATS, hour_bounds, latest, log10_from, tile_gauge

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
KINDS = {"mean": 0, "min": 1, "max": 2, "sum": 3, "last": 4}
NAN = float("nan")

READINGS = st.one_of(st.just(NAN), st.floats(-30, 5, width=32), st.sampled_from([-40.0, 1e9, 193e12, 1e-3]))
SERIES = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 3), st.integers(1, 60)), elements=st.floats(-20, 20, width=32) | st.just(NAN)
)


def _gauge(bounds: Ints, values: Floats, marks: NDArray[np.int8], *limits: Any) -> Floats:
    """Shape (tiles, 7): what is found of a gauge, whose limits are low, high, jump, step, upward."""
    found = np.full((len(FOUND), bounds.size - 1), -1.0, np.float32)
    tile_gauge(found, bounds, values, marks, *limits)
    return found.T


def _tile(
    values: list[float], *, high: float = 10.0, jump: float = 15.0, marks: list[int] | None = None, upward: int = 0
) -> dict[str, float]:
    """The one tile of an hour's readings of one gauge, received power unless told otherwise."""
    marked = np.array([0] * len(values) if marks is None else marks, np.int8)
    out = _gauge(np.array([0, len(values)]), np.array(values, np.float32), marked, -39.5, high, jump, 3.0, upward)
    return dict(zip(FOUND, out[0].tolist(), strict=True))


def _grown(values: list[float]) -> list[float]:
    """first, last, growth and largest step of an hour's readings of one counter."""
    grown: list[float] = tile_counter(np.array([0, len(values)]), np.array(values))[0].tolist()
    return grown


# ---- ages -------------------------------------------------------------------------------------


@given(SERIES, st.floats(-20, 20, width=32), st.floats(0, 1, width=32), st.integers(1, 80))
@settings(deadline=None, max_examples=60)
def test_an_age_is_the_hours_since_the_newest_value_not_above_the_share(
    gone: Floats, base: float, share: float, most: int
) -> None:
    at = np.arange(gone.shape[1] + 3, dtype=np.int64)
    now = np.stack([np.full((gone.shape[0], at.size), base), np.full((gone.shape[0], at.size), 2.0)]).astype(np.float32)
    now[1, 0, 0] = NAN

    found = ages(gone, at, now, share, most)

    level = now[0] + share * now[1]
    for s, k in np.ndindex(found.shape):
        hours = np.arange(max(int(at[k]) - most, 0), min(int(at[k]), gone.shape[1]))
        below = hours[gone[s, hours] <= level[s, k]]
        expected = at[k] - 1 - below[-1] if below.size else most
        assert (np.isnan(level[s, k]) and np.isnan(found[s, k])) or expected == found[s, k]


# ---- tiles of gauges -------------------------------------------------------------------------


@given(st.lists(st.lists(READINGS, min_size=1, max_size=9), min_size=1, max_size=6))
@settings(deadline=None, max_examples=60)
def test_a_tile_is_what_numpy_says_of_the_readings_that_mean_something(hours: list[list[float]]) -> None:
    """Without the jump rule: gaps, hours without a reading, states and impossible values."""
    bounds = np.cumsum([0, *(len(hour) for hour in hours)])
    values = np.array([x for hour in hours for x in hour], np.float32)

    out = _gauge(bounds, values, np.zeros(values.size, np.int8), -39.5, 10.0, np.inf, np.inf, 0)

    for hour, tile in zip(hours, out, strict=True):
        assert sum(x < -39.5 for x in hour) == tile[len(STATS)]
        seen = np.array([x for x in hour if -39.5 <= x <= 10.0], np.float32).astype(np.float64)
        assert seen.size == tile[0]
        if seen.size == 0:
            assert np.isnan(tile[1 : len(STATS)]).all()
            continue
        expected = [seen.mean(), ((seen - seen.mean()) ** 2).sum(), seen.min(), seen.max(), seen[-1]]
        np.testing.assert_allclose(tile[1 : len(STATS)], expected, rtol=2e-6, atol=1e-5)


def test_huge_levels_keep_their_small_noise() -> None:
    """An optical frequency: float64 inside, so m2 is exact to what float32 readings can show."""
    values = np.array([193.1e12, 193.1e12 + 5e7, 193.1e12 - 5e7, 193.1e12 + 2e7], np.float32).astype(np.float64)

    tile = _tile(values.tolist(), high=1e15, jump=np.inf)

    assert np.float32(values.mean()) == tile["mean"]
    assert ((values - values.mean()) ** 2).sum() == pytest.approx(tile["m2"], rel=1e-6)


def test_noise_of_a_thousandth_survives_a_glitch_of_a_billion() -> None:
    noise = [0.001, -0.002, 0.0015, 0.0005]

    tile = _tile([*noise[:2], 1e9, *noise[2:]], high=1e12, jump=15.0)

    assert 4 == tile["n"]
    assert np.mean(noise) == pytest.approx(tile["mean"], abs=1e-9)
    assert np.var(noise) * 4 == pytest.approx(tile["m2"], rel=1e-5)


@pytest.mark.parametrize("place", range(5))
def test_a_glitch_is_left_out_wherever_it_stands(place: int) -> None:
    values = [-2.0, -2.1, -2.0, -2.1]
    values.insert(place, -25.0)

    tile = _tile(values)

    assert 4 == tile["n"]
    assert -2.1 == pytest.approx(tile["min"])


def test_a_step_is_no_glitch() -> None:
    assert 6 == _tile([-2.0, -2.0, -2.0, -25.0, -25.0, -25.0])["n"]


def test_two_readings_do_not_tell_which_one_is_the_glitch() -> None:
    assert 2 == _tile([-2.0, -25.0])["n"]


def test_no_light_is_a_state_and_no_level() -> None:
    tile = _tile([-40.0, -3.0, -40.0, -3.5])

    assert (2, -3.5) == (tile["n"], tile["min"])


HOUR = 10
"""Of the times below."""


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 35)), unique=True, min_size=1, max_size=40),
    st.lists(st.integers(0, 39), max_size=4),
)
@settings(deadline=None, max_examples=60)
def test_hours_begin_where_the_series_or_the_hour_is_another(rows: list[tuple[int, int]], cuts: list[int]) -> None:
    """Also where the rows of a series come in several runs."""
    rows = sorted(rows)
    begins = [i for i, row in enumerate(rows) if i == 0 or row[0] != rows[i - 1][0] or i in cuts]
    series = np.array([rows[i][0] for i in begins], np.int64)

    bounds, owner = hour_bounds(np.array([*begins, len(rows)]), series, np.array([time for _, time in rows]), HOUR)

    hours = [(number, time // HOUR) for number, time in rows]
    expected = [i for i, hour in enumerate(hours) if i == 0 or hour != hours[i - 1]]
    assert [*expected, len(rows)] == bounds.tolist()
    assert [rows[i][0] for i in expected] == owner.tolist()


@pytest.mark.parametrize("times", [[3, 2, 0, 1], [3, 3, 0, 1], [0, 3, 3, 3]], ids=["back", "twice", "twice later"])
def test_samples_that_are_not_in_order_have_no_hours(times: list[int]) -> None:
    bounds, owner = hour_bounds(np.array([0, 2, 4]), np.array([0, 1]), np.array(times), HOUR)

    assert (0, 0) == (bounds.size, owner.size)


@pytest.mark.parametrize(("series", "times"), [([1, 0], [0, 1, 0, 1]), ([0, 0], [0, 5, 5, 6]), ([0, 0], [0, 5, 4, 6])])
def test_series_that_come_back_are_not_in_order(series: list[int], times: list[int]) -> None:
    bounds, _ = hour_bounds(np.array([0, 2, 4]), np.array(series), np.array(times), HOUR)

    assert 0 == bounds.size


def test_the_latest_of_each_tile() -> None:
    assert [7, -1, 5] == latest(np.array([0, 2, 3, 6]), np.array([3, 7, -1, 5, 5, 2])).tolist()


@given(st.lists(st.floats(0, 1, width=64) | st.sampled_from([0.0, -1.0, NAN, 1e-30, np.inf]), max_size=20))
def test_logarithms_are_those_of_numpy_from_the_floor(values: list[float]) -> None:
    x = np.array(values, np.float64)
    out = np.empty(x.size, np.float32)

    log10_from(x, 1e-18, out)

    with np.errstate(invalid="ignore"):
        expected = np.where(x >= 0, np.log10(np.maximum(x, 1e-18)), NAN)
    np.testing.assert_allclose(out, expected.astype(np.float32), rtol=1e-6)


def test_no_samples_make_no_tiles() -> None:
    none, nothing = np.zeros(1, np.int64), np.empty(0, np.float32)

    assert (0, 7) == _gauge(none, nothing, np.empty(0, np.int8), 0.0, 0.0, 0.0, 0.0, 0).shape
    assert (0, 4) == tile_counter(none, nothing.astype(np.float64)).shape


def test_an_hour_in_which_nothing_was_read_has_no_level_and_takes_none_from_its_neighbours() -> None:
    values = np.array([-2.0, NAN, NAN, -3.0], np.float32)

    out = _gauge(np.array([0, 1, 3, 4]), values, np.zeros(4, np.int8), -39.5, 10.0, 15.0, 3.0, 0)

    assert [1.0, 0.0, 1.0] == out[:, 0].tolist()
    assert np.isnan(out[1, 1 : len(STATS)]).all()


# ---- rows that are marked as glitches ----------------------------------------------------------


@pytest.mark.parametrize("place", range(5))
def test_the_value_that_a_mark_is_about_is_left_out_wherever_it_stands(place: int) -> None:
    """Four decibels are no glitch by themselves; a collector that saw both neighbours says that this one is."""
    values, marks = [-2.0, -2.1, -2.0, -2.1], [0, 0, 0, 0]
    values.insert(place, 2.0)
    marks.insert(place, COLLECTED)

    assert (5, 4) == (_tile(values)["n"], _tile(values, marks=marks)["n"])
    assert -2.0 == _tile(values, marks=marks)["max"]


@pytest.mark.parametrize("mark", [IMPORTED, COLLECTED])
def test_the_other_values_of_a_marked_row_stay(mark: int) -> None:
    assert 5 == _tile([-2.0, -2.1, -2.05, -2.1, -2.0], marks=[0, 0, mark, 0, 0])["n"]


def test_light_that_goes_away_for_one_marked_sample_stays_for_links_do_flap() -> None:
    values, marks = [-2.0, -2.0, -8.0, -2.0], [0, 0, COLLECTED, 0]

    assert (4, 3) == tuple(_tile(values, marks=marks, upward=upward)["n"] for upward in (1, 0))


def test_a_marked_row_between_two_levels_is_judged_by_both() -> None:
    assert 4 == _tile([-8.0, -5.0, -2.0, -2.0], marks=[0, COLLECTED, 0, 0])["n"]


def test_marked_rows_do_not_vouch_for_each_other() -> None:
    values, marks = [-2.0, 2.0, 2.1, -2.1, -2.0], [0, COLLECTED, COLLECTED, 0, 0]

    assert (3, -2.0) == tuple(_tile(values, marks=marks)[stat] for stat in ("n", "max"))


def test_a_marked_row_with_nobody_beside_it_is_believed_of_an_import_only() -> None:
    """The import took the wrong value out; what the collector's mark is about is in there somewhere."""
    assert (1, 0) == tuple(_tile([2.0], marks=[mark])["n"] for mark in (IMPORTED, COLLECTED))


def test_a_marked_row_is_judged_by_one_neighbour_where_there_is_no_other() -> None:
    assert (1, 2) == tuple(_tile([-2.0, last], marks=[0, COLLECTED])["n"] for last in (2.0, -2.2))


@given(st.lists(st.tuples(READINGS, st.sampled_from([0, 0, 0, IMPORTED, COLLECTED])), min_size=1, max_size=9))
@settings(deadline=None, max_examples=120)
def test_marked_rows_are_settled_as_plain_python_would(readings: list[tuple[float, int]]) -> None:
    """The oracle: neighbours looked up in lists."""
    seen = [(float(np.float32(x)), mark) for x, mark in readings if -39.5 <= np.float32(x) <= 10.0]
    kept = [x for i, (x, mark) in enumerate(seen) if mark == 0 or not _wrong(seen, i)]
    values, marks = [x for x, _ in readings], [mark for _, mark in readings]

    tile = _tile(values, marks=marks, jump=np.inf)

    assert len(kept) == tile["n"]
    if kept:
        np.testing.assert_allclose(
            [tile["mean"], tile["min"], tile["max"], tile["last"]],
            np.array([np.mean(kept), min(kept), max(kept), kept[-1]], np.float32),
            rtol=1e-6,
            atol=1e-6,
        )


def _wrong(seen: list[tuple[float, int]], i: int) -> bool:
    before = [x for x, mark in reversed(seen[:i]) if mark == 0][:2]
    after = [x for x, mark in seen[i + 1 :] if mark == 0][:2]
    beside = before[:1] + after[:1] if before and after else before or after
    if not beside:
        return seen[i][1] == COLLECTED
    return seen[i][0] > max(beside) + 3.0 or seen[i][0] < min(beside) - 3.0


# ---- counters --------------------------------------------------------------------------------


def test_a_counter_grows_by_the_sum_of_its_steps() -> None:
    assert [10.0, 25.0, 15.0, 9.0] == _grown([10, 12, NAN, 16, 25])


def test_the_first_increment_of_a_counter_from_0_is_one() -> None:
    """UFM's own monitor takes a 0 for "not known" and misses the first errors of a link (field_faults.md, row 65)."""
    assert [0.0, 7.0, 7.0, 7.0] == _grown([0, 0, 7])


def test_a_reset_counts_what_stands_after_it() -> None:
    assert [100.0, 9.0, 109.0 - 100.0 + 0.0, 7.0] == _grown([100, 7, 9])


def test_a_counter_at_the_edge_of_32_bits_wraps_without_a_huge_step() -> None:
    assert 5.0 == _grown([2**32 - 2, 5])[3]


@pytest.mark.parametrize("width", [2**32, 2**64])
def test_a_counter_that_runs_on_past_its_end_has_wrapped(width: int) -> None:
    """Of 64 bits only what float64 can hold: steps of millions."""
    step = 2**20 if width == 2**32 else 2**40
    readings = [float((width - 2 * step + i * step - step // 2) % width) for i in range(5)]

    assert [4.0 * step, step] == _grown(readings)[2:]


def test_a_counter_reset_near_its_end_has_not_wrapped() -> None:
    """It grew by ten a poll, and a wrap would take two hundred million."""
    assert [20.0, 10.0] == _grown([4.1e9, 4.1e9 + 10, 0.0, 10.0])[2:]


def test_a_wrap_between_two_hours_is_told_by_how_the_counter_grew_in_them() -> None:
    first, last = np.array([[2.0**32 - 5000, 500.0]]), np.array([[2.0**32 - 500, 3500.0]])
    within = np.array([[4500.0, 3000.0]])

    assert [[4500.0, 4000.0]] == growth(first, last, within, 48).tolist()
    assert [[0.0, 500.0]] == growth(first, last, np.zeros((1, 2)), 48).tolist()


def test_a_count_below_zero_is_no_reading() -> None:
    assert [5.0, 9.0, 4.0, 4.0] == _grown([5, -1, 9])


def test_a_counter_never_read_has_no_growth() -> None:
    assert np.isnan(_grown([NAN, NAN])).all()


@given(st.lists(st.integers(0, 2**31 - 1) | st.none(), min_size=1, max_size=20))
@settings(deadline=None, max_examples=60)
def test_growth_of_pieces_and_the_steps_between_them_is_growth_of_the_whole(readings: list[int | None]) -> None:
    """Of counters that may be reset but are too far from their end to wrap."""
    values = [NAN if x is None else float(x) for x in readings]
    whole = _grown(values)
    parts = [_grown(values[i : i + 3]) for i in range(0, len(values), 3)]
    first, last, within = (np.array([[part[k] for part in parts]]) for k in range(3))

    hourly = growth(first, last, within, 48)

    if np.isnan(whole[2]):
        assert np.isnan(hourly).all()
    else:
        assert whole[2] == pytest.approx(float(np.nansum(hourly.astype(np.float64))), rel=1e-6)


def test_small_steps_of_a_huge_counter_are_exact() -> None:
    """float32 would lose them: it knows a counter at 1e13 to a million only."""
    first, last = np.array([[1e13, 1e13 + 5]]), np.array([[1e13 + 2, 1e13 + 9]])

    assert [[2.0, 7.0]] == growth(first, last, last - first, 48).tolist()


def test_the_step_across_a_gap_counts_up_to_the_carry() -> None:
    row = np.full((1, 60), NAN)
    row[0, 0], row[0, 48], row[0, 59] = 100.0, 130.0, 131.0
    later = row.copy()
    later[0, 48] = NAN

    assert 30.0 == growth(row, row, np.zeros_like(row), 48)[0, 48]
    assert 0.0 == growth(later, later, np.zeros_like(row), 48)[0, 59]


def test_seconds_are_counted_between_newest_readings() -> None:
    last_s = np.array([[2700.0, NAN, 900.0, 2700.0]], np.float32)

    seconds = elapsed(last_s, 2)

    assert [2 * 3600 - 1800.0, 3600 + 1800.0] == seconds[0, 2:].tolist()
    assert np.isnan(seconds[0, :2]).all()


@given(st.integers(0, 5000), st.lists(st.integers(0, 3_599_999), min_size=3, max_size=3))
@settings(deadline=None, max_examples=40)
def test_seconds_do_not_depend_on_where_the_array_begins(hours_before: int, last_ms: list[int]) -> None:
    near = (np.array([last_ms]) / 1000.0).astype(np.float32)
    far = np.concatenate([np.full((1, hours_before), np.nan, np.float32), near], axis=1)

    assert np.array_equal(elapsed(near, 48), elapsed(far, 48)[:, hours_before:], equal_nan=True)


# ---- windows ---------------------------------------------------------------------------------


def _window(x: Floats, at: int, hours: int) -> NDArray[np.float64]:
    piece = x[max(at - hours, 0) : max(at, 0)].astype(np.float64)
    seen: NDArray[np.float64] = piece[~np.isnan(piece)]
    return seen


@given(SERIES, st.integers(1, 24), st.lists(st.integers(0, 70), min_size=1, max_size=5))
@settings(deadline=None, max_examples=80)
def test_windows_are_what_numpy_says(x: Floats, hours: int, at: list[int]) -> None:
    plain: dict[str, Callable[[NDArray[np.float64]], float]] = {
        "mean": np.mean,
        "min": np.min,
        "max": np.max,
        "sum": np.sum,
        "last": lambda seen: float(seen[-1]),
    }
    for kind, number in KINDS.items():
        out = windows(x, np.array(at, np.int64), hours, number)
        for s in range(x.shape[0]):
            for k, time in enumerate(at):
                seen = _window(x[s], time, hours)
                expected = plain[kind](seen) if seen.size else NAN
                np.testing.assert_allclose(out[s, k], expected, rtol=1e-6, atol=1e-6, err_msg=kind)


@given(SERIES, st.integers(1, 24), st.lists(st.integers(0, 60), min_size=1, max_size=5))
@settings(deadline=None, max_examples=80)
def test_lines_are_the_least_squares_fit(x: Floats, hours: int, at: list[int]) -> None:
    slope, scatter = lines(x, np.array(at, np.int64), hours)
    for s in range(x.shape[0]):
        for k, time in enumerate(at):
            t = np.arange(max(time - hours, 0), min(time, x.shape[1]))
            y = x[s, t].astype(np.float64)
            t, y = t[~np.isnan(y)], y[~np.isnan(y)]
            if 2 * y.size < hours or y.size < 3:
                assert np.isnan([slope[s, k], scatter[s, k]]).all()
                continue
            fit = np.polyfit(t - t.mean(), y, 1)
            residual = y - np.polyval(fit, t - t.mean())
            np.testing.assert_allclose(slope[s, k], 24 * fit[0], rtol=1e-5, atol=1e-4)
            np.testing.assert_allclose(scatter[s, k], np.sqrt((residual**2).sum() / (y.size - 2)), rtol=1e-5, atol=1e-4)


@given(SERIES, st.integers(0, 59), st.integers(1, 24))
@settings(deadline=None, max_examples=60)
def test_a_window_reads_nothing_at_or_after_its_time(x: Floats, at: int, hours: int) -> None:
    future = x.copy()
    future[:, at:] = 1e9
    times = np.array([at], np.int64)

    for kind in KINDS.values():
        assert np.array_equal(windows(x, times, hours, kind), windows(future, times, hours, kind), equal_nan=True)
    assert np.array_equal(lines(x, times, hours), lines(future, times, hours), equal_nan=True)


def test_a_glitch_before_the_window_leaves_no_trace() -> None:
    rng = np.random.default_rng(1)
    clean = (1e-3 * rng.standard_normal((1, 200))).astype(np.float32)
    dirty = clean.copy()
    dirty[0, 10] = 1e9
    at = np.arange(35, 200)

    for kind in KINDS.values():
        assert np.array_equal(windows(clean, at, 24, kind), windows(dirty, at, 24, kind))
    assert np.array_equal(lines(clean, at, 24), lines(dirty, at, 24))


@given(SERIES, st.integers(1, 24), st.integers(0, 30))
@settings(deadline=None, max_examples=40)
def test_a_window_is_bit_equal_alone_among_many_and_in_a_longer_array(x: Floats, hours: int, before: int) -> None:
    at = np.arange(hours, x.shape[1] + 1)
    longer = np.concatenate([np.ones((x.shape[0], before), np.float32), x], axis=1)
    for kind in KINDS.values():
        many = windows(x, at, hours, kind)
        for k, time in enumerate(at):
            alone = windows(longer, np.array([time + before]), hours, kind)
            assert np.array_equal(many[:, [k]], alone, equal_nan=True)


# ---- baselines -------------------------------------------------------------------------------


RULE = np.array([24, 3, 12, 48])
"""A day left out, three days of at least twelve hours, two days of hours."""


def _days(x: Floats) -> Floats:
    return np.stack([day_centres(x[:, 24 * d : 24 * d + 24].copy()) for d in range(x.shape[1] // 24)], axis=2)


def _baselines(x: Floats, at: Ints, epoch: Ints) -> Floats:
    """Of a series that began with day 100; times and touches are hours of it."""
    every = np.arange(x.shape[0])
    since = np.broadcast_to(epoch + 2400, (x.shape[0], at.size)).copy()
    return baselines(_days(x), 100, x, 2400, at + 2400, since, every, RULE)


def _centre(seen: Floats) -> list[float]:
    wide = seen.astype(np.float64)
    median = float(np.median(wide))
    return [median, 1.4826 * float(np.median(np.abs(wide - median)))]


LONG = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 2), st.just(168)),
    elements=st.sampled_from([NAN, -2.0, -2.1, -2.25, 0.0, -0.0, 1e9]) | st.floats(-5, 5, width=32),
)


def _expected(row: Floats, time: int, since: int) -> list[float]:
    """Of the whole days that count their middle and scatter, or of the first hours."""
    begin, end = max((time - 24) // 24 - 3, -(-since // 24), 0), (time - 24) // 24
    seen = [day[~np.isnan(day)] for day in (row[24 * d : 24 * d + 24] for d in range(begin, end))]
    if days := [_centre(day) for day in seen if day.size >= 12]:
        centre, between = _centre(np.array([np.float32(middle) for middle, _ in days]))
        return [centre, float(np.hypot(between, np.median([np.float32(scatter) for _, scatter in days])))]
    young = row[max(since, (time - 48) // 24 * 24, 0) : max(time // 12 * 12 - 3, 0)]
    first = young[~np.isnan(young)][:12]
    return _centre(first) if first.size >= 3 else [NAN, NAN]


@given(LONG, st.lists(st.integers(0, 180), min_size=1, max_size=8), st.integers(0, 180))
@settings(deadline=None, max_examples=80)
def test_a_baseline_is_of_the_whole_days_since_the_last_touch_or_of_the_first_hours(
    x: Floats, times: list[int], touch: int
) -> None:
    at = np.sort(np.array(times, np.int64))
    epoch = np.where(at >= touch, touch, -(1 << 30))

    out = _baselines(x, at, epoch)

    for s in range(x.shape[0]):
        for k, time in enumerate(at):
            np.testing.assert_allclose(out[:, s, k], _expected(x[s], int(time), int(epoch[k])), rtol=1e-5, atol=1e-5)


@given(LONG, st.integers(0, 168))
@settings(deadline=None, max_examples=40)
def test_a_baseline_is_bit_equal_alone_and_among_many(x: Floats, touch: int) -> None:
    at = np.arange(0, 169, 5)
    epoch = np.where(at >= touch, touch, 0)

    many = _baselines(x, at, epoch)

    for k in range(at.size):
        alone = _baselines(x, at[[k]], epoch[[k]])
        assert many[:, :, [k]].tobytes() == alone.tobytes()


def test_the_newest_day_is_no_part_of_a_baseline() -> None:
    x = np.zeros((1, 120), np.float32)
    x[0, 48:] = 7.0

    assert [[[0.0]], [[0.0]]] == _baselines(x, np.array([95]), np.array([0])).tolist()


def test_a_young_installation_stands_where_its_first_hours_stood() -> None:
    """Installed in hour 50: at 60 its first seven hours serve, at 72 its first twelve, whatever came before."""
    x = np.full((1, 100), 9.0, np.float32)
    x[0, 50:] = np.arange(50)

    median = _baselines(x, np.array([52, 60, 72]), np.array([50, 50, 50]))[0, 0]

    assert np.isnan(median[0])
    assert [3.0, 5.5] == median[1:].tolist()


@given(LONG, st.lists(st.integers(0, 180), min_size=1, max_size=5), st.integers(73, 120))
@settings(deadline=None, max_examples=60)
def test_a_long_sum_is_of_days_and_hours_from_a_midnight_on(x: Floats, times: list[int], hours: int) -> None:
    at = np.sort(np.array(times, np.int64))
    days = x.reshape(x.shape[0], 7, 24)
    whole = np.where(np.isnan(days).all(axis=2), NAN, np.nansum(days, axis=2, dtype=np.float64))

    out = long_sums(whole, 100, x, 2400, at + 2400, hours, 72)

    for s in range(x.shape[0]):
        for k, time in enumerate(at):
            seen = x[s, max((int(time) - hours) // 24 * 24, 0) : int(time)]
            expected = np.nansum(seen, dtype=np.float64) if (~np.isnan(seen)).any() else NAN
            np.testing.assert_allclose(out[s, k], expected, rtol=1e-5, atol=1e-4)


def test_what_was_so_a_week_ago_was_so_recently_whether_days_or_hours_tell_it() -> None:
    days, hours = np.zeros((2, 9), np.bool_), np.zeros((2, 48), np.bool_)
    days[0, 2] = hours[1, 5] = True

    out = recently(hours, 2400, days, 93, 7)

    assert [False, False] == [out[1, 4], days[1].any()]
    assert out[1, 5:].all()
    assert out[0, :48].tolist() == [True] * 48
    assert not recently(hours, 2400 + 72, days, 93, 7)[0, 24:].any()


# ---- lanes and devices -----------------------------------------------------------------------


@given(SERIES, st.data())
@settings(deadline=None, max_examples=60)
def test_lanes_become_their_ports_least_greatest_and_mean(x: Floats, data: st.DataObject) -> None:
    owner = np.sort(np.array(data.draw(st.lists(st.integers(0, 3), min_size=x.shape[0], max_size=x.shape[0]))))

    for kind, plain in ((0, np.mean), (1, np.min), (2, np.max)):
        out = of_lanes(x, owner, 4, kind)
        for p in range(4):
            for k in range(x.shape[1]):
                lanes = x[owner == p, k].astype(np.float64)
                seen = lanes[~np.isnan(lanes)]
                np.testing.assert_allclose(out[p, k], plain(seen) if seen.size else NAN, rtol=1e-6, atol=1e-6)


@given(arrays.arrays(np.float32, (9, 4), elements=st.floats(-9, 9, width=32) | st.just(NAN)))
@settings(deadline=None, max_examples=60)
def test_a_devices_common_mode_is_the_median_of_those_who_speak(x: Floats) -> None:
    group = np.array([0, 0, 0, 0, 0, 0, 2, 2, 2])

    out = medians(x, group, 4)

    assert not out[6:].any()
    for k in range(4):
        seen = x[:6, k][~np.isnan(x[:6, k])]
        assert np.unique(out[:6, k]).size == 1
        np.testing.assert_allclose(out[0, k], np.median(seen.astype(np.float64)) if seen.size >= 4 else 0.0, rtol=1e-6)


def test_silent_rows_change_no_median() -> None:
    x = np.array([[1.0], [2.0], [4.0], [8.0]], np.float32)
    more = np.concatenate([x, np.full((3, 1), np.nan, np.float32)])

    assert 3.0 == medians(x, np.zeros(4, np.int64), 4)[0, 0] == medians(more, np.zeros(7, np.int64), 4)[0, 0]
