"""Whether a class of links has shown in shadow that its drains would have been right.

The operator's own failures judge: a drain advised in shadow was right where the link failed within a week. What was
advised less than a week ago without a failure since is not counted yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from features.labels import Verdict
from serving.drains.advice import Advice, Mode
from serving.drains.config import Activation
from serving.drains.fabric import LinkClass
from serving.drains.records import Entry, Kind

__all__ = ["Shadow", "refused_activation", "shadow_of"]

_DUE: Final = timedelta(days=7)
"""As the judge counts: an alarm is right at most a week ahead."""

_CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Shadow:
    """What shadow has shown.

    Attributes:
        days: since the first advice was written down.
        advised: drains advised whose outcome is known.
        right: of those, followed by a failure.
        least_precision: lower end of the exact 95 % interval (Clopper and Pearson, 1934) of right ÷ advised.
    """

    days: float
    advised: int
    right: int
    least_precision: float


def shadow_of(
    entries: Sequence[Entry], events: pl.DataFrame, kind: LinkClass, now: datetime, since: datetime | None = None
) -> Shadow:
    """Count what was advised in shadow against what failed.

    Args:
        entries: the log's advice, in any order.
        events: what ``features.labels.failure_events`` gives.
        kind: class of links.
        now: until when.
        since: from when on: since the class went back to shadow.
    """
    ours = [one for one in entries if one.kind is Kind.ADVICE and one.link_class is kind and one.mode is Mode.SHADOW]
    ours = [one for one in ours if since is None or one.at >= since]
    days = (now - min((one.at for one in ours), default=now)) / timedelta(days=1)
    first: dict[str, Entry] = {}
    for one in sorted(ours, key=lambda entry: entry.at):
        if one.outcome == Advice.DRAIN and one.alarm_id is not None:
            first.setdefault(one.alarm_id, one)
    counted = events.filter(pl.col("verdict").is_in([Verdict.COUNTED, Verdict.RESCUED]))
    failures = list(counted.select("link_id", "failed_at").iter_rows())
    right = [_failed(one, failures) for one in first.values()]
    known = [hit for hit, one in zip(right, first.values(), strict=True) if hit or one.at + _DUE <= now]
    return Shadow(days, len(known), sum(known), _lower(sum(known), len(known)))


def refused_activation(shadow: Shadow, asked: Activation) -> str | None:
    """Why a class may not be made active; None where it may."""
    if shadow.days < asked.shadow_days:
        return f"{shadow.days:.1f} days of shadow; {asked.shadow_days:g} are asked for"
    if shadow.least_precision < asked.least_precision:
        return (
            f"{shadow.right} of {shadow.advised} advised drains were followed by a failure: the lower 95 % bound is "
            f"{shadow.least_precision:.2f}; {asked.least_precision:g} is asked for"
        )
    return None


def _failed(one: Entry, failures: Sequence[tuple[str, datetime]]) -> bool:
    return any(link == one.link_id and one.at <= at <= one.at + _DUE for link, at in failures)


def _lower(right: int, of: int) -> float:
    from scipy.stats import binomtest

    return float(binomtest(right, of).proportion_ci(_CONFIDENCE, method="exact").low) if of else 0.0
