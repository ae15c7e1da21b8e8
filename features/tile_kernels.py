"""Numba kernels that make tiles of samples: plain loops over sorted arrays, float64 inside. Missing is NaN."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["STATS", "tile_counters", "tile_gauges"]

STATS = ("n", "mean", "m2", "min", "max", "last")
"""What a tile keeps of a gauge: count, mean, sum of squared deviations, extremes, newest value."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Float32s = NDArray[np.float32]


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
def _gauge(values: Floats, n: int, jump: float, out: Float32s) -> None:
    """Statistics of one gauge over one hour, isolated glitches left out."""
    count, mean, m2 = 0, 0.0, 0.0
    low, high, last = np.inf, -np.inf, np.nan
    for i in range(n):
        if _is_isolated(values, i, n, jump):
            continue
        x = values[i]
        count += 1
        delta = x - mean
        mean += delta / count
        m2 += delta * (x - mean)
        low, high, last = min(low, x), max(high, x), x
    out[0] = count
    if count:
        out[1], out[2], out[3], out[4], out[5] = mean, m2, low, high, last
    else:
        out[1:] = np.nan


@njit(cache=True, nogil=True)
def tile_gauges(group: Ints, values: Float32s, low: Floats, high: Floats, jump: Floats) -> Float32s:
    """Hourly statistics of gauges.

    Args:
        group: shape (n,), the tile each sample belongs to: 0, 1, 2 … in ascending runs.
        values: shape (n, m), samples of `m` gauges in time order within a group; NaN is missing.
        low: shape (m,), values below are no reading of that gauge (no light, laser off).
        high: shape (m,), values above are impossible.
        jump: shape (m,), an isolated sample this far from its neighbours is a glitch.

    Returns:
        Array of shape (tiles, m, 6): `STATS` of each gauge.
    """
    n, m = values.shape
    tiles = group[n - 1] + 1 if n else 0
    out = np.empty((tiles, m, 6), np.float32)
    buffer = np.empty(max(n, 1), np.float64)
    start = 0
    while start < n:
        end = start
        while end < n and group[end] == group[start]:
            end += 1
        for j in range(m):
            kept = 0
            for i in range(start, end):
                x = values[i, j]
                if low[j] <= x <= high[j]:
                    buffer[kept] = x
                    kept += 1
            _gauge(buffer, kept, jump[j], out[group[start], j])
        start = end
    return out


@njit(cache=True, nogil=True)
def tile_counters(group: Ints, values: Floats) -> Floats:
    """Hourly growth of cumulative counters; a fall is a reset and what stands after it has grown since.

    Args:
        group: shape (n,), as for `tile_gauges`.
        values: shape (n, m), NaN is missing.

    Returns:
        Array of shape (tiles, m, 4): first and last reading, growth between them, largest single step.
    """
    n, m = values.shape
    tiles = group[n - 1] + 1 if n else 0
    out = np.full((tiles, m, 4), np.nan)
    for i in range(n):
        g = group[i]
        for j in range(m):
            x = values[i, j]
            if np.isnan(x):
                continue
            if np.isnan(out[g, j, 0]):
                out[g, j, 0], out[g, j, 2], out[g, j, 3] = x, 0.0, 0.0
            else:
                before = out[g, j, 1]
                step = x - before if x >= before else x
                out[g, j, 2] += step
                out[g, j, 3] = max(out[g, j, 3], step)
            out[g, j, 1] = x
    return out
