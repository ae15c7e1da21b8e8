"""Numba kernel that makes tiles of samples: plain loops over sorted arrays, float64 inside. Missing is NaN."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "COLLECTED",
    "FOUND",
    "IMPORTED",
    "STATS",
    "any_late",
    "hour_bounds",
    "latest",
    "log10_from",
    "tile_gauge",
]

STATS = ("n", "mean", "m2", "min", "max", "last")
"""What a tile keeps of a gauge: count, mean, sum of squared deviations, extremes, newest value."""
FOUND = (*STATS, "dark")
"""What `tile_gauge` finds: these, and how many values were below what is a level."""

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
def hour_bounds(runs: Ints, series: Ints, time: Ints, hour: int) -> tuple[Ints, Ints]:
    """Where the hours of series begin, the last one's end, and whose each hour is; empty where samples are not ordered.

    Args:
        runs: shape (runs + 1,), where samples of one series begin that lie together, and where the last ones end.
        series: shape (runs,), its number.
        time: shape (n,), in the unit of `hour`.
        hour: its length.
    """
    n = time.shape[0]
    bounds, owner = np.empty(n + 1, np.int64), np.empty(n, np.int64)
    count, end = 0, 0
    for r in range(series.shape[0]):
        goes_on = r > 0 and series[r] == series[r - 1]
        if r and (series[r] < series[r - 1] or (goes_on and time[runs[r]] <= time[runs[r] - 1])):
            return bounds[:0], owner[:0]
        for i in range(runs[r], runs[r + 1]):
            if i > runs[r] and time[i] <= time[i - 1]:
                return bounds[:0], owner[:0]
            if time[i] >= end or (i == runs[r] and not goes_on):
                bounds[count], owner[count] = i, series[r]
                count += 1
                end = (time[i] // hour + 1) * hour
    bounds[count] = n
    return bounds[: count + 1].copy(), owner[:count].copy()


@njit(cache=True, nogil=True)
def latest(bounds: Ints, values: Ints) -> Ints:
    """Shape (tiles,): the greatest value of each tile; `bounds` as for `tile_gauge`."""
    out = np.empty(bounds.shape[0] - 1, np.int64)
    for t in range(out.shape[0]):
        most = values[bounds[t]]
        for i in range(bounds[t] + 1, bounds[t + 1]):
            most = max(most, values[i])
        out[t] = most
    return out


@njit(cache=True, nogil=True)
def log10_from(values: Floats, floor: float, out: Float32s) -> None:
    """Puts decimal logarithms in `out`; of less than `floor` that of it, of what is below zero NaN."""
    ten = math.log(10.0)
    for i in range(values.shape[0]):
        x = values[i]
        out[i] = math.log(max(x, floor)) / ten if x >= 0.0 else np.nan


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
    out: Float32s,
    bounds: Ints,
    values: Float32s,
    marks: Marks,
    low: float,
    high: float,
    jump: float,
    step: float,
    upward: int,
) -> None:
    """Hourly statistics of a gauge.

    Args:
        out: shape (7, tiles): takes `FOUND`.
        bounds: shape (tiles + 1,), ascending: tile *t* is of the samples from ``bounds[t]`` to ``bounds[t + 1]``.
        values: shape (n,), samples in time order within a tile; NaN is missing.
        marks: shape (n,), 0, or `IMPORTED` or `COLLECTED` in rows that are marked as glitches.
        low: values below are no reading of that gauge (no light, laser off).
        high: values above are impossible.
        jump: an isolated sample this far from its neighbours is a glitch.
        step: a sample of a marked row this far from its neighbours is one; infinite where marks mean nothing.
        upward: 1 where only a marked sample above its neighbours is one.
    """
    tiles, longest = bounds.shape[0] - 1, 1
    for t in range(tiles):
        longest = max(longest, int(bounds[t + 1] - bounds[t]))
    buffer, doubts = np.empty(longest, np.float64), np.empty(longest, np.int8)
    settles = bool(np.isfinite(step)) and bool(marks.any())
    for t in range(tiles):
        n, dark, total, least, most = 0, 0, 0.0, np.inf, -np.inf
        for i in range(bounds[t], bounds[t + 1]):
            x = np.float64(values[i])
            if low <= x <= high:
                buffer[n] = x
                if settles:
                    doubts[n] = marks[i]
                total += x
                least, most = min(least, x), max(most, x)
                n += 1
            dark += 1 if x < low else 0
        if settles and doubts[:n].any():
            n = _settle(buffer, doubts, n, step, upward)
            total, least, most = _spread(buffer, n)
        if most - least > jump:
            n = _lone(buffer, n, jump)
            total, least, most = _spread(buffer, n)
        out[0, t], out[6, t] = n, dark
        if n:
            mean, m2 = total / n, 0.0
            for i in range(n):
                m2 += (buffer[i] - mean) * (buffer[i] - mean)
            out[1, t], out[2, t], out[3, t], out[4, t], out[5, t] = mean, m2, least, most, buffer[n - 1]
        else:
            out[1:6, t] = np.nan
