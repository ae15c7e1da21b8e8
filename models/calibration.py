"""From scores to risks: what a score was worth on links that the model had not seen.

Among low scores a unit tells much, among high ones little: a link far beyond its limit is no surer to fail within hours
than one just beyond. One slope for both made well links too ill, ailing ones too well and the worst too sure. So the
log-odds of an interval rise with the score by pieces, each with its own slope, none of which falls: the order stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from models.base import INTERVALS_H
from models.rows import RiskSet

__all__ = ["CALM_WEIGHT", "Calibration"]

Floats64 = NDArray[np.float64]
Bools = NDArray[np.bool_]

CALM_WEIGHT: Final = 0.05
"""What an hour of a well link weighs beside a failure, which weighs one [judgement]."""
_LENGTH_H: Final = np.array([end - begin for begin, end in INTERVALS_H], np.float64)
_SUDDEN_AN_HOUR: Final = 0.01 / 8766
"""Failures of a link an hour that nothing foretells, before any were seen: 1 % a year (optics reference 2.4)."""
_KNOTS: Final = np.array([-4.0, -2.0, 0.0, 2.0])
"""Scores at which one piece ends and the next begins: log-odds from hardly a sign to all but sure [judgement]."""
_HOLD: Final = 2.0
"""Failures that it takes to move a calibration halfway from where it starts [judgement]."""
_SLOPE: Final = np.array([1.0, 0.8, 0.4, 0.2, 0.1])
"""Of each piece before any failure was seen: what is all but sure is not made much surer by more of it [judgement; six
synthetic fleets of four kinds of physics were looked at, none of which the docs tell of]."""
_SLOPE_GIVE: Final = 0.3
"""By so much a slope is held there [judgement]."""
_SLOPE_RANGE: Final = (0.02, 3.0)
_ROUNDS: Final = 300
_SCORES: Final = (-30.0, 70.0)
"""No link was seen to score beyond 40."""
_KNOWN: Final = 10_001


@dataclass(frozen=True)
class Calibration:
    """Hazard of each of `INTERVALS_H`: a part fails without any warning, the rest as its score says.

    Attributes:
        floor: shape (intervals,), log-odds of failing without warning.
        slope: shape (intervals, pieces), what a unit of the score adds to the log-odds, piece by piece.
        offset: shape (intervals,), log-odds at the first knot.
    """

    floor: Floats64
    slope: Floats64
    offset: Floats64

    @classmethod
    def start(cls) -> Self:
        """Before any failure was seen: an hour of a well link weighs `CALM_WEIGHT`."""
        return cls._of(CALM_WEIGHT, _SLOPE)

    @classmethod
    def of_week(cls) -> Self:
        """Of scores that are log-odds of failing within the week, in any of its hours alike."""
        return cls._of(1 / float(_LENGTH_H.sum()), np.ones(_SLOPE.size))

    @classmethod
    def _of(cls, hour: float, slope: Floats64) -> Self:
        offset = np.log(_LENGTH_H * hour) + _KNOTS[0]
        return cls(np.log(_LENGTH_H * _SUDDEN_AN_HOUR), np.tile(slope, (_LENGTH_H.size, 1)), offset)

    def fitted(self, data: RiskSet, scores: Floats64) -> Self:
        """With each interval that has failures as they make it, pulled to where it was; scores of links not seen."""
        floor, slope, offset = self.floor.copy(), self.slope.copy(), self.offset.copy()
        pieces = _pieces(scores)
        for k in range(_LENGTH_H.size):
            at_risk, fails = data.at_risk(k)
            if fails.any():
                weight = data.weight[at_risk] / _LENGTH_H[k]
                at = np.array([floor[k], offset[k], *slope[k]])
                floor[k], offset[k], *slope[k] = _fit(pieces[at_risk], fails[at_risk], weight, at)
        return type(self)(floor, slope, offset)

    def risk(self, scores: Floats64) -> Floats64:
        """Shape (n, intervals): P(failing before the end of each)."""
        sudden = expit(self.floor)
        hazard = sudden + (1 - sudden) * expit(_pieces(scores) @ self.slope.T + self.offset)
        return np.asarray(1.0 - np.cumprod(1.0 - hazard, axis=1))

    def score(self, risk: Floats64, interval: int) -> Floats64:
        """Shape as `risk` (n,): the scores whose risks these are, before the end of an interval; within `_SCORES`."""
        known = np.linspace(*_SCORES, _KNOWN)
        return np.interp(risk, self.risk(known)[:, interval], known)

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {name: getattr(self, name).tolist() for name in ("floor", "slope", "offset")}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`.

        Raises:
            ValueError: it is not of the intervals and pieces of this code.
        """
        made, usual = cls(**{name: np.array(value, np.float64) for name, value in values.items()}), cls.start()
        if any(getattr(made, name).shape != getattr(usual, name).shape for name in usual.to_dict()):
            msg = "its calibration has other intervals or pieces"
            raise ValueError(msg)
        return made


def _pieces(scores: Floats64) -> Floats64:
    """Shape (n, pieces): how far each score has come in each piece; they add up to the way from the first knot."""
    edges = [-np.inf, *_KNOTS, np.inf]
    below = np.minimum(scores, _KNOTS[0]) - _KNOTS[0]
    above = (np.clip(scores, low, high) - low for low, high in pairwise(edges[1:]))
    return np.column_stack([below, *above])


def _fit(pieces: Floats64, fails: Bools, weight: Floats64, at: Floats64) -> Floats64:
    """Floor, offset and slopes under which what happened is likeliest, held at given ones."""
    target, give = fails.astype(np.float64), np.array([1.0, 1.0, *[_SLOPE_GIVE] * pieces.shape[1]])

    def loss(values: Floats64) -> tuple[float, Floats64]:
        sudden, warned = expit(values[0]), expit(pieces @ values[2:] + values[1])
        hazard = np.clip(sudden + (1 - sudden) * warned, 1e-12, 1 - 1e-12)
        fit = -(weight @ (target * np.log(hazard) + (1 - target) * np.log1p(-hazard)))
        slack = weight * ((1 - target) / (1 - hazard) - target / hazard)
        at_score = slack * (1 - sudden) * warned * (1 - warned)
        at_floor = (slack * (1 - warned)).sum() * sudden * (1 - sudden)
        moved = (values - at) / give
        gradient = np.concatenate([[at_floor, at_score.sum()], at_score @ pieces]) + _HOLD * moved / give
        return float(fit + 0.5 * _HOLD * moved @ moved), gradient

    bounds = [(-20, 0), (-20, 10), *[_SLOPE_RANGE] * pieces.shape[1]]
    found: Floats64 = minimize(loss, at, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _ROUNDS}).x
    return found
