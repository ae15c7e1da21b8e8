"""Plain values of a judgement of risks: points of its curve, and how the risks came true."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["BudgetPoint", "HorizonCalibration", "RiskBand"]


@dataclass(frozen=True, slots=True)
class BudgetPoint:
    """What alarms above a threshold would have done.

    Attributes:
        threshold: of the risk.
        false_per_1000_module_weeks: their false alarms.
        recall, precision, f1: by lead in hours; None where there is no denominator.
        budget: the budget that this is the best point within; None on the curve itself.
    """

    threshold: float
    false_per_1000_module_weeks: float
    recall: Mapping[int, float | None]
    precision: Mapping[int, float | None]
    f1: Mapping[int, float | None]
    budget: float | None = None


@dataclass(frozen=True, slots=True)
class RiskBand:
    """Links and hours from one quantile of the risk to the next."""

    from_quantile: float
    rows: int
    expected: float
    observed: int

    @property
    def ratio(self) -> float | None:
        """Observed over expected; None where nothing is expected."""
        return self.observed / self.expected if self.expected > 0 else None


@dataclass(frozen=True, slots=True)
class HorizonCalibration:
    """How the risks of one horizon came true.

    Attributes:
        horizon_h: hours.
        rows: links and hours of which it is known what became of them within the horizon.
        failures: counted failures among what became of them, each once.
        slope, intercept: of the logistic regression on log-odds: 1 and 0 are calibrated; None where nothing failed.
        brier_skill: 0 is no better than everyone at the mean.
        top: the three highest bins: 90 to 99 %, 99 to 99.9 %, and above.
        curve: finer bins, for a plot.
    """

    horizon_h: int
    rows: int
    failures: int
    slope: float | None
    intercept: float | None
    brier_skill: float | None
    top: tuple[RiskBand, ...]
    curve: tuple[RiskBand, ...]
