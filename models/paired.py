"""Two sets of alarms on the same failures: is the second better than the first by more than chance would have it?

Paired: each draw of the bootstrap takes the same links for both, so that what is hard for both cancels.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.fleet import Fleet
from features.labels import Verdict
from models.counting import false_alarms, hits, placed

__all__ = ["Comparison", "Difference", "compare"]

Ints = NDArray[np.int64]

_LEADS_H: Final = (24, 1)
"""The first decides; the others must not be worse."""
_INTERVAL: Final = (5.0, 95.0)
_DRAWS: Final = 2000


@dataclass(frozen=True, slots=True)
class Difference:
    """F1 of both at one lead, and the 90 % interval of what the challenger adds."""

    lead_h: int
    champion: float
    challenger: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What both did with the same failures.

    Attributes:
        start, end: the span, after both were trained.
        failures: counted ones in it.
        false_champion, false_challenger: false alarms in it, at most one a link and day.
        differences: by lead, empty where nothing failed.
    """

    start: datetime
    end: datetime
    failures: int
    false_champion: int
    false_challenger: int
    differences: tuple[Difference, ...]

    @property
    def better(self) -> bool:
        """Whether F1 a day ahead is higher beyond its interval, and at no other lead lower beyond its own."""
        if not self.differences:
            return False
        first, *others = self.differences
        return first.low > 0 and all(other.high >= 0 for other in others)

    @property
    def said(self) -> str:
        """One line."""
        span = f"{self.start:%Y-%m-%d %H:%M}Z to {self.end:%Y-%m-%d %H:%M}Z"
        if not self.differences:
            return f"nothing that counts failed from {span}"
        told = [
            f"F1 at {d.lead_h} h {d.champion:.2f} → {d.challenger:.2f} ({d.low:+.2f} to {d.high:+.2f})"
            for d in self.differences
        ]
        false = f"false alarms {self.false_champion} → {self.false_challenger}"
        return f"{', '.join(told)}, {false}, {self.failures} failures from {span}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {**asdict(self), "start": self.start.isoformat(), "end": self.end.isoformat(), "better": self.better}


def compare(
    champion: pl.DataFrame,
    challenger: pl.DataFrame,
    events: pl.DataFrame,
    fleet: Fleet,
    *,
    start: datetime,
    end: datetime,
) -> Comparison:
    """Judge two sets of alarms by the rules of ``models.counting`` on the failures of [start, end).

    Args:
        champion: alarms, with the columns that ``models.alarm.alarm_frame`` gives.
        challenger: likewise.
        events: what ``features.labels.failure_events`` gives.
        fleet: the fleet as known in the end.
        start: first time judged.
        end: the period ends before it.
    """
    inside = pl.col("failed_at").is_between(start, end, closed="left") & (pl.col("verdict") == Verdict.COUNTED)
    failures = events.filter(inside)
    both = [_Told.of(alarms, events, failures, fleet, (start, end)) for alarms in (champion, challenger)]
    links = sorted({link for frame in (failures, *(told.false for told in both)) for link in frame["link_id"]})
    optical = fleet.ends().filter(~pl.col("copper"))["link_id"]
    everywhere = pl.concat([optical, pl.Series(links, dtype=pl.String)]).n_unique()
    differences = _differences(both, failures, links, everywhere) if failures.height else ()
    return Comparison(start, end, failures.height, both[0].false.height, both[1].false.height, differences)


@dataclass(frozen=True, slots=True)
class _Told:
    false: pl.DataFrame
    hits: pl.DataFrame

    @classmethod
    def of(
        cls,
        alarms: pl.DataFrame,
        events: pl.DataFrame,
        failures: pl.DataFrame,
        fleet: Fleet,
        span: tuple[datetime, datetime],
    ) -> "_Told":
        on_links = placed(alarms, fleet, span[0])
        found = hits(on_links, events, fleet).join(failures, on="event_id", how="semi")
        return cls(false_alarms(on_links, events, fleet, start=span[0], end=span[1]), found)

    def caught(self, lead_h: int) -> pl.DataFrame:
        """One row a failure caught at the lead."""
        early = pl.col("raised_at") <= pl.col("failed_at") - pl.duration(hours=lead_h)
        return self.hits.filter(early).unique("event_id")


def _differences(
    both: Sequence[_Told], failures: pl.DataFrame, links: Sequence[str], everywhere: int
) -> tuple[Difference, ...]:
    fails, *false = (_by_link(frame, links) for frame in (failures, *(told.false for told in both)))
    chances = np.append(np.full(len(links), 1 / everywhere), max(0.0, 1 - len(links) / everywhere))
    draws = np.random.default_rng(0).multinomial(everywhere, chances, size=_DRAWS)[:, :-1]
    draws = draws[draws @ fails > 0]
    out = []
    for lead_h in _LEADS_H:
        caught = [_by_link(told.caught(lead_h), links) for told in both]
        drawn = [_f1(draws @ c, draws @ f, draws @ fails) for c, f in zip(caught, false, strict=True)]
        whole = [float(_f1(c.sum(), f.sum(), fails.sum())) for c, f in zip(caught, false, strict=True)]
        low, high = np.percentile(drawn[1] - drawn[0], _INTERVAL)
        out.append(Difference(lead_h, whole[0], whole[1], float(low), float(high)))
    return tuple(out)


def _f1(caught: Any, false: Any, failures: Any) -> Any:
    return 2 * caught / (caught + false + failures)


def _by_link(rows: pl.DataFrame, links: Sequence[str]) -> Ints:
    counted = dict(rows.group_by("link_id").len().iter_rows())
    return np.array([counted.get(link, 0) for link in links], np.int64)
