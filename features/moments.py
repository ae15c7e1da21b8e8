"""Exact windows over irregular samples: hours as moments, merged (Chan) into any whole hours, never subtracted.

A window's mean, deviation, extremes and slope are those of its samples, whatever lies before or after it: a glitch of
1e9 an hour earlier leaves no trace, and 193 THz keep their noise. The catalogue's features are of the hourly tiles in
the lake; this is for looking at series that are at hand as arrays.

Plain loops, float64 inside. Missing is NaN.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["WINDOW_STATS", "hour_moments", "window_features"]

WINDOW_STATS = ("mean", "std", "min", "max", "slope")
"""What there is of each window; the slope is a day's."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Float32s = NDArray[np.float32]

Moments = tuple[float, float, float, float, float, float, float, float]

_HOUR_US = 3_600_000_000
_PARTS = 8
"""Of each hour: n, mean, mean time (h), sums of squares of both and of products, least, greatest."""


@njit(cache=True, nogil=True)
def hour_moments(
    bounds: Ints, time_us: Ints, values: Float32s, begin_us: int, hours: int, low: float, high: float
) -> Floats:
    """Moments of each series' hours.

    Args:
        bounds: shape (series + 1,), ascending: the samples of series *s* are those from ``bounds[s]`` to
            ``bounds[s + 1]``, in order of time.
        time_us: shape (n,), microseconds; not before `begin_us`, nor after its last hour.
        values: shape (n,), NaN is missing.
        begin_us: where the first hour begins.
        hours: how many there are.
        low: values below are no reading.
        high: values above are impossible.

    Returns:
        Array of shape (series, hours, 8).
    """
    out = np.zeros((bounds.shape[0] - 1, hours, _PARTS))
    for s in range(bounds.shape[0] - 1):
        i, last = bounds[s], bounds[s + 1]
        while i < last:
            hour = (time_us[i] - begin_us) // _HOUR_US
            start = begin_us + hour * _HOUR_US
            end = i
            n, sx, st, least, most = 0, 0.0, 0.0, np.inf, -np.inf
            while end < last and time_us[end] < start + _HOUR_US:
                x = np.float64(values[end])
                if low <= x <= high:
                    n += 1
                    sx += x
                    st += time_us[end] - start
                    least, most = min(least, x), max(most, x)
                end += 1
            if n:
                mean, middle = sx / n, st / n
                xx, tt, xt = 0.0, 0.0, 0.0
                for j in range(i, end):
                    x = np.float64(values[j])
                    if low <= x <= high:
                        d, t = x - mean, ((time_us[j] - start) - middle) / _HOUR_US
                        xx, tt, xt = xx + d * d, tt + t * t, xt + d * t
                cell = out[s, hour]
                cell[0], cell[1], cell[2] = n, mean, hour + middle / _HOUR_US
                cell[3], cell[4], cell[5], cell[6], cell[7] = xx, tt, xt, least, most
            i = end
    return out


@njit(cache=True, nogil=True)
def _at(moments: Floats, row: int) -> Moments:
    """One row as numbers: they stay in registers."""
    return (
        *(moments[row, 0], moments[row, 1], moments[row, 2], moments[row, 3]),
        *(moments[row, 4], moments[row, 5], moments[row, 6], moments[row, 7]),
    )


@njit(cache=True, nogil=True)
def _merge(a: Moments, b: Moments) -> Moments:
    """Moments of two disjoint sets of samples together (Chan, Golub and LeVeque 1983)."""
    if b[0] == 0.0:
        return a
    if a[0] == 0.0:
        return b
    n = a[0] + b[0]
    share = b[0] / n
    dx, dt, weight = b[1] - a[1], b[2] - a[2], a[0] * share
    xx, tt, xt = a[3] + b[3] + dx * dx * weight, a[4] + b[4] + dt * dt * weight, a[5] + b[5] + dx * dt * weight
    return n, a[1] + dx * share, a[2] + dt * share, xx, tt, xt, min(a[6], b[6]), max(a[7], b[7])


@njit(cache=True, nogil=True)
def _finish(m: Moments, out: Float32s, row: int) -> None:
    """`WINDOW_STATS` of some moments."""
    if m[0] == 0.0:
        for k in range(5):
            out[row, k] = np.nan
        return
    out[row, 0], out[row, 2], out[row, 3] = m[1], m[6], m[7]
    out[row, 1] = np.sqrt(m[3] / (m[0] - 1.0)) if m[0] > 1.0 else np.nan
    out[row, 4] = 24.0 * m[5] / m[4] if m[4] > 0.0 else np.nan


@njit(cache=True, nogil=True)
def _slide(moments: Floats, first: int, hours: int, length: int, out: Float32s, row: int, step: int) -> None:
    """The windows of one length of one series."""
    ends = np.empty((length + 1, _PARTS))
    head = _at(moments, first)
    for h in range(hours):
        place = h % length
        if place == 0:
            tail = _at(moments, first + max(h - 1, 0))
            for k in range(length - 1 if h else 0, 0, -1):
                tail = tail if k == length - 1 else _merge(_at(moments, first + h - length + k), tail)
                for j in range(_PARTS):
                    ends[k, j] = tail[j]
            head = _at(moments, first + h)
        else:
            head = _merge(head, _at(moments, first + h))
        whole = head if place == length - 1 or h < length else _merge(_at(ends, place + 1), head)
        _finish(whole, out, row + h * step)


@njit(cache=True, nogil=True)
def _slide_all(moments: Floats, hours: int, lengths: Ints, out: Float32s) -> None:
    """The windows of all lengths of all series."""
    windows = lengths.shape[0]
    for s in range(moments.shape[0] // hours):
        for w in range(windows):
            _slide(moments, s * hours, hours, lengths[w], out, s * hours * windows + w, windows)


def window_features(moments: Floats, lengths: Ints) -> Float32s:
    """Statistics of the windows that end with each hour.

    Hours are cut into blocks as long as the window: a window is the end of one block and the beginning of the next,
    and both are merged hour by hour, so that a window of any length costs three merges (van Herk 1992).

    Args:
        moments: shape (series, hours, 8), of `hour_moments`.
        lengths: shape (windows,), hours.

    Returns:
        Array of shape (series, hours, windows, 5): `WINDOW_STATS`; a window that reaches before the first hour is
        shorter.
    """
    series, hours, windows = moments.shape[0], moments.shape[1], lengths.shape[0]
    out = np.empty((series * hours * windows, 5), np.float32)
    flat = np.ascontiguousarray(moments).reshape(series * hours, _PARTS)
    if hours:
        _slide_all(flat, hours, lengths, out)
    return out.reshape(series, hours, windows, 5)
