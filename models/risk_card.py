"""A scorecard completed by what the risks behind the alarms tell: curve, budgets, calibration."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import polars as pl

from features.fleet import Fleet
from models.budgets import at_budgets, curve_of_alarms, curve_of_risks
from models.horizons import calibrations
from models.points import BudgetPoint
from models.risk_log import Risks
from models.scorecard import Scorecard

__all__ = ["RISK_COLUMNS", "with_alarm_risks", "with_risks"]

RISK_COLUMNS = ("risk_24h", "risk_168h", "risk")
"""Columns of an alarms table that a curve can be drawn by; the first that is there."""


def with_risks(card: Scorecard, risks: Risks, events: pl.DataFrame, fleet: Fleet, known_until: datetime) -> Scorecard:
    """The card with what hourly risks tell, over its own period.

    Args:
        card: of alarms raised on these risks.
        risks: of the period.
        events: what ``failure_events`` gives.
        fleet: records as known in the end.
        known_until: end of telemetry.
    """
    curve = curve_of_risks(risks, events, fleet, (card.start, card.end), module_weeks=card.module_weeks)
    return replace(_with_curve(card, curve), calibration=calibrations(risks, events, fleet, known_until))


def with_alarm_risks(card: Scorecard, alarms: pl.DataFrame, events: pl.DataFrame, fleet: Fleet) -> Scorecard:
    """The card with the curve of the alarms' own risks, where they say any; `alarms` as judged."""
    said = [name for name in RISK_COLUMNS if name in alarms.columns and alarms[name].is_not_null().any()]
    if not said:
        return card
    span = card.start, card.end
    return _with_curve(card, curve_of_alarms(alarms, said[0], events, fleet, span, card.module_weeks))


def _with_curve(card: Scorecard, curve: Sequence[BudgetPoint]) -> Scorecard:
    return replace(card, curve=tuple(curve), at_budgets=tuple(at_budgets(curve)))
