"""Recall at fixed budgets of false alarms: the threshold moved over the judged span itself, so that rankings compare.

A policy had to choose its threshold before the span; here it is moved in hindsight. That says what a ranking of risks
could do at a budget, not what anybody's alarms did: the scorecard says that.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.fleet import Fleet
from models.evaluate import Counts, counts
from models.points import BudgetPoint
from models.policy import ALARM_HORIZON_H, CLEAR_BELOW
from models.policy_fit import persistent
from models.risk_log import Risks, ports_frame

__all__ = ["BUDGETS", "at_budgets", "curve_of_alarms", "curve_of_risks"]

BUDGETS: Final = (0.1, 0.5, 1.0, 2.0, 5.0)
"""False alarms per 1,000 modules and week."""

_STEPS: Final = 32
_NEED, _OF = 2, 3
_APART: Final = timedelta(hours=24)
"""An alarm ends when the risk stays below `CLEAR_BELOW` of the threshold for so long: the hysteresis of the policy."""

Span = tuple[datetime, datetime]


def curve_of_risks(
    risks: Risks,
    events: pl.DataFrame,
    fleet: Fleet,
    span: Span,
    horizon_h: int = ALARM_HORIZON_H,
    module_weeks: float | None = None,
) -> list[BudgetPoint]:
    """The curve of risks scored hour by hour, two of three scores above the threshold raising an alarm.

    Args:
        risks: of every link and time of the span.
        events: what ``failure_events`` gives.
        fleet: records as known in the end.
        span: judged.
        horizon_h: which risk is compared with the threshold.
        module_weeks: that alarms could be false in; those of the whole span where not given.
    """
    risk = np.nan_to_num(risks.risk[horizon_h])
    level = persistent(risk, _NEED, _OF)
    weeks = max(1, round((risks.times[-1] - risks.times[0]) / timedelta(weeks=1))) if risks.times else 1
    peaks = np.sort(np.concatenate([part.max(axis=1, initial=0.0) for part in np.array_split(level, weeks, axis=1)]))[
        ::-1
    ]
    peaks = peaks[peaks > 0]
    if not peaks.size:
        return []
    ranks = np.unique(np.geomspace(1, peaks.size, _STEPS).astype(np.int64)) - 1
    ports = ports_frame(risks)

    def raised(limit: float) -> pl.DataFrame:
        return _crossings(level >= limit, risk >= CLEAR_BELOW * limit, risks, ports)

    return _curve(np.unique(peaks[ranks])[::-1], raised, events, fleet, span, module_weeks)


def curve_of_alarms(
    alarms: pl.DataFrame, risk: str, events: pl.DataFrame, fleet: Fleet, span: Span, module_weeks: float | None = None
) -> list[BudgetPoint]:
    """The curve of alarms that say a risk: those above the threshold, as they were raised and cleared.

    Args:
        alarms: as ``judge`` takes them, with a column ``risk``; those without a value are never above.
        risk: name of that column.
        events: what ``failure_events`` gives.
        fleet: records as known in the end.
        span: judged.
        module_weeks: that alarms could be false in; those of the whole span where not given.
    """
    values = np.unique(alarms[risk].drop_nulls().to_numpy())
    limits = np.unique(np.quantile(values, np.linspace(0, 1, _STEPS))) if values.size else values
    return _curve(limits[::-1], lambda limit: alarms.filter(pl.col(risk) >= limit), events, fleet, span, module_weeks)


def at_budgets(curve: Sequence[BudgetPoint], budgets: Sequence[float] = BUDGETS) -> list[BudgetPoint]:
    """The lowest threshold of the curve within each budget; budgets below any point of it are left out."""
    found = []
    for budget in budgets:
        within = [point for point in curve if point.false_per_1000_module_weeks <= budget]
        if within:
            best = min(within, key=lambda point: point.threshold)
            found.append(replace(best, budget=budget))
    return found


def _curve(
    limits: NDArray[np.floating],
    raised: Callable[[float], pl.DataFrame],
    events: pl.DataFrame,
    fleet: Fleet,
    span: Span,
    module_weeks: float | None,
) -> list[BudgetPoint]:
    """A point for each limit, descending."""
    start, end = span
    found = [counts(raised(float(limit)), events, fleet, start=start, end=end) for limit in limits]
    return [
        _point(float(limit), each, each.module_weeks if module_weeks is None else module_weeks)
        for limit, each in zip(limits, found, strict=True)
    ]


def _point(limit: float, found: Counts, module_weeks: float) -> BudgetPoint:
    leads = tuple(found.caught)
    ratio = {lead: found.caught[lead] + found.false for lead in leads}
    return BudgetPoint(
        limit,
        1000 * found.false / module_weeks if module_weeks else 0.0,
        {lead: found.caught[lead] / found.failures if found.failures else None for lead in leads},
        {lead: found.caught[lead] / ratio[lead] if ratio[lead] else None for lead in leads},
        {lead: 2 * found.caught[lead] / (ratio[lead] + found.failures) if found.failures else None for lead in leads},
    )


def _crossings(above: NDArray[np.bool_], holds: NDArray[np.bool_], risks: Risks, ports: pl.DataFrame) -> pl.DataFrame:
    """An alarm from the first hour above, while hours that hold it lie within a day; it ends a day after the last."""
    at = np.array([time.timestamp() for time in risks.times])
    link, column = np.nonzero(holds | above)
    begins = np.ones(link.size, bool)
    begins[1:] = (link[1:] != link[:-1]) | (np.diff(at[column]) > _APART.total_seconds())
    last = np.flatnonzero(np.append(begins[1:], [True])[: link.size])
    crossed, first = np.unique(np.cumsum(begins)[above[link, column]] - 1, return_index=True)
    raised = np.flatnonzero(above[link, column])[first]
    frame = ports[link[raised]].with_columns(
        raised_at=_times(at[column[raised]]),
        cleared_at=_times(at[column[last[crossed]]] + _APART.total_seconds()),
    )
    over = pl.col("cleared_at") <= risks.times[-1]
    return frame.with_columns(cleared_at=pl.when(over).then("cleared_at"))


def _times(seconds: NDArray[np.float64]) -> pl.Series:
    return pl.Series((seconds * 1e6).astype(np.int64)).cast(pl.Datetime("us", "UTC"))
