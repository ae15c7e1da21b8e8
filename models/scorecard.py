"""A scorecard: how alarms did against failures, as numbers for a machine and as a table for a reader."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime

from rich.table import Table

from models.counting import TOLD_WITHIN
from models.points import BudgetPoint, HorizonCalibration

__all__ = [
    "BASE_RATES_PER_YEAR",
    "Attribution",
    "LeadScore",
    "Scorecard",
    "early_days",
    "figure",
    "scorecard_rows",
    "scorecard_table",
]

BASE_RATES_PER_YEAR = (0.002, 0.01, 0.05, 0.2)
"""Failures a module and year that F1 is restated at: a good optic's, the design's, a bad lot's, a bad year's."""

_NONE = "-"
_WEEKS_A_YEAR = 365.25 / 7


@dataclass(frozen=True, slots=True)
class LeadScore:
    """Counts and rates at one lead; a rate is None where it has no denominator.

    Attributes:
        lead_h: hours before the failure by which the alarm must stand.
        caught: failures caught.
        precision: caught / (caught + false alarms).
        recall: caught / failures.
        f1: their harmonic mean, 0 where nothing was caught.
        f1_low, f1_high: bootstrap interval of 90 % over links.
        precision_at_base_rate: precision where modules fail at the base rate: recall and the rate of false alarms
            are kept, the failures are not.
        precision_at_base_rate_low: the same at the most false alarms that the count does not rule out (95 %, Poisson):
            none seen in a short history is not none.
    """

    lead_h: int
    caught: int
    precision: float | None
    recall: float | None
    f1: float | None
    f1_low: float | None
    f1_high: float | None
    precision_at_base_rate: float | None
    precision_at_base_rate_low: float | None


@dataclass(frozen=True, slots=True)
class Attribution:
    """Whether what the alarms said was wrong was wrong, over failures caught at the shortest lead.

    Each share is None where the alarms or the tickets do not say. The last alarm before the failure counts.

    Attributes:
        type_accuracy: failure type right.
        unit_accuracy: module or fibre right; an alarm that abstains is left out.
        end_accuracy: of failed modules, the alarm stood on the right end.
        fault_unit_accuracy: module or fibre right, and of a module its end.
        action_accuracy: the first action is the one that helped.
        type_confusion: true type, then alarmed type, then count.
        unit_confusion: true fault unit, then alarmed one, then count.
    """

    type_accuracy: float | None = None
    unit_accuracy: float | None = None
    end_accuracy: float | None = None
    fault_unit_accuracy: float | None = None
    action_accuracy: float | None = None
    type_confusion: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    unit_confusion: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scorecard:
    """What the judge found of one set of alarms over [start, end).

    Attributes:
        alarms: raised in the period.
        failures: counted failures in the period; ``uncounted`` says how many tickets were not, and why.
        modules: optical cages with inventory in the period (all optical link ends where there is no inventory).
        module_weeks: modules times weeks with telemetry.
        false_alarms: at most one a link and day.
        lead_times_h: hours between the first hit and the failure, for each failure caught at any lead.
        lead_quantiles_h: quantiles of them.
        attribution: whether type, fault unit, end and action were right.
        alarms_by_day, false_by_day: counts by UTC day.
        at_budgets, curve: what the ranking of risks could do at fixed budgets of false alarms, where risks are known.
        calibration: whether the risks came true, by horizon, where risks are known.
    """

    name: str
    start: datetime
    end: datetime
    alarms: int
    failures: int
    uncounted: Mapping[str, int]
    modules: int
    module_weeks: float
    false_alarms: int
    false_per_1000_module_weeks: float | None
    base_rate_per_year: float
    leads: tuple[LeadScore, ...]
    lead_times_h: tuple[float, ...] = ()
    lead_quantiles_h: Mapping[str, float] = field(default_factory=dict)
    attribution: Attribution = Attribution()
    alarms_by_day: Mapping[date, int] = field(default_factory=dict)
    false_by_day: Mapping[date, int] = field(default_factory=dict)
    at_budgets: tuple[BudgetPoint, ...] = ()
    curve: tuple[BudgetPoint, ...] = ()
    calibration: tuple[HorizonCalibration, ...] = ()

    def f1_at(self, failures_per_year: float, lead_h: int) -> float | None:
        """F1 where modules fail so often: recall and the rate of false alarms are kept, the failures are not."""
        recall = self.at(lead_h).recall
        if recall is None or not self.module_weeks:
            return None
        failing, false = failures_per_year / _WEEKS_A_YEAR, self.false_alarms / self.module_weeks
        whole = recall * failing + false + failing
        return 2 * recall * failing / whole if whole else None

    def at(self, lead_h: int) -> LeadScore:
        """The score at one lead; KeyError names a lead that was not judged."""
        for score in self.leads:
            if score.lead_h == lead_h:
                return score
        raise KeyError(lead_h)

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON: times in ISO 8601, no NaN, what is not known is null."""
        values = asdict(self)
        values |= {"start": self.start.isoformat(), "end": self.end.isoformat()}
        for name in ("alarms_by_day", "false_by_day"):
            values[name] = {day.isoformat(): count for day, count in values[name].items()}
        values["leads"] = {f"{score.lead_h}h": asdict(score) for score in self.leads}
        values["f1_at_base_rates"] = {
            f"{rate:g}": {f"{score.lead_h}h": self.f1_at(rate, score.lead_h) for score in self.leads}
            for rate in BASE_RATES_PER_YEAR
        }
        values["lead_times_h"] = [round(hours, 3) for hours in self.lead_times_h]
        return values

    def metrics(self) -> dict[str, float]:
        """The numbers alone, flat, for a tracker; what is not known is left out."""
        flat = {
            f"{name}_{score.lead_h}h": getattr(score, name)
            for score in self.leads
            for name in ("precision", "recall", "f1", "precision_at_base_rate")
        }
        flat |= {name: getattr(self, name) for name in ("failures", "false_alarms", "false_per_1000_module_weeks")}
        for found in self.calibration:
            flat |= {
                f"calibration_slope_{found.horizon_h}h": found.slope,
                f"brier_skill_{found.horizon_h}h": found.brier_skill,
            }
        flat |= {f"recall_24h_at_{point.budget:g}": point.recall.get(24) for point in self.at_budgets}
        flat |= {name: value for name, value in asdict(self.attribution).items() if name.endswith("_accuracy")}
        return {name: float(value) for name, value in flat.items() if value is not None}


def figure(value: float | None, digits: int = 2) -> str:
    """A number as a reader sees it; a dash where there is none."""
    return _NONE if value is None else f"{value:.{digits}f}"


def _interval(score: LeadScore) -> str:
    if score.f1_low is None or score.f1_high is None:
        return _NONE
    return f"{score.f1_low:.2f} to {score.f1_high:.2f}"


def _at_base_rate(score: LeadScore) -> str:
    if score.precision_at_base_rate is None:
        return _NONE
    return f"{score.precision_at_base_rate:.2f}, >= {score.precision_at_base_rate_low:.2f}"


def _rows(card: Scorecard) -> list[tuple[str, str]]:
    """Label and value of each line, in the order read."""
    rows = [("failures", f"{card.failures}"), ("alarms raised", f"{card.alarms}")]
    for score in card.leads:
        lead = f"at {score.lead_h} h"
        rows += [
            (f"F1 {lead}", figure(score.f1)),
            ("  90 % interval", _interval(score)),
            (f"recall {lead}", figure(score.recall)),
            (f"precision {lead}", figure(score.precision)),
            (f"  if {100 * card.base_rate_per_year:g} % fail a year", _at_base_rate(score)),
        ]
    per_1000 = card.false_per_1000_module_weeks
    rows.append(("false alarms", f"{card.false_alarms}"))
    rows.append(("  per 1,000 modules and week", figure(per_1000)))
    quantiles = " / ".join(f"{hours:.0f}" for hours in card.lead_quantiles_h.values())
    told = card.attribution
    return [
        *rows,
        ("lead time h, 10 / 50 / 90 %", quantiles or _NONE),
        ("failure type right", figure(told.type_accuracy)),
        ("module or fibre right", figure(told.unit_accuracy)),
        ("end of a failed module right", figure(told.end_accuracy)),
        ("fault unit right", figure(told.fault_unit_accuracy)),
        ("first action right", figure(told.action_accuracy)),
    ]


def scorecard_rows(*cards: Scorecard) -> list[tuple[str, tuple[str, ...]]]:
    """Label, then each card's value, of every line; the cards have the same leads and base rate."""
    lines = zip(*(_rows(card) for card in cards), strict=True)
    return [(line[0][0], tuple(value for _, value in line)) for line in lines]


def scorecard_table(*cards: Scorecard, title: str = "Scorecard") -> Table:
    """Scorecards of the same leads and base rate side by side, one column each."""
    table = Table(title=title, title_justify="left")
    table.add_column("", no_wrap=True)
    for card in cards:
        table.add_column(card.name, justify="right")
    for label, values in scorecard_rows(*cards):
        table.add_row(label, *values)
    return table


def early_days(card: Scorecard, known_until: datetime) -> str:
    """Says how many false alarms may yet turn out right, and until when to judge for there to be none; else "".

    Args:
        card: the scorecard.
        known_until: telemetry and tickets reach so far.
    """
    told_until = known_until - TOLD_WITHIN
    open_days = sum(count for day, count in card.false_by_day.items() if day >= told_until.date())
    if not open_days or card.end <= told_until:
        return ""
    return (
        f"{open_days} of {card.false_alarms} false alarms were raised since {told_until:%Y-%m-%d}: what they foretell "
        "may still come, or have no ticket yet. Judge up to that day."
    )
