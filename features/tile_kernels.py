"""Numba kernel that makes tiles of samples: plain loops over sorted arrays, float64 inside. Missing is NaN."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["COLLECTED", "IMPORTED", "STATS", "any_late", "hour_bounds", "tile_gauge"]

STATS = ("n", "mean", "m2", "min", "max", "last")
"""What a tile keeps of a gauge: count, mean, sum of squared deviations, extremes, newest value."""

IMPORTED, COLLECTED = 1, 2
"""A row marked as a glitch: by an import, which took the wrong value out of it, or by a collector, which left it in."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Float32s = NDArray[np.float32]
Marks = NDArray[np.int8]
Flags = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def any_late(time: Ints, received: Ints, hour: int) -> bool:
    """Whether some sample was received after the end of its hour; times in the unit of `hour`."""
    late = False
    for i in range(time.shape[0]):
        late |= received[i] > time[i] and received[i] > (time[i] // hour + 1) * hour
    return late


@njit(cache=True, nogil=True)
def hour_bounds(series: Ints, time: Ints, hour: int) -> Ints:
    """Where the hours of series begin, and where the last one ends; empty where the samples are not in strict order.

    Args:
        series: shape (n,), number of each sample's series.
        time: shape (n,), in the unit of `hour`.
        hour: its length.
    """
    n = series.shape[0]
    bounds = np.empty(n + 1, np.int64)
    count, end = 0, 0
    for i in range(n):
        if i and (series[i] < series[i - 1] or (series[i] == series[i - 1] and time[i] <= time[i - 1])):
            return bounds[:0]
        if i == 0 or series[i] != series[i - 1] or time[i] >= end:
            bounds[count] = i
            count += 1
            end = (time[i] // hour + 1) * hour
    bounds[count] = n
    return bounds[: count + 1].copy()


@njit(cache=True, nogil=True)
def _is_isolated(values: Floats, i: int, n: int, jump: float) -> bool:
    """Whether value `i` of `n` stands alone: its two nearest neighbours agree and it is `jump` away from both."""
    if n < 3:
        return False
    if i == 0:
        a, b = values[1], values[2]
    elif i == n - 1:
        a, b = values[n - 3], values[n - 2]
    else:
        a, b = values[i - 1], values[i + 1]
    return bool(abs(a - b) <= 0.5 * jump and abs(values[i] - a) > jump and abs(values[i] - b) > jump)


@njit(cache=True, nogil=True)
def _unmarked(marks: Marks, n: int, i: int, sign: int, skip: int) -> int:
    """Place of the nearest unmarked value before (-1) or after (+1) `i`, `skip` of them passed over; -1 if none."""
    j = i + sign
    while 0 <= j < n:
        if marks[j] == 0:
            if skip == 0:
                return j
            skip -= 1
        j += sign
    return -1


@njit(cache=True, nogil=True)
def _is_marked_glitch(values: Floats, marks: Marks, n: int, i: int, step: float, upward: int) -> bool:
    """Whether the mark of row `i` is about this value: it lies `step` beyond its nearest unmarked neighbours.

    Where one side has none, two of the other side serve. Where the hour has none at all, a row that was collected is
    not believed, and one that was imported is.
    """
    a, b = _unmarked(marks, n, i, -1, 0), _unmarked(marks, n, i, 1, 0)
    if a < 0 and b < 0:
        return bool(marks[i] == COLLECTED)
    if a < 0:
        a = _unmarked(marks, n, i, 1, 1)
    elif b < 0:
        b = _unmarked(marks, n, i, -1, 1)
    a, b = max(a, b), (min(a, b) if min(a, b) >= 0 else max(a, b))
    above = values[i] - max(values[a], values[b])
    below = min(values[a], values[b]) - values[i]
    return bool(above > step or (below > step and upward == 0))


@njit(cache=True, nogil=True)
def _taken_out(values: Floats, wrong: Flags, n: int) -> int:
    """Moves the values that are not wrong to the front, in order; how many they are."""
    kept = 0
    for i in range(n):
        if not wrong[i]:
            values[kept] = values[i]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _settle(values: Floats, marks: Marks, n: int, step: float, upward: int) -> int:
    """Takes the glitches out of marked rows; how many values are left, in order at the front."""
    wrong = np.zeros(n, np.bool_)
    for i in range(n):
        wrong[i] = marks[i] != 0 and _is_marked_glitch(values, marks, n, i, step, upward)
    return _taken_out(values, wrong, n)


@njit(cache=True, nogil=True)
def _lone(values: Floats, n: int, jump: float) -> int:
    """Takes isolated values out; how many are left, in order at the front."""
    wrong = np.zeros(n, np.bool_)
    for i in range(n):
        wrong[i] = _is_isolated(values, i, n, jump)
    return _taken_out(values, wrong, n)


@njit(cache=True, nogil=True)
def _spread(values: Floats, n: int) -> tuple[float, float, float]:
    """Sum, least and greatest of `n` values."""
    total, low, high = 0.0, np.inf, -np.inf
    for i in range(n):
        total += values[i]
        low, high = min(low, values[i]), max(high, values[i])
    return total, low, high


@njit(cache=True, nogil=True)
def tile_gauge(
    bounds: Ints, values: Float32s, marks: Marks, low: float, high: float, jump: float, step: float, upward: int
) -> Float32s:
    """Hourly statistics of a gauge.

    Args:
        bounds: shape (tiles + 1,), ascending: tile *t* is of the samples from ``bounds[t]`` to ``bounds[t + 1]``.
        values: shape (n,), samples in time order within a tile; NaN is missing.
        marks: shape (n,), 0, or `IMPORTED` or `COLLECTED` in rows that are marked as glitches.
        low: values below are no reading of that gauge (no light, laser off).
        high: values above are impossible.
        jump: an isolated sample this far from its neighbours is a glitch.
        step: a sample of a marked row this far from its neighbours is one; infinite where marks mean nothing.
        upward: 1 where only a marked sample above its neighbours is one.

    Returns:
        Array of shape (tiles, 6): `STATS`.
    """
    tiles = bounds.shape[0] - 1
    out = np.full((tiles, 6), np.nan, np.float32)
    buffer, doubts = np.empty(max(values.shape[0], 1), np.float64), np.empty(max(values.shape[0], 1), np.int8)
    settles = bool(np.isfinite(step)) and bool(marks.any())
    for t in range(tiles):
        n, total, least, most = 0, 0.0, np.inf, -np.inf
        for i in range(bounds[t], bounds[t + 1]):
            x = np.float64(values[i])
            if low <= x <= high:
                buffer[n] = x
                if settles:
                    doubts[n] = marks[i]
                total += x
                least, most = min(least, x), max(most, x)
                n += 1
        if settles and doubts[:n].any():
            n = _settle(buffer, doubts, n, step, upward)
            total, least, most = _spread(buffer, n)
        if most - least > jump:
            n = _lone(buffer, n, jump)
            total, least, most = _spread(buffer, n)
        out[t, 0] = n
        if n:
            mean, m2 = total / n, 0.0
            for i in range(n):
                m2 += (buffer[i] - mean) * (buffer[i] - mean)
            out[t, 1], out[t, 2], out[t, 3], out[t, 4], out[t, 5] = mean, m2, least, most, buffer[n - 1]
    return out
