"""Numba kernels of cumulative counters: growth within an hour and from hour to hour, resets and wraps told apart.

A counter that falls began anew, or passed its end. A device that counts on as it did before is believed to have
wrapped only where that would take no more than it was seen to grow by; else it was reset, and what stands after it has
grown since. Mistaken for a reset, a wrap costs about one step; the other way round a reset would invent billions.
Everything is in this one file because a cached kernel does not notice that another file has changed.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["elapsed", "growth", "tile_counter"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Float32s = NDArray[np.float32]

_WIDTH_32, _WIDTH_64 = 2.0**32, 2.0**64
"""Counter32 and Counter64 (RFC 2578, 7.1.6 and 7.1.10)."""


@njit(cache=True, nogil=True)
def _step(before: float, now: float, usual: float, width: float) -> float:
    """Growth from one reading to the next, where growth of `usual` would surprise nobody."""
    if now >= before:
        return now - before
    around = width - before + now
    return around if around <= min(usual, 0.5 * width) else now


@njit(cache=True, nogil=True)
def tile_counter(bounds: Ints, values: Floats) -> Floats:
    """Hourly growth of a cumulative counter.

    Args:
        bounds: shape (tiles + 1,), as for `tile_kernels.tile_gauge`.
        values: shape (n,), readings in time order within a tile; NaN, and what is below 0, is missing.

    Returns:
        Array of shape (tiles, 4): first and last reading, growth between them, largest single step.
    """
    tiles = bounds.shape[0] - 1
    out = np.full((tiles, 4), np.nan)
    for t in range(tiles):
        first, before, usual, width = np.nan, np.nan, 0.0, _WIDTH_32
        for i in range(bounds[t], bounds[t + 1]):
            x = values[i]
            if x >= 0.0:
                first = x if np.isnan(first) else first
                usual = max(usual, x - before) if x > before else usual
                before, width = x, (width if x < _WIDTH_32 else _WIDTH_64)
        if np.isnan(first):
            continue
        before, grown, burst = first, 0.0, 0.0
        for i in range(bounds[t], bounds[t + 1]):
            x = values[i]
            if x >= 0.0:
                step = _step(before, x, 2.0 * usual, width)  # polls are not evenly spaced
                grown, burst, before = grown + step, max(burst, step), x
        out[t, 0], out[t, 1], out[t, 2], out[t, 3] = first, before, grown, burst
    return out


@njit(cache=True, nogil=True)
def growth(first: Floats, last: Floats, within: Floats, carry: int) -> Float32s:
    """Growth of a cumulative counter in each hour, the step from the reading before the hour included.

    Args:
        first: shape (ports, hours), the hour's first reading.
        last: shape (ports, hours), its last one.
        within: shape (ports, hours), growth between the two.
        carry: hours for which the last reading before a gap serves.

    Returns:
        Array of shape (ports, hours); NaN where nothing was read.
    """
    out = np.full(first.shape, np.nan, np.float32)
    for p in range(first.shape[0]):
        newest = -carry - 1
        for h in range(first.shape[1]):
            if np.isnan(first[p, h]):
                continue
            step = 0.0
            if h - newest <= carry:
                width = _WIDTH_32 if last[p, newest] < _WIDTH_32 else _WIDTH_64
                step = _step(last[p, newest], first[p, h], within[p, newest] + within[p, h], width)
            out[p, h] = within[p, h] + step
            newest = h
    return out


@njit(cache=True, nogil=True)
def elapsed(last_s: Float32s, carry: int) -> Float32s:
    """Shape (ports, hours): seconds from the newest reading of an earlier hour to each hour's newest.

    Args:
        last_s: shape (ports, hours), seconds into the hour of its newest reading.
        carry: hours for which a reading before a gap serves; beyond that there is no answer.
    """
    out = np.full(last_s.shape, np.nan, np.float32)
    for p in range(last_s.shape[0]):
        newest = -carry - 1
        for h in range(last_s.shape[1]):
            if np.isnan(last_s[p, h]):
                continue
            if h - newest <= carry:
                out[p, h] = 3600.0 * (h - newest) + (np.float64(last_s[p, h]) - np.float64(last_s[p, newest]))
            newest = h
    return out
