"""A kept back-test as pages show it: what the alarms were worth, beside what else could have raised them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from serving.web.model_book import Models

__all__ = ["Honest", "Row", "comparison", "honest"]

_HEADLINE: Final = "24h"
_OURS: Final = "forelight"


@dataclass(frozen=True, slots=True)
class Honest:
    """The scorecard in a few numbers; None where they are not known.

    Attributes:
        precision, recall, f1: a day ahead.
        low, high: interval of 90 % of F1.
        at_base_rate: precision where so few modules fail a year as `base_rate` says.
        false: false alarms per 1,000 modules and week.
        failures: judged by so many.
    """

    start: str
    end: str
    failures: int
    precision: float | None
    recall: float | None
    f1: float | None
    low: float | None
    high: float | None
    base_rate: float | None
    at_base_rate: float | None
    false: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One who raises alarms, on the same failures as the others."""

    name: str
    f1: Mapping[str, float | None]
    precision: float | None
    recall: float | None
    false: float | None
    lead_h: float | None


def honest(models: Models) -> Honest | None:
    """Of the last back-test that is kept; None where none is."""
    card = {} if models.backtest is None else models.backtest.found.get(_OURS, {})
    if not card:
        return None
    lead = card["leads"][_HEADLINE]
    return Honest(
        start=card["start"][:10],
        end=card["end"][:10],
        failures=card["failures"],
        precision=lead["precision"],
        recall=lead["recall"],
        f1=lead["f1"],
        low=lead["f1_low"],
        high=lead["f1_high"],
        base_rate=card["base_rate_per_year"],
        at_base_rate=lead["precision_at_base_rate"],
        false=card["false_per_1000_module_weeks"],
    )


def comparison(models: Models) -> Sequence[Row]:
    """All that were judged on the same failures; ours first."""
    found = {} if models.backtest is None else models.backtest.found
    return [_row(name, card) for name, card in found.items() if "leads" in card]


def _row(name: str, card: Mapping[str, Any]) -> Row:
    leads = card["leads"]
    last = leads.get("1h") or next(iter(leads.values()))
    quantiles = list(card["lead_quantiles_h"].values())
    return Row(
        name=name,
        f1={lead: score["f1"] for lead, score in leads.items()},
        precision=last["precision"],
        recall=last["recall"],
        false=card["false_per_1000_module_weeks"],
        lead_h=quantiles[len(quantiles) // 2] if quantiles else None,
    )
