"""The judge: anybody's alarms against the failures of a fleet, by event and never by row.

``models.counting`` states and keeps the counting rules. Here the counts become rates, intervals and
a scorecard. Failures come from ``features.labels``, the same as for training.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import chdtri

from features.fleet import PORT, Fleet
from features.labels import Verdict
from models.counting import false_alarms, hits, placed
from models.scorecard import LeadScore, Scorecard
from models.truth import attribution

__all__ = ["BASE_RATE_PER_YEAR", "LEADS_H", "Counts", "counts", "judge", "judge_levels"]

LEADS_H: Final = (1, 6, 24)
"""Leads judged, in hours; F1 at 24 h is the headline: a day ahead."""

BASE_RATE_PER_YEAR: Final = 0.01
"""Failures a module and year that precision is restated at (design.md section 5)."""

_WEEKS_A_YEAR: Final = 365.25 / 7
_QUANTILES: Final = (0.1, 0.5, 0.9)
_INTERVAL: Final = (5.0, 95.0)
_ONE_SIDED: Final = 0.05
_DRAWS: Final = 1000
_OPTIONAL: Final = {
    "cleared_at": pl.Datetime("us", "UTC"),
    "level": pl.String(),
    "suspect": pl.String(),
    "failure_type": pl.String(),
    "action": pl.String(),
}


@dataclass(frozen=True, slots=True)
class _Tally:
    """Counts by link, aligned: what the bootstrap draws from."""

    failures: npt.NDArray[np.int64]
    false: npt.NDArray[np.int64]
    caught: dict[int, npt.NDArray[np.int64]]
    links: int


def judge(  # noqa: PLR0913 - few, named and defaulted
    alarms: pl.DataFrame,
    events: pl.DataFrame,
    fleet: Fleet,
    *,
    start: datetime,
    end: datetime,
    name: str = "alarms",
    leads_h: Sequence[int] = LEADS_H,
    base_rate_per_year: float = BASE_RATE_PER_YEAR,
    watched: Collection[date] | None = None,
) -> Scorecard:
    """Judge alarms over the failures of [start, end) by the rules of ``models.counting``.

    Args:
        alarms: site, device, interface, raised_at; cleared_at, suspect, failure_type and action where known. Those
            that stand at ``start`` may catch failures after it, and be false; those that were over by then do neither.
        events: what ``features.labels.failure_events`` gives, uncounted ones included, beyond ``end`` too where known.
        fleet: the fleet as known in the end.
        start: first time judged.
        end: the period ends before it.
        name: heads the scorecard's column.
        leads_h: leads in hours.
        base_rate_per_year: failures a module and year to restate precision at.
        watched: UTC days with telemetry; only they count as time in which alarms could be false. None: every day.
    """
    on_links = placed(_complete(alarms), fleet, start)
    tickets = events.filter(pl.col("failed_at").is_between(start, end, closed="left"))
    failures = tickets.filter(pl.col("verdict") == Verdict.COUNTED)
    found = hits(on_links, events, fleet).join(failures, on="event_id", how="semi")
    wrong = false_alarms(on_links, events, fleet, start=start, end=end, watched=watched)
    raised = on_links.unique("alarm").filter(pl.col("raised_at").is_between(start, end, closed="left"))
    tally = _tally(fleet, failures, wrong, {lead_h: _caught(found, lead_h) for lead_h in leads_h})
    modules = _modules(fleet, start, end)
    module_weeks = modules * _weeks(start, end, watched)
    false_rate = wrong.height / module_weeks if module_weeks else None
    lead_times_h = _lead_times_h(found)
    return Scorecard(
        name=name,
        start=start,
        end=end,
        alarms=raised.height,
        failures=failures.height,
        uncounted=_counts(tickets.filter(pl.col("verdict") != Verdict.COUNTED)["verdict"]),
        modules=modules,
        module_weeks=module_weeks,
        false_alarms=wrong.height,
        false_per_1000_module_weeks=None if false_rate is None else 1000 * false_rate,
        base_rate_per_year=base_rate_per_year,
        leads=tuple(_score(tally, lead_h, module_weeks, base_rate_per_year / _WEEKS_A_YEAR) for lead_h in leads_h),
        lead_times_h=lead_times_h,
        lead_quantiles_h={f"{q:.0%}": float(np.quantile(lead_times_h, q)) for q in _QUANTILES if lead_times_h},
        attribution=attribution(on_links, _by_lead(found, min(leads_h)), events, fleet),
        alarms_by_day=_counts(raised["raised_at"].dt.date()),
        false_by_day=_counts(wrong["day"]),
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """What a judgement counts, without intervals and attribution: failures, false alarms, caught by lead in hours."""

    failures: int
    false: int
    caught: dict[int, int]
    module_weeks: float


def counts(
    alarms: pl.DataFrame,
    events: pl.DataFrame,
    fleet: Fleet,
    *,
    start: datetime,
    end: datetime,
    leads_h: Sequence[int] = LEADS_H,
) -> Counts:
    """The counts of ``judge`` alone, for many sets of alarms; arguments as there."""
    on_links = placed(_complete(alarms), fleet, start)
    inside = pl.col("failed_at").is_between(start, end, closed="left") & (pl.col("verdict") == Verdict.COUNTED)
    failures = events.filter(inside)
    found = hits(on_links, events, fleet).join(failures, on="event_id", how="semi")
    return Counts(
        failures.height,
        false_alarms(on_links, events, fleet, start=start, end=end).height,
        {lead_h: _caught(found, lead_h).height for lead_h in leads_h},
        _modules(fleet, start, end) * ((end - start) / timedelta(weeks=1)),
    )


def judge_levels(
    alarms: pl.DataFrame,
    events: pl.DataFrame,
    fleet: Fleet,
    *,
    start: datetime,
    end: datetime,
    name: str = "alarms",
    watched: Collection[date] | None = None,
) -> list[Scorecard]:
    """A scorecard of all alarms and, where they have levels, one of those at level ``act``, from when they were."""
    cards = [judge(alarms, events, fleet, start=start, end=end, name=name, watched=watched)]
    if "level" in alarms.columns and alarms["level"].is_not_null().any():
        acts = alarms.filter(pl.col("level") == "act")
        if "act_at" in acts.columns:
            acts = acts.with_columns(raised_at=pl.coalesce("act_at", "raised_at"))
        cards.append(judge(acts, events, fleet, start=start, end=end, name=f"{name}, act", watched=watched))
    return cards


def _complete(alarms: pl.DataFrame) -> pl.DataFrame:
    """The alarms with every column that judging may use, null where they do not say; no site is "default"."""
    absent = [pl.lit(None, kind).alias(name) for name, kind in _OPTIONAL.items() if name not in alarms.columns]
    site = pl.col("site").fill_null("default") if "site" in alarms.columns else pl.lit("default").alias("site")
    return alarms.with_columns(site, *absent).select(*PORT, "raised_at", *_OPTIONAL)


def _by_lead(found: pl.DataFrame, lead_h: int) -> pl.DataFrame:
    """Hits raised at least so long before the failure."""
    return found.filter(pl.col("raised_at") <= pl.col("failed_at") - timedelta(hours=lead_h))


def _caught(found: pl.DataFrame, lead_h: int) -> pl.DataFrame:
    """One row a failure caught at the lead."""
    return _by_lead(found, lead_h).unique("event_id")


def _lead_times_h(found: pl.DataFrame) -> tuple[float, ...]:
    """Hours from the first hit to the failure, of each failure with one."""
    first = found.group_by("event_id").agg((pl.col("failed_at") - pl.col("raised_at")).max().alias("lead"))
    return tuple(first.select(pl.col("lead").dt.total_seconds() / 3600).to_series().sort())


def _modules(fleet: Fleet, start: datetime, end: datetime) -> int:
    """Optical cages with a module in the period; without an inventory, all ends of optical links."""
    optical = fleet.ends().filter(~pl.col("copper")).select(PORT).unique()
    if fleet.modules.is_empty():
        return optical.height
    installed = pl.col("installed_at").is_null() | (pl.col("installed_at") < end)
    there = pl.col("removed_at").is_null() | (pl.col("removed_at") > start)
    return fleet.modules.filter(installed, there).select(PORT).unique().join(optical, on=list(PORT), how="semi").height


def _weeks(start: datetime, end: datetime, watched: Collection[date] | None) -> float:
    """Weeks of the period, of the days with telemetry alone where they are told."""
    if watched is None:
        return (end - start) / timedelta(weeks=1)
    days = [datetime.combine(day, time(), UTC) for day in set(watched)]
    seen = [min(end, day + timedelta(days=1)) - max(start, day) for day in days]
    return sum((span for span in seen if span > timedelta()), timedelta()) / timedelta(weeks=1)


def _counts(values: pl.Series) -> dict[Any, int]:
    """How often each value occurs, in order of the values."""
    return dict(values.value_counts().sort(values.name).iter_rows())


def _tally(fleet: Fleet, failures: pl.DataFrame, wrong: pl.DataFrame, caught: dict[int, pl.DataFrame]) -> _Tally:
    """Counts by link, for links that have any; ``links`` is how many optical links there are in all."""
    optical = fleet.ends().filter(~pl.col("copper"))["link_id"]
    some = pl.concat([failures.select("link_id"), wrong.select("link_id")]).unique().sort("link_id")

    def by_link(rows: pl.DataFrame) -> npt.NDArray[np.int64]:
        counted = rows.group_by("link_id").len()
        joined = some.join(counted, on="link_id", how="left", maintain_order="left")
        return joined["len"].fill_null(0).to_numpy().astype(np.int64)

    return _Tally(
        failures=by_link(failures),
        false=by_link(wrong),
        caught={lead_h: by_link(rows) for lead_h, rows in caught.items()},
        links=pl.concat([optical, some["link_id"]]).n_unique(),
    )


def _score(tally: _Tally, lead_h: int, module_weeks: float, base_rate_per_week: float) -> LeadScore:
    """Rates at one lead."""
    caught, failures, false = int(tally.caught[lead_h].sum()), int(tally.failures.sum()), int(tally.false.sum())
    recall = caught / failures if failures else None
    right_rate = None if recall is None or not module_weeks else recall * base_rate_per_week
    most_false = float(chdtri(2 * (false + 1), _ONE_SIDED)) / 2
    low, high = _interval(tally, lead_h)
    return LeadScore(
        lead_h=lead_h,
        caught=caught,
        precision=_ratio(caught, false),
        recall=recall,
        f1=2 * caught / (caught + false + failures) if failures else None,
        f1_low=low,
        f1_high=high,
        precision_at_base_rate=None if right_rate is None else _ratio(right_rate, false / module_weeks),
        precision_at_base_rate_low=None if right_rate is None else _ratio(right_rate, most_false / module_weeks),
    )


def _ratio(right: float, wrong: float) -> float | None:
    return right / (right + wrong) if right + wrong else None


def _interval(tally: _Tally, lead_h: int) -> tuple[float | None, float | None]:
    """Bootstrap interval of F1 over links: a link's failures and false alarms go together."""
    if not tally.failures.sum():
        return None, None
    some = len(tally.failures)
    chances = np.append(np.full(some, 1 / tally.links), max(0.0, 1 - some / tally.links))
    draws = np.random.default_rng(0).multinomial(tally.links, chances, size=_DRAWS)[:, :-1]
    caught, failures, false = (draws @ counts for counts in (tally.caught[lead_h], tally.failures, tally.false))
    drawn = failures > 0
    f1 = 2 * caught[drawn] / (caught + false + failures)[drawn]
    low, high = np.percentile(f1, _INTERVAL)
    return float(low), float(high)
