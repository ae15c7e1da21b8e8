"""Whether risks mean what they say: calibration slope, Brier skill, observed over expected.

Pure functions on arrays: ``risks`` are probabilities, ``outcomes`` 0 or 1, one entry a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["RiskBin", "brier_skill", "calibration_line", "observed_expected"]

_TINY: Final = 1e-12
_TOP_BINS: Final = (0.0, 0.9, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class RiskBin:
    """Rows whose risk lies between two quantiles: how many, failures expected and observed."""

    from_quantile: float
    to_quantile: float
    rows: int
    expected: float
    observed: int

    @property
    def ratio(self) -> float | None:
        """Observed over expected: 1 is calibrated, below 1 the risks are too high."""
        return self.observed / self.expected if self.expected > 0 else None


def brier_skill(risks: npt.ArrayLike, outcomes: npt.ArrayLike) -> float | None:
    """1 is perfect, 0 no better than everyone at the mean rate; None where nothing (or everything) failed.

    >>> brier_skill([0.0, 1.0], [0, 1])
    1.0
    """
    p, y = np.asarray(risks, float), np.asarray(outcomes, float)
    reference = float(np.mean((y - y.mean()) ** 2)) if y.size else 0.0
    return None if reference == 0.0 else 1.0 - float(np.mean((y - p) ** 2)) / reference


def calibration_line(
    risks: npt.ArrayLike, outcomes: npt.ArrayLike, *, iterations: int = 50
) -> tuple[float, float] | None:
    """Intercept and slope of the logistic regression of outcomes on log-odds of the risks (Cox, 1958).

    (0, 1) is calibrated; a slope below 1 means risks too extreme. None where it cannot be fit: one class only, or
    all risks alike.
    """
    p, y = np.clip(np.asarray(risks, float), _TINY, 1 - _TINY), np.asarray(outcomes, float)
    if y.size == 0 or y.min() == y.max() or p.min() == p.max():
        return None
    x = np.column_stack([np.ones_like(p), np.log(p / (1 - p))])
    beta = np.array([0.0, 1.0])
    for _ in range(iterations):
        fitted = 1 / (1 + np.exp(-np.clip(x @ beta, -35, 35)))
        weight = np.maximum(fitted * (1 - fitted), _TINY)
        step = np.linalg.lstsq(x.T @ (x * weight[:, None]), x.T @ (y - fitted), rcond=None)[0]
        beta = beta + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-9:  # noqa: PLR2004 - converged to float precision
            return float(beta[0]), float(beta[1])
    return None


def observed_expected(
    risks: npt.ArrayLike, outcomes: npt.ArrayLike, quantiles: Sequence[float] = _TOP_BINS
) -> list[RiskBin]:
    """Failures observed and expected between quantiles of the risk, the top ones fine: alarms live there."""
    p, y = np.asarray(risks, float), np.asarray(outcomes, float)
    order = np.argsort(p, kind="stable")
    edges = [round(q * p.size) for q in (*quantiles, 1.0)]
    bins = []
    for low, high, start, stop in zip(quantiles, (*quantiles[1:], 1.0), edges[:-1], edges[1:], strict=True):
        rows = order[start:stop]
        bins.append(RiskBin(low, high, len(rows), float(p[rows].sum()), int(y[rows].sum())))
    return bins
