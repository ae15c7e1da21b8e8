"""Numba kernels of order statistics: baselines, medians and scatter of sliding windows, and medians of groups.

Where there are several times the window is kept in order from one to the next; for a single one nothing is sorted.

An order statistic depends on the values of its window alone, so a baseline is bit for bit the same
whether the window slid there or was filled anew. Missing is NaN.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["baselines", "medians"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Float32s = NDArray[np.float32]

_FEW = 8
"""Where fewer than an eighth of the window changes, it is mended and not sorted anew (measured)."""


@njit(cache=True, nogil=True)
def _place(ordered: Floats, n: int, value: float) -> int:
    """How many of the first `n` ascending values lie below `value`."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _fill(values: Floats, row: Float32s, begin: int, end: int) -> int:
    """Puts the values of the hours ``begin <= h < end`` in a row; how many there are."""
    n = 0
    for h in range(begin, end):
        if not np.isnan(row[h]):
            values[n] = row[h] + 0.0  # -0.0 and 0.0 are one value
            n += 1
    return n


@njit(cache=True, nogil=True)
def _take(ordered: Floats, n: int, row: Float32s, begin: int, end: int) -> int:
    """Puts the values of the hours ``begin <= h < end`` among `n` ascending ones; how many there are then."""
    for h in range(begin, end):
        if not np.isnan(row[h]):
            value = row[h] + 0.0
            place = _place(ordered, n, value)
            for i in range(n, place, -1):
                ordered[i] = ordered[i - 1]
            ordered[place] = value
            n += 1
    return n


@njit(cache=True, nogil=True)
def _drop(ordered: Floats, n: int, row: Float32s, begin: int, end: int) -> int:
    """Takes the values of the hours ``begin <= h < end`` away again; how many are left."""
    for h in range(begin, end):
        if not np.isnan(row[h]):
            n -= 1
            for i in range(_place(ordered, n + 1, row[h]), n):
                ordered[i] = ordered[i + 1]
    return n


@njit(cache=True, nogil=True)
def _centre(ordered: Floats, n: int) -> tuple[float, float]:
    """Median of `n` ascending values, and 1.4826 times the median of their distances from it."""
    half = n // 2
    median = ordered[half] if n % 2 else 0.5 * (ordered[half - 1] + ordered[half])
    left, right = half - 1, half
    before, distance = 0.0, 0.0
    for _ in range(half + 1):
        before = distance
        if right == n or (left >= 0 and median - ordered[left] <= ordered[right] - median):
            distance = median - ordered[left]
            left -= 1
        else:
            distance = ordered[right] - median
            right += 1
    return median, 1.4826 * (distance if n % 2 else 0.5 * (before + distance))


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
def _centre_of(values: Floats, n: int, distances: Floats) -> tuple[float, float]:
    """As `_centre`, of values in any order; reorders both arrays."""
    median = _median(values, n)
    for i in range(n):
        distances[i] = abs(values[i] - median)
    return median, 1.4826 * _median(distances, n)


@njit(cache=True, nogil=True)
def baselines(x: Float32s, at: Ints, epoch: Ints, owner: Ints, guard: int, reach: int, enough: int) -> Float32s:
    """Where each series stood before: median and scaled MAD of its own past, since its installation was last touched.

    The window is `reach` hours up to `guard` hours before `at`. Where the installation is younger than that
    allows (fewer than `enough` hours seen), its first hours serve, the newest three left out.

    Args:
        x: shape (series, total hours).
        at: shape (times,), hour indices, ascending; equal ones are computed once.
        epoch: shape (owners, times), hour index since which the past counts.
        owner: shape (series,), whose epoch holds for each series.
        guard: newest hours that are not part of the baseline.
        reach: length of the window in hours.
        enough: hours that must have been seen.

    Returns:
        Array of shape (2, series, times): median, 1.4826 MAD (sigma of a normal); NaN where fewer than three hours.
    """
    out = np.full((2, x.shape[0], at.shape[0]), np.nan, np.float32)
    held, young = np.empty(reach + 1, np.float64), np.empty(enough + 1, np.float64)
    distances, slides = np.empty(reach + 1, np.float64), at.shape[0] > 1
    for s in range(x.shape[0]):
        n, begin, end = 0, 0, 0  # `held` has the window's values in order: most of them serve the next time too
        for k in range(at.shape[0]):
            since = epoch[owner[s], k]
            if k and at[k] == at[k - 1] and since == epoch[owner[s], k - 1]:
                out[0, s, k], out[1, s, k] = out[0, s, k - 1], out[1, s, k - 1]
                continue
            first = max(at[k] - guard - reach, since, 0)
            last = max(min(at[k] - guard, x.shape[1]), first)
            if first < begin or last < end or (first - begin) + (last - end) > (last - first) // _FEW:
                n = _fill(held, x[s], first, last)
                if slides:
                    held[:n].sort()
            else:
                n = _drop(held, n, x[s], begin, first)
                n = _take(held, n, x[s], end, last)
            begin, end = first, last
            if n >= enough:
                centre = _centre(held, n) if slides else _centre_of(held, n, distances)
                out[0, s, k], out[1, s, k] = centre
                continue
            m = 0
            for h in range(first, min(at[k] - 3, x.shape[1])):
                m = _take(young, m, x[s], h, h + 1)
                if m == enough:
                    break
            if m >= 3:
                out[0, s, k], out[1, s, k] = _centre(young, m)
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
