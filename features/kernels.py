"""Numba kernels: samples to tiles, tiles to windows. Plain loops over sorted arrays, float64 inside.

Nothing here subtracts prefixes: a window is summed from its own hours, so a glitch of 1e9 an
hour earlier leaves no trace. Missing is NaN. Set ``NUMBA_CACHE_DIR`` before import where the
package is read-only.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["STATS", "baselines", "tile_counters", "tile_gauges", "windows"]

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
    return abs(a - b) <= 0.5 * jump and abs(values[i] - a) > jump and abs(values[i] - b) > jump


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


@njit(cache=True, nogil=True)
def windows(x: Float32s, at: Ints, hours: int, kind: int) -> Float32s:
    """One statistic of the `hours` tiles before each time.

    Args:
        x: shape (series, total hours), hourly values; NaN where nothing was seen.
        at: shape (times,), hour indices; hours before `at` are read, `at` itself is not.
        hours: length of the window.
        kind: 0 mean, 1 slope per day (least squares), 2 min, 3 max, 4 sum, 5 standard deviation about the
            fitted line, 6 newest value.

    Returns:
        Array of shape (series, times); NaN where the window holds too little (slope: fewer than half its hours).
    """
    out = np.full((x.shape[0], at.shape[0]), np.nan, np.float32)
    for s in range(x.shape[0]):
        for k in range(at.shape[0]):
            n, sx, st, stt, stx, sxx = 0, 0.0, 0.0, 0.0, 0.0, 0.0
            low, high, last = np.inf, -np.inf, np.nan
            base = np.nan
            for h in range(max(at[k] - hours, 0), min(at[k], x.shape[1])):
                v = x[s, h]
                if np.isnan(v):
                    continue
                if n == 0:
                    base = v
                d, t = v - base, (h - at[k]) / 24.0
                n += 1
                sx, st, stt, stx, sxx = sx + d, st + t, stt + t * t, stx + t * d, sxx + d * d
                low, high, last = min(low, v), max(high, v), v
            if n == 0:
                continue
            if kind == 0:
                out[s, k] = base + sx / n
            elif kind == 2:
                out[s, k] = low
            elif kind == 3:
                out[s, k] = high
            elif kind == 4:
                out[s, k] = base * n + sx
            elif kind == 6:
                out[s, k] = last
            elif 2 * n >= hours and n > 2:
                tt = stt - st * st / n
                tx = stx - st * sx / n
                if kind == 1:
                    out[s, k] = tx / tt
                else:
                    out[s, k] = np.sqrt(max(sxx - sx * sx / n - tx * tx / tt, 0.0) / (n - 2))
    return out


@njit(cache=True, nogil=True)
def baselines(x: Float32s, at: Ints, epoch: Ints, guard: int, reach: int, enough: int) -> Float32s:
    """Where each series stood before: median and scaled MAD of its own past, since its installation was last touched.

    The window is `reach` hours up to `guard` hours before `at`. Where the installation is younger than that
    allows (fewer than `enough` hours seen), its first hours serve, the newest three left out.

    Args:
        x: shape (series, total hours).
        at: shape (times,), hour indices.
        epoch: shape (series, times), hour index since which the past counts.
        guard: newest hours that are not part of the baseline.
        reach: length of the window in hours.
        enough: hours that must have been seen.

    Returns:
        Array of shape (series, times, 3): median, 1.4826 MAD (sigma of a normal), hours used; NaN, NaN, n if too few.
    """
    out = np.full((x.shape[0], at.shape[0], 3), np.nan, np.float32)
    buffer = np.empty(reach, np.float64)
    for s in range(x.shape[0]):
        for k in range(at.shape[0]):
            begin = max(at[k] - guard - reach, epoch[s, k], 0)
            n = 0
            for h in range(begin, min(at[k] - guard, x.shape[1])):
                if not np.isnan(x[s, h]):
                    buffer[n] = x[s, h]
                    n += 1
            if n < enough:
                n = 0
                for h in range(begin, min(at[k] - 3, x.shape[1])):
                    if not np.isnan(x[s, h]) and n < enough:
                        buffer[n] = x[s, h]
                        n += 1
            out[s, k, 2] = n
            if n < 3:
                continue
            median = np.median(buffer[:n])
            out[s, k, 0] = median
            out[s, k, 1] = 1.4826 * np.median(np.abs(buffer[:n] - median))
    return out
