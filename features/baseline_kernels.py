"""Numba kernel of baselines: median and scatter of a sliding window, kept in order from one time to the next.

An order statistic depends on the values of its window alone, so a baseline is bit for bit the same
whether the window slid there or was filled anew. Missing is NaN.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["baselines"]

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
def _fill(ordered: Floats, row: Float32s, begin: int, end: int) -> int:
    """Puts the values of the hours ``begin <= h < end`` in ascending order; how many there are."""
    n = 0
    for h in range(begin, end):
        if not np.isnan(row[h]):
            ordered[n] = row[h] + 0.0  # -0.0 and 0.0 are one value
            n += 1
    ordered[:n].sort()
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
            else:
                n = _drop(held, n, x[s], begin, first)
                n = _take(held, n, x[s], end, last)
            begin, end = first, last
            if n >= enough:
                out[0, s, k], out[1, s, k] = _centre(held, n)
                continue
            m = 0
            for h in range(first, min(at[k] - 3, x.shape[1])):
                m = _take(young, m, x[s], h, h + 1)
                if m == enough:
                    break
            if m >= 3:
                out[0, s, k], out[1, s, k] = _centre(young, m)
    return out
