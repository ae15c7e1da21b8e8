"""Numba kernels over hourly series: windows, lanes to ports, ports to devices.

Plain loops, float64 inside. Nothing here subtracts prefixes: a window is summed from its own
hours, so a glitch of 1e9 an hour earlier leaves no trace, and a result does not depend on what
else is computed in the same call. Missing is NaN. Set ``NUMBA_CACHE_DIR`` before import where
the package is read-only.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from features.baseline_kernels import medians

__all__ = ["ages", "lines", "long_sums", "medians", "of_lanes", "recently", "scatter", "windows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Float32s = NDArray[np.float32]
Flags = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def windows(x: Float32s, at: Ints, hours: int, kind: int) -> Float32s:
    """One statistic of the `hours` tiles before each time.

    Args:
        x: shape (series, total hours), hourly values; NaN where nothing was seen.
        at: shape (times,), hour indices; hours before `at` are read, `at` itself is not.
        hours: length of the window.
        kind: 0 mean, 1 min, 2 max, 3 sum, 4 newest value.

    Returns:
        Array of shape (series, times); NaN where the window holds nothing.
    """
    out = np.full((x.shape[0], at.shape[0]), np.nan, np.float32)
    for s in range(x.shape[0]):
        for k in range(at.shape[0]):
            n, total, low, high, last = 0, 0.0, np.inf, -np.inf, np.nan
            for h in range(max(at[k] - hours, 0), min(at[k], x.shape[1])):
                v = x[s, h]
                if np.isnan(v):
                    continue
                n += 1
                total += v
                low, high, last = min(low, v), max(high, v), v
            if n == 0:
                continue
            if kind == 0:
                out[s, k] = total / n
            elif kind == 1:
                out[s, k] = low
            elif kind == 2:
                out[s, k] = high
            elif kind == 3:
                out[s, k] = total
            else:
                out[s, k] = last
    return out


@njit(cache=True, nogil=True)
def ages(gone: Float32s, at: Ints, now: Float32s, share: float, most: int) -> Float32s:
    """How many hours ago a series that has moved had last moved by no more than a share of that.

    Args:
        gone: shape (series, total hours), hourly values, rising as they move; NaN where nothing was seen.
        at: shape (times,), hour indices; hours before `at` are read, `at` itself is not.
        now: shape (2, series, times), the level that is moved from, and how far it has moved; NaN: it has not.
        share: of the way.
        most: hours to look back.

    Returns:
        Array of shape (series, times): hours, `most` where it was further all that time; NaN where it has not moved.
    """
    out = np.full((gone.shape[0], at.shape[0]), np.nan, np.float32)
    for s in range(gone.shape[0]):
        for k in range(at.shape[0]):
            level = now[0, s, k] + share * now[1, s, k]
            if np.isnan(level):
                continue
            out[s, k] = most
            for h in range(min(at[k], gone.shape[1]) - 1, max(at[k] - most, 0) - 1, -1):
                if gone[s, h] <= level:
                    out[s, k] = at[k] - 1 - h
                    break
    return out


@njit(cache=True, nogil=True)
def long_sums(days: Floats, first_day: int, x: Float32s, start: int, at: Ints, hours: int, recent: int) -> Float32s:
    """Sum over whole days and then hours: from the midnight that is `hours` before each time or more.

    Args:
        days: shape (series, days), sums of days; NaN where nothing was seen.
        first_day: the first of them, days since 1970.
        x: shape (series, total hours), hourly values.
        start: the first of them, hours since 1970.
        at: shape (times,), hours since 1970; the hour `at` itself is not read.
        hours: least length of the window.
        recent: the last so many hours, and those of their day, are taken from `x`.

    Returns:
        Array of shape (series, times); NaN where the window holds nothing.
    """
    out = np.full((x.shape[0], at.shape[0]), np.nan, np.float32)
    for s in range(x.shape[0]):
        for k in range(at.shape[0]):
            begin, split = (at[k] - hours) // 24, (at[k] - recent) // 24
            n, total = 0, 0.0
            for d in range(max(begin - first_day, 0), min(split - first_day, days.shape[1])):
                if not np.isnan(days[s, d]):
                    n, total = n + 1, total + days[s, d]
            for h in range(max(max(split, begin) * 24 - start, 0), min(at[k] - start, x.shape[1])):
                if not np.isnan(x[s, h]):
                    n, total = n + 1, total + x[s, h]
            if n:
                out[s, k] = total
    return out


@njit(cache=True, nogil=True)
def recently(hours: Flags, start: int, days: Flags, first_day: int, span: int) -> Flags:
    """Whether it was so earlier on the same day, in this hour, or on any of the `span` days before.

    Args:
        hours: shape (rows, hours).
        start: the first of them, hours since 1970.
        days: shape (rows, days); what they say of days that `hours` reach back to is not looked at.
        first_day: the first of them, days since 1970.
        span: days.
    """
    out = np.zeros(hours.shape, np.bool_)
    for r in range(hours.shape[0]):
        newest = -(1 << 40)
        for d in range(min(days.shape[1], start // 24 - first_day)):
            if days[r, d]:
                newest = first_day + d
        for h in range(hours.shape[1]):
            if hours[r, h]:
                newest = (start + h) // 24
            out[r, h] = (start + h) // 24 - newest <= span
    return out


@njit(cache=True, nogil=True)
def lines(x: Float32s, at: Ints, hours: int) -> Float32s:
    """The least-squares line through the `hours` tiles before each time, and the scatter about it.

    Args:
        x: shape (series, total hours), hourly values; NaN where nothing was seen.
        at: shape (times,), hour indices; hours before `at` are read, `at` itself is not.
        hours: length of the window.

    Returns:
        Array of shape (2, series, times): slope per day, standard deviation about the line (n - 2); NaN where
        fewer than half of the hours or fewer than three were seen.
    """
    out = np.full((2, x.shape[0], at.shape[0]), np.nan, np.float32)
    for s in range(x.shape[0]):
        for k in range(at.shape[0]):
            begin, end = max(at[k] - hours, 0), min(at[k], x.shape[1])
            n, sx, st = 0, 0.0, 0.0
            for h in range(begin, end):
                if not np.isnan(x[s, h]):
                    n, sx, st = n + 1, sx + x[s, h], st + (h - at[k])
            if 2 * n < hours or n < 3:
                continue
            mean, middle = sx / n, st / n
            tt, tx, xx = 0.0, 0.0, 0.0
            for h in range(begin, end):
                if not np.isnan(x[s, h]):
                    d, t = x[s, h] - mean, (h - at[k]) - middle
                    tt, tx, xx = tt + t * t, tx + t * d, xx + d * d
            out[0, s, k] = 24.0 * tx / tt
            out[1, s, k] = np.sqrt(max(xx - tx * tx / tt, 0.0) / (n - 2))
    return out


@njit(cache=True, nogil=True)
def of_lanes(values: Float32s, owner: Ints, ports: int, kind: int) -> Float32s:
    """One value a port of its lanes': 0 mean, 1 least, 2 greatest; NaN where none has any.

    Args:
        values: shape (lanes, times).
        owner: shape (lanes,), the port of each lane, ascending.
        ports: number of ports.
        kind: which.

    Returns:
        Array of shape (ports, times).
    """
    out = np.full((ports, values.shape[1]), np.nan, np.float32)
    total, count = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for s in range(values.shape[0]):
        p = owner[s]
        for k in range(values.shape[1]):
            v = values[s, k]
            if np.isnan(v):
                continue
            if kind == 0:
                total[k], count[k] = total[k] + v, count[k] + 1
            elif np.isnan(out[p, k]) or (v < out[p, k] if kind == 1 else v > out[p, k]):
                out[p, k] = v
        if kind == 0 and (s + 1 == values.shape[0] or owner[s + 1] != p):
            for k in range(values.shape[1]):
                if count[k]:
                    out[p, k] = total[k] / count[k]
                total[k], count[k] = 0.0, 0.0
    return out


@njit(cache=True, nogil=True)
def scatter(values: Floats, row: Ints, column: Ints, rows: int, columns: int) -> Floats:
    """Shape (rows, columns): values at their places, NaN where there is none; of those of one place the last."""
    out = np.full((rows, columns), np.nan, values.dtype)
    for i in range(values.shape[0]):
        out[row[i], column[i]] = values[i]
    return out
