"""Queues that stand: links which most round trips cross slowly, and what is lost beside them overflowed.

A damaged link loses packets and delays none; before a queue that overflows, all wait.
"""

import numpy as np
from numpy.typing import NDArray

from diagnosis.probes import Cause, Known, Limits, ProbeFinding, confidence
from diagnosis.trips import Flags, Trips

__all__ = ["congested"]

_MOST = 0.8
"""Of the answered flows over a queue that stands so many are slow; the rest came before it stood [judgement]."""
_SEVERAL = 2
"""One slow flow is its hosts' affair."""
_LOST = 10
"""Fewer lost packets do not tell which direction overflows [judgement]."""
_AS_MANY = 4
"""One direction loses so many times what the other does [judgement]."""


def congested(trips: Trips, known: Known, limits: Limits) -> tuple[list[ProbeFinding], Trips]:
    """A finding where queues stand, and the rows that they do not explain."""
    times = trips.numbers("rtt_p50_ns")
    if np.isnan(times).all():
        return [], trips
    usual = float(np.nanmedian(times))
    over = max(limits.congested * usual, usual + limits.congested_ns)
    slow, named = _queues(trips, over)
    if not named.any():
        return [], trips
    links = _overflowing(trips, np.flatnonzero(named))
    where = " or ".join(known.fabric.named(link) for link in links)
    detail = f"round trips over {where} take {over / 1e6:.1f} ms or more, elsewhere {usual / 1e6:.2f} ms"
    rows = trips.rows.filter(slow)
    found = ProbeFinding(Cause.CONGESTION, where, rows.height, confidence(rows), detail, links)
    return [found], trips.only(~slow & (trips.across(named) == 0.0))


def _overflowing(trips: Trips, named: NDArray[np.intp]) -> tuple[int, ...]:
    """Of a cable of which both directions are named the one that loses, where one alone does."""
    _, gone = trips.losses(~np.isnan(trips.numbers("forward_lost")))
    other = gone[named ^ 1]
    spared = np.isin(named ^ 1, named) & (other >= _LOST) & (gone[named] * _AS_MANY <= other)
    return tuple(int(link) for link in named[~spared])


def _queues(trips: Trips, over: float) -> tuple[Flags, Flags]:
    """Round trips that are slow, and the links that explain them; a queue that overflows now and then shows at p99.

    Where a queue drops nearly all, some flows have no answer and tell no time: they speak neither for it nor against.
    """
    usual, high = trips.numbers("rtt_p50_ns"), trips.numbers("rtt_p99_ns")
    usually, at_times, lossy = usual > over, high > over, trips.numbers("lost") > 0.0
    overflows = trips.through(lossy) > 0.0
    answered = trips.through(~np.isnan(usual))
    crossed_slowly = np.where(overflows, trips.through(at_times), trips.through(usually))
    standing = crossed_slowly >= np.maximum(_MOST * answered, _SEVERAL)
    slow = usually | (lossy & at_times)
    left, named = slow.copy(), np.zeros(standing.size, dtype=np.bool_)
    while left.any():
        explained = np.where(overflows, trips.through(left & at_times), trips.through(left & usually)) * standing
        if not explained.any():
            break
        strongest = explained == explained.max()
        named |= strongest
        overflowing, standing_alone = trips.across(strongest & overflows), trips.across(strongest & ~overflows)
        left &= ~((overflowing > 0.0) & at_times) & ~((standing_alone > 0.0) & usually)
    return slow, named
