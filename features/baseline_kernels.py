"""Numba kernels of order statistics: what a day comes to, baselines of days, and medians of groups.

An order statistic depends on the values of its window alone, so a baseline is bit for bit the same
whether it is computed for one time or for many. Missing is NaN.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["baselines", "day_centres", "medians"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Float32s = NDArray[np.float32]


@njit(cache=True, nogil=True)
def _median(values: Floats, n: int) -> float:
    """Median of the first `n` values (Hoare's selection); reorders them."""
    wanted = n // 2
    left, right = 0, n - 1
    while left < right:
        pivot = values[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if wanted <= j:
            right = j
        elif wanted >= i:
            left = i
        else:
            break
    if n % 2:
        return float(values[wanted])
    below = values[0]
    for i in range(1, wanted):
        below = max(below, values[i])
    return float(0.5 * (below + values[wanted]))


@njit(cache=True, nogil=True)
def _centre(values: Floats, n: int, distances: Floats) -> tuple[float, float]:
    """Median of `n` values, and 1.4826 times the median of their distances from it; reorders both arrays."""
    median = _median(values, n)
    for i in range(n):
        distances[i] = abs(values[i] - median)
    return median, 1.4826 * _median(distances, n)


@njit(cache=True, nogil=True)
def day_centres(x: Float32s) -> Float32s:
    """What a day of hourly values comes to.

    Args:
        x: shape (series, hours of the day).

    Returns:
        Array of shape (3, series): how many values, their median, 1.4826 times the median of their distances from it
        (sigma of a normal); NaN where there are none.
    """
    out = np.full((3, x.shape[0]), np.nan, np.float32)
    values, distances = np.empty(x.shape[1], np.float64), np.empty(x.shape[1], np.float64)
    for s in range(x.shape[0]):
        n = 0
        for h in range(x.shape[1]):
            if not np.isnan(x[s, h]):
                values[n] = x[s, h] + 0.0  # -0.0 and 0.0 are one value
                n += 1
        if n:
            out[0, s] = n
            out[1, s], out[2, s] = _centre(values, n, distances)
    return out


@njit(cache=True, nogil=True)
def _of_days(days: Float32s, s: int, first: int, last: int, enough: int, work: Floats) -> tuple[float, float]:
    """Median of the days' medians, and root of the squares of their scatter and of the usual scatter within a day."""
    n = 0
    for d in range(first, last):
        if days[0, s, d] >= enough:
            work[0, n], work[1, n] = days[1, s, d], days[2, s, d]
            n += 1
    if n == 0:
        return np.nan, np.nan
    median, between = _centre(work[0], n, work[2])
    within = _median(work[1], n)
    return median, np.sqrt(between * between + within * within)


@njit(cache=True, nogil=True)
def _of_first_hours(row: Float32s, first: int, last: int, enough: int, work: Floats) -> tuple[float, float]:
    """Median and scatter of the first hours seen; NaN where fewer than three are."""
    n = 0
    for h in range(first, last):
        if not np.isnan(row[h]):
            work[0, n] = row[h] + 0.0
            n += 1
            if n == enough:
                break
    if n < _LEAST_HOURS:
        return np.nan, np.nan
    return _centre(work[0], n, work[1])


_LEAST_HOURS = 3


@njit(cache=True, nogil=True)
def baselines(
    days: Float32s, first_day: int, x: Float32s, start: int, at: Ints, epoch: Ints, owner: Ints, rule: Ints
) -> Float32s:
    """Where each series stood before: centre and scatter of its own whole days since its installation was touched.

    The window is ``rule[1]`` whole days, the newest of which ended `rule[0]` hours before `at` or more. A day counts
    where ``rule[2]`` of its hours were seen. Where no day counts, as with a young installation, the first hours since
    the touch serve: ``rule[2]`` of them, of the last ``rule[3]`` hours, less the newest three, at noon and midnight.

    Args:
        days: shape (3, series, days), of `day_centres`.
        first_day: the first of them, days since 1970.
        x: shape (series, total hours), hourly values.
        start: the first of them, hours since 1970.
        at: shape (times,), hours since 1970, ascending.
        epoch: shape (owners, times), hour since 1970 since which the past counts.
        owner: shape (series,), whose epoch holds for each series.
        rule: guard in hours, days, hours that are enough, hours that a time looks back on.

    Returns:
        Array of shape (2, series, times): centre, scatter (sigma of a normal); NaN where there is nothing to stand on.
    """
    guard, reach, enough, recent = rule[0], rule[1], rule[2], rule[3]
    out = np.full((2, x.shape[0], at.shape[0]), np.nan, np.float32)
    work = np.empty((3, max(reach, enough) + 1), np.float64)
    for s in range(x.shape[0]):
        for k in range(at.shape[0]):
            since, noon = epoch[owner[s], k], at[k] // 12 * 12
            if k and noon == at[k - 1] // 12 * 12 and since == epoch[owner[s], k - 1]:
                out[0, s, k], out[1, s, k] = out[0, s, k - 1], out[1, s, k - 1]
                continue
            end = (at[k] - guard) // 24
            first = max(end - reach, -(-since // 24), first_day) - first_day
            found = _of_days(days, s, first, min(end - first_day, days.shape[2]), enough, work)
            if np.isnan(found[0]):
                first = max(since, (at[k] - recent) // 24 * 24, start) - start
                found = _of_first_hours(x[s], first, min(noon - 3 - start, x.shape[1]), enough, work)
            out[0, s, k], out[1, s, k] = found
    return out


@njit(cache=True, nogil=True)
def medians(values: Float32s, group: Ints, enough: int) -> Float32s:
    """The median over the rows of the same group; 0 where fewer than `enough` of them have a value.

    Args:
        values: shape (rows, times).
        group: shape (rows,), ascending.
        enough: values that make a median.

    Returns:
        Array of shape (rows, times).
    """
    out = np.zeros(values.shape, np.float32)
    buffer = np.empty(max(values.shape[0], 1), np.float64)
    start = 0
    while start < values.shape[0]:
        end = start
        while end < values.shape[0] and group[end] == group[start]:
            end += 1
        for k in range(values.shape[1]):
            n = 0
            for p in range(start, end):
                if not np.isnan(values[p, k]):
                    buffer[n] = values[p, k]
                    n += 1
            if n and n >= enough:
                out[start:end, k] = _median(buffer, n)
        start = end
    return out
