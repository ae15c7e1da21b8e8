"""The joint estimator: when a link fails, and what fails at which end, given that it does.

The hazard sees a link, not an end: of each pair of own and far feature the worse one, so both ends of a link are given
the same risk. The fault is learnt from rows before failures only, seen from both ends, so that swapping the ends of a
link swaps the answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from features.pipeline import FeaturePipeline
from models import boosting
from models.base import HORIZONS_H, Prediction
from models.fault import FaultModel
from models.hazard import Hazard
from models.policy import ALARM_HORIZON_H
from models.policy_fit import Scale
from models.ramps import Hold
from models.rows import RiskSet
from models.symptoms import ONLY_SYMPTOMS
from models.tuning import Search, search

__all__ = ["JointModel", "joint_model"]

_ALARM_COLUMN: Final = HORIZONS_H.index(ALARM_HORIZON_H)
_AT_ONCE: Final = 4_096
"""Rows that are looked at together: what is held in between stays small."""
_OF_BOTH: Final = ("loss_rise_both_6h", "flaps_both_24h", "has_peer")
"""Columns that are the same from both ends."""

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
Ints = NDArray[np.int64]


def joint_model() -> "JointModel":
    """The unfitted model of all features that there are."""
    pipeline = FeaturePipeline()
    return JointModel(pipeline.names, pipeline.signs)


@dataclass
class JointModel:
    """Hazard and fault of the links of module ends; scikit-learn conventions.

    Attributes:
        names: feature columns in order; ``peer_x`` is ``x`` of the far end.
        signs: of each column, +1 / -1 where risk can only rise / fall with it, else 0.
        rounds, fault_rounds: most boosting rounds of the hazard, rounds of the fault.
        folds, seed: as of `models.hazard.Hazard`.
        hazard_, fault_: the two factors.
    """

    names: tuple[str, ...]
    signs: tuple[int, ...]
    rounds: int = 120
    fault_rounds: int = 60
    folds: int = 3
    seed: int = 7
    hold: Hold = field(default_factory=Hold)
    hazard_: Hazard = field(init=False)
    fault_: FaultModel = field(init=False)

    def __post_init__(self) -> None:
        signs = tuple(sign for _, _, sign in self._of_risk)
        self.hazard_ = Hazard(self.link_names, signs, self.rounds, self.folds, self.seed, self.hold)
        self.fault_ = FaultModel(self.names, self._turned, self.fault_rounds)

    def fit(self, data: RiskSet, fault: Ints) -> Self:
        """Learn from rows at risk.

        Args:
            data: rows and what became of them.
            fault: shape (n,), index into `FAULTS` of each row's next failure as seen from its end, -1 if unknown.

        Raises:
            ModelError: no failure was seen.
        """
        self.hazard_.fit(self.of_links(data))
        told = np.flatnonzero(fault >= 0)
        risk = np.zeros(fault.shape)
        risk[told] = self.predict_unseen(self.link_view(data.rows[told]), data.link[told])[:, _ALARM_COLUMN]
        self.fault_.fit(data, fault, risk)
        return self

    def tuned(self, data: RiskSet, trials: int, progress: Callable[[float], None]) -> tuple["JointModel", Search]:
        """An unfitted model with the setting that foretells best, and what was tried; see `models.tuning`."""
        found = search(self.of_links(data), self.link_names, self.hazard_.signs, trials, progress, self.seed, self.hold)
        return replace(self, hold=found.chosen), found

    def of_links(self, data: RiskSet) -> RiskSet:
        """One row a link and time, with the columns of `link_view`."""
        once = np.flatnonzero(data.first)
        return data.take(once, self.link_view(data.rows[once]))

    def predict(self, rows: Floats, names: Sequence[str]) -> Prediction:
        """Risks and faults of feature rows; see `models.base.FailureModel`."""
        rows = boosting.in_order(rows, names, self.names)
        return Prediction(self.risk(rows), self.fault(rows))

    def risk(self, rows: Floats) -> Floats:
        """Shape (n, horizons): the risks that `predict` gives, for rows with columns as `names`."""
        return self.hazard_.risk(self.link_view(rows))

    def fault(self, rows: Floats) -> Floats:
        """Shape (n, faults): what `predict` says fails, for rows with columns as `names`."""
        return self.fault_.predict(rows)

    def predict_unseen(self, rows: Floats, link: NDArray[np.object_]) -> Floats:
        """Risks by the scorers that have not seen each row's link: what a new link would get.

        Args:
            rows: shape (n, pairs), as `link_view` gives them.
            link: shape (n,), name of each row's link.
        """
        return self.hazard_.risk_unseen(rows, link)

    @property
    def alarm_scale(self) -> Scale:
        """From risks that alarms rest on to the scores behind them, and back."""
        calibration = self.hazard_.calibration_
        return Scale(
            lambda risk: calibration.score(risk, _ALARM_COLUMN), lambda score: calibration.risk(score)[:, _ALARM_COLUMN]
        )

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """Columns of `link_view`."""
        return tuple(self.names[own] for own, _, _ in self._of_risk)

    def importance(self, count: int) -> dict[str, float]:
        """The `count` columns of `link_view` that add most to the score before a failure, with their share of all."""
        found = self.hazard_.importance_
        order = sorted(found, key=lambda name: -found[name])[:count]
        return {name: round(found[name] / max(sum(found.values()), 1e-9), 6) for name in order}

    def contributions(self, rows: Floats) -> Floats64:
        """Shape (n, pairs): what each column of `link_view` adds to the log-odds of failing."""
        return self.hazard_.fitted.contributions(self.link_view(rows))

    def link_view(self, rows: Floats) -> Floats:
        """Shape (n, pairs): the worse of each pair of columns, the same from both ends."""
        out = np.empty((rows.shape[0], len(self._of_risk)), np.float32)
        for begin in range(0, rows.shape[0], _AT_ONCE):
            part = rows[begin : begin + _AT_ONCE]
            for worse, (column, own, far) in self._by_side:
                out[begin : begin + _AT_ONCE, column] = worse(part[:, own], part[:, far])
        return out

    def whose(self, rows: Floats) -> NDArray[np.str_]:
        """Shape (n, pairs): ``near``, ``far`` or ``both``, the end whose value `link_view` takes."""
        own, far = (rows[:, [pair[k] for pair in self._of_risk]] for k in (0, 1))
        view = self.link_view(rows)
        return np.where((own == far) | np.isnan(view), "both", np.where(own == view, "near", "far"))

    @cached_property
    def _by_side(self) -> list[tuple[np.ufunc, Ints]]:
        """Which of two is the worse, and of which columns: their place in `link_view`, own and far."""
        pairs = np.array([(k, own, far) for k, (own, far, _) in enumerate(self._of_risk)], np.int64).reshape(-1, 3)
        falls = np.array([sign < 0 for _, _, sign in self._of_risk], np.bool_)
        return [(np.fmin, pairs[falls].T), (np.fmax, pairs[~falls].T)]

    @cached_property
    def _of_risk(self) -> list[tuple[int, int, int]]:
        """Those of `_pairs` that the hazard sees."""
        return [pair for pair in self._pairs if self.names[pair[0]] not in ONLY_SYMPTOMS]

    @cached_property
    def _turned(self) -> Ints:
        """Columns in the order that makes of a row the row of the far end."""
        where = {name: j for j, name in enumerate(self.names)}
        swap = {own: far for own, far, _ in self._pairs}
        swap |= {far: own for own, far in swap.items()}
        return np.array([swap[where[name]] for name in self.names])

    @cached_property
    def _pairs(self) -> list[tuple[int, int, int]]:
        """Column of each own feature, of the far end's same feature, and its sign."""
        where = {name: j for j, name in enumerate(self.names)}
        own = [name for name in self.names if f"peer_{name}" in where]
        return [
            *((where[name], where[f"peer_{name}"], self.signs[where[name]]) for name in own),
            (where["loss_rise_in_6h"], where["loss_rise_out_6h"], 1),
            *((where[name], where[name], self.signs[where[name]]) for name in _OF_BOTH),
        ]
