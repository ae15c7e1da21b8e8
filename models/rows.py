"""Rows to learn from: module ends at times at which their link was well, and what became of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.labels import UNSEEN_AFTER, Verdict
from features.pipeline import Block
from models.base import INTERVALS_H

__all__ = ["Outcomes", "RiskSet", "outcomes", "stack"]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TICKET_LAG: Final = timedelta(hours=48)
"""Tickets open up to two days late (optics reference 4.7): the newest two days are not known to be well."""


@dataclass(frozen=True)
class Outcomes:
    """What the records say became of each port and time of a block.

    Attributes:
        link: shape (ports,), number of the link, the same in every block of one call.
        until_event_h: shape (ports, times), hours to the link's next counted failure, inf where none is known or where
            it was rescued before.
        event: shape (ports, times), row of that failure or rescue in ``events``, -1 where none.
        leads: shape (ports, times), how much of a failure follows within a week: 1, or of a rescue what the bench says.
        observed_h: shape (ports, times), hours for which the link is known to have been observed.
        well: shape (ports, times), False where nothing counts (failed, in repair, maintenance, before a planned swap).
    """

    link: Ints
    until_event_h: Floats64
    event: Ints
    leads: Floats64
    observed_h: Floats64
    well: Bools


def outcomes(block: Block, events: pl.DataFrame, censored: pl.DataFrame, until: datetime) -> Outcomes:
    """Join a block to the failures and to the times in which nothing counts.

    Args:
        block: features of some ports at some times.
        events: ``features.labels.failure_events`` as of `until`.
        censored: ``features.labels.censoring`` of the same.
        until: end of what may be looked at.
    """
    at_s = block.history.at_s
    links = block.history.links
    numbers = {name: i for i, name in enumerate(dict.fromkeys(links))}
    link = np.array([numbers[name] for name in links], np.int64)
    shape = (len(numbers), at_s.shape[0])
    wait, which, leads = np.full(shape, np.inf), np.full(shape, -1, np.int64), np.zeros(shape)
    turns = events.with_row_index("row").filter(pl.col("weight") > 0).sort("failed_at", descending=True)
    columns = ("link_id", "failed_at", "row", "verdict", "weight")
    for name, failed, row, verdict, weight in turns.select(columns).iter_rows():
        if (i := numbers.get(name)) is not None:
            before = at_s < failed.timestamp()
            hours = (failed.timestamp() - at_s[before]) / 3600.0
            wait[i, before] = hours if verdict == Verdict.COUNTED else np.inf
            which[i, before] = row
            leads[i, before] = np.where(hours <= INTERVALS_H[-1][1], weight, 0.0)
    well = np.ones(shape, bool)
    seen = np.repeat((((until - TICKET_LAG).timestamp() - at_s) / 3600.0)[None, :], shape[0], axis=0)
    for name, start, end, reason in censored.select("link_id", "start", "end", "reason").iter_rows():
        if (i := numbers.get(name)) is None:
            continue
        stop = end.timestamp() if end is not None else np.inf
        well[i, (at_s >= start.timestamp()) & (at_s < stop)] = False
        if reason in UNSEEN_AFTER:
            left = (start.timestamp() - at_s) / 3600.0
            seen[i] = np.where(left > 0, np.minimum(seen[i], left), seen[i])
    return Outcomes(link, wait[link], which[link], leads[link], seen[link], well[link])


@dataclass(frozen=True)
class RiskSet:
    """Feature rows with what became of them.

    Attributes:
        rows: shape (n, columns).
        link: shape (n,), name of each row's link: folds are made of links.
        until_event_h, event, leads, observed_h: as in `Outcomes`.
        first: shape (n,), True for one end of each link and time: what concerns the link is counted once.
        weight: shape (n,), how many hourly rows of its kind a row stands for.
        time_s: shape (n,), seconds since 1970.
        place: site, device, interface of each row.
    """

    rows: Floats
    link: NDArray[np.object_]
    until_event_h: Floats64
    event: Ints
    leads: Floats64
    observed_h: Floats64
    first: Bools
    weight: Floats64
    time_s: Floats64
    place: pl.DataFrame

    def take(self, which: Ints, rows: Floats | None = None) -> "RiskSet":
        """Some of the rows, in the order asked for; with other columns where `rows` is given, a row for each taken."""
        arrays = ("link", "until_event_h", "event", "leads", "observed_h", "first", "weight", "time_s")
        taken = {name: getattr(self, name)[which] for name in arrays}
        return RiskSet(self.rows[which] if rows is None else rows, **taken, place=self.place[which])

    def at_risk(self, interval: int) -> tuple[Bools, Bools]:
        """Which rows are at risk in an interval of `INTERVALS_H`, and which of all rows fail in it."""
        begin, end = INTERVALS_H[interval]
        fails = (self.until_event_h > begin) & (self.until_event_h <= end)
        return fails | ((self.until_event_h > end) & (self.observed_h >= end)), fails


_NEAR_H: Final = 48.0  # every hour counts this close to a failure
_NEAR_EVERY: Final = 1
_FAR_EVERY: Final = 4
_WELL_EVERY: Final = 6


def sample(block: Block, known: Outcomes, stands_for: Floats64 | None = None) -> tuple[Ints, Ints, Floats64]:
    """Which ports and times to learn from, with the weight that makes up for those left out.

    Every hour within two days of a failure, every fourth within a week, every sixth otherwise; `stands_for` as in
    `risk_set`.
    """
    hours = (block.history.at_s // 3600).astype(np.int64)
    offset = hours[None, :] + known.link[:, None]
    horizon = INTERVALS_H[-1][1]
    every = np.where(
        known.until_event_h <= _NEAR_H, _NEAR_EVERY, np.where(known.until_event_h <= horizon, _FAR_EVERY, _WELL_EVERY)
    )
    useful = (known.until_event_h <= horizon) | (known.observed_h >= INTERVALS_H[0][1])
    chosen = block.present & known.well & useful & (offset % every == 0)
    stands = np.ones(known.link.shape[0]) if stands_for is None else stands_for
    port, time = np.nonzero(chosen & (stands > 0)[:, None])
    return port, time, every[port, time] * stands[port]


def risk_set(block: Block, known: Outcomes, stands_for: Floats64 | None = None) -> RiskSet:
    """The rows of a block that are learnt from.

    Args:
        block: features of some ports at some times.
        known: what became of them.
        stands_for: shape (ports,), how many links each port's link stands for, 0: it is left out; 1 where not given.
    """
    port, time, weight = sample(block, known, stands_for)
    names = np.array(block.history.links, object)
    return RiskSet(
        block.matrix(port, time),
        names[port],
        known.until_event_h[port, time],
        known.event[port, time],
        known.leads[port, time],
        known.observed_h[port, time],
        block.first[port, time],
        weight,
        block.history.at_s[time],
        block.cube.ports[port],
    )


def stack(parts: Iterable[RiskSet]) -> RiskSet:
    """Several sets as one."""
    sets = list(parts)
    arrays = ("rows", "link", "until_event_h", "event", "leads", "observed_h", "first", "weight", "time_s")
    return RiskSet(
        **{name: np.concatenate([getattr(part, name) for part in sets]) for name in arrays},
        place=pl.concat([part.place for part in sets]),
    )
