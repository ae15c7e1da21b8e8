"""The joint estimator: one pooled discrete-time hazard, and what fails at which end, given that it does.

Person-period form (Singer & Willett 1993): a feature row enters once for each interval of
`INTERVALS_H` in which its link is at risk, with the interval as an input; cumulative risk
is 1 - prod(1 - hazard), so it rises by construction. One failure weighs one, however many
rows lead to it. The fault is learnt from rows before failures only, seen from both ends, so
that swapping the ends of a link swaps the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Self

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from ingest.errors import ModelError
from models import boosting
from models.base import FAULTS, HORIZONS_H, INTERVALS_H, TURNED, Prediction
from models.rows import RiskSet

__all__ = ["JointModel"]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
Ints = NDArray[np.int64]

_FAULT_REACH_H: Final = 72.0
"""Rows further from their failure do not show what it will be."""
_WELL_SHARE: Final = 1.0 / 3.0
"""Share of the intervals that a row far from any failure enters; the weight makes up for it."""
_TRUST: Final = (1.0, 1.0, 1.0, 1.0, 0.5, 0.25)
"""Weight of a failure in each interval: what shows four to seven days before is mostly something else [judgement]."""
_TINY: Final = 1e-7


@dataclass
class JointModel:
    """Hazard and fault of the links of module ends; scikit-learn conventions.

    The hazard sees a link, not an end: of each pair of own and far feature the worse one (by its sign), so both ends
    of a link are given the same risk.

    Attributes:
        names: feature columns in order; ``peer_x`` is ``x`` of the far end.
        signs: of each column, +1 / -1 where risk can only rise / fall with it, else 0.
        rounds, fault_rounds: boosting rounds of the hazard and of the fault.
        folds: folds of links whose out-of-fold hazards calibrate and set the alarm thresholds.
        seed: of the row sampling.
        hazard_, fault_: fitted boosters (``fault_`` is None where too few failures were seen).
        slope_, offset_: calibration: logit h' = slope logit h + offset of the interval.
        out_of_fold_: boosters of each fold, with the names of the links they have not seen.
    """

    names: tuple[str, ...]
    signs: tuple[int, ...]
    rounds: int = 250
    fault_rounds: int = 60
    folds: int = 3
    seed: int = 7
    hazard_: lgb.Booster | None = field(default=None, init=False)
    fault_: lgb.Booster | None = field(default=None, init=False)
    slope_: float = field(default=1.0, init=False)
    offset_: Floats64 = field(default_factory=lambda: np.zeros(len(INTERVALS_H)), init=False)
    out_of_fold_: list[tuple[frozenset[str], lgb.Booster]] = field(default_factory=list, init=False)

    def fit(self, data: RiskSet, fault: Ints) -> Self:
        """Learn from rows at risk.

        Args:
            data: rows and what became of them.
            fault: shape (n,), index into `FAULTS` of each row's next failure as seen from its end, -1 if unknown.

        Raises:
            ModelError: no failure was seen.
        """
        once = np.flatnonzero(data.first)
        link_rows = self.link_view(data.rows[once])
        row, interval, fails, weight = self._person_periods(data, once)
        if not fails.any():
            msg = "there is no failure to learn from: no counted ticket has telemetry before it"
            raise ModelError(msg)
        self.out_of_fold_, self.slope_, self.offset_ = [], 1.0, np.zeros(len(INTERVALS_H))
        groups = data.link[once[row]]
        held_out = np.full(row.shape[0], np.nan)
        folds = min(self.folds, len(set(groups[fails])))
        if folds > 1:
            for train, test in GroupKFold(folds, shuffle=True, random_state=self.seed).split(row, fails, groups):
                booster = self._boost(link_rows[row[train]], interval[train], fails[train], weight[train])
                held_out[test] = booster.predict(_with_interval(link_rows[row[test]], interval[test]))
                self.out_of_fold_.append((frozenset(groups[test]), booster))
            self._calibrate(held_out, interval, fails, weight)
        self.hazard_ = self._boost(link_rows[row], interval, fails, weight)
        self.fault_ = self._boost_fault(data, fault)
        return self

    def predict(self, rows: Floats, names: Sequence[str]) -> Prediction:
        """Risks and faults of feature rows; see `models.base.FailureModel`."""
        rows = boosting.in_order(rows, names, self.names)
        return Prediction(self._risk(self.link_view(rows), self._fitted()), self._fault(rows))

    def risk(self, rows: Floats) -> Floats:
        """Shape (n, horizons): the risks that `predict` gives, for rows with columns as `names`."""
        return self._risk(self.link_view(rows), self._fitted())

    def fault(self, rows: Floats) -> Floats:
        """Shape (n, faults): what `predict` says fails, for rows with columns as `names`."""
        return self._fault(rows)

    def predict_unseen(self, rows: Floats, link: NDArray[np.object_]) -> Floats:
        """Risks by the boosters that have not seen each row's link: what a new link would get.

        Args:
            rows: shape (n, pairs), as `link_view` gives them.
            link: shape (n,), name of each row's link.
        """
        out = np.empty((rows.shape[0], len(HORIZONS_H)), np.float32)
        left = np.ones(rows.shape[0], bool)
        for unseen, booster in self.out_of_fold_:
            mine = np.array([name in unseen for name in link], bool)
            out[mine] = self._risk(rows[mine], booster)
            left &= ~mine
        out[left] = self._risk(rows[left], self._fitted())
        return out

    @property
    def link_names(self) -> tuple[str, ...]:
        """Columns of `link_view`."""
        return tuple(self.names[own] for own, _, _ in self._pairs)

    def importance(self, count: int) -> dict[str, float]:
        """The `count` inputs that the hazard's trees gain most from, with their share of all gain."""
        booster = self._fitted()
        gain = booster.feature_importance("gain")
        order = np.argsort(-gain, kind="stable")[:count]
        names = booster.feature_name()
        return {names[j]: round(float(gain[j] / max(gain.sum(), 1e-9)), 6) for j in order if gain[j] > 0}

    def contributions(self, rows: Floats) -> Floats64:
        """Shape (n, pairs): what each column of `link_view` adds to the log-odds of failing (tree SHAP, 12 to 24 h)."""
        view = self.link_view(rows)
        day = np.full(view.shape[0], HORIZONS_H.index(24))
        shares = np.asarray(self._fitted().predict(_with_interval(view, day), pred_contrib=True))
        return shares[:, : len(self._pairs)]

    def _fitted(self) -> lgb.Booster:
        if self.hazard_ is None:
            msg = "this model has not been fitted"
            raise ModelError(msg)
        return self.hazard_

    def _risk(self, rows: Floats, booster: lgb.Booster) -> Floats:
        if rows.shape[0] == 0:
            return np.empty((0, len(HORIZONS_H)), np.float32)
        survived = np.ones(rows.shape[0])
        risk = np.empty((rows.shape[0], len(HORIZONS_H)), np.float32)
        for k in range(len(HORIZONS_H)):
            raw = np.asarray(booster.predict(_with_interval(rows, np.full(rows.shape[0], k)), raw_score=True))
            survived *= 1.0 - expit(self.slope_ * raw + self.offset_[k])
            risk[:, k] = 1.0 - survived
        return risk

    def _fault(self, rows: Floats) -> Floats:
        """Judged from both ends where both speak: the two answers are averaged, each turned to this end."""
        if self.fault_ is None or rows.shape[0] == 0:
            return np.full((rows.shape[0], len(FAULTS)), 1.0 / len(FAULTS), np.float32)
        fault = np.asarray(self.fault_.predict(rows), np.float32)
        two = rows[:, self.names.index("has_peer")] > 0
        if two.any():
            far = np.asarray(self.fault_.predict(rows[two][:, self._turned]), np.float32)
            fault[two] = (fault[two] + far[:, TURNED]) / 2
        return fault

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
            *((where[name], where[name], self.signs[where[name]]) for name in ("flaps_both_24h", "has_peer")),
        ]

    def link_view(self, rows: Floats) -> Floats:
        """Shape (n, pairs): the worse of each pair of columns, the same from both ends."""
        out = np.empty((rows.shape[0], len(self._pairs)), np.float32)
        for k, (own, far, sign) in enumerate(self._pairs):
            worse = np.fmin if sign < 0 else np.fmax
            out[:, k] = worse(rows[:, own], rows[:, far])
        return out

    def _person_periods(self, data: RiskSet, once: Ints) -> tuple[Ints, Ints, NDArray[np.bool_], Floats64]:
        """Rows of `once`, intervals, whether it fails in it, weights: a failure weighs the same in each interval."""
        rng = np.random.default_rng(self.seed)
        far = ~(data.until_event_h[once] <= HORIZONS_H[-1])
        parts = []
        for k, (begin, end) in enumerate(INTERVALS_H):
            at_risk, fails = (mask[once] for mask in data.at_risk(k))
            thinned = far & (rng.random(far.shape[0]) > _WELL_SHARE)
            row = np.flatnonzero(at_risk & ~thinned)
            weight = data.weight[once[row]] * _TRUST[k] / (end - begin) / np.where(far[row], _WELL_SHARE, 1.0)
            parts.append((row, np.full(row.shape[0], k), fails[row], weight))
        row, interval, fails, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
        return row, interval, fails, weight

    def _boost(self, rows: Floats, interval: Ints, fails: NDArray[np.bool_], weight: Floats64) -> lgb.Booster:
        return boosting.fit(
            _with_interval(rows, interval),
            fails.astype(np.float32),
            weight,
            [*(self.names[own] for own, _, _ in self._pairs), "interval"],
            rounds=self.rounds,
            objective="binary",
            learning_rate=0.05,
            num_leaves=12,
            min_sum_hessian_in_leaf=2.0,
            min_data_in_leaf=50,
            lambda_l2=5.0,
            feature_fraction=0.3,
            bagging_fraction=0.7,
            bagging_freq=1,
            monotone_constraints=[*(sign for _, _, sign in self._pairs), 0],
        )

    def _calibrate(self, held_out: Floats64, interval: Ints, fails: NDArray[np.bool_], weight: Floats64) -> None:
        """Platt scaling with one slope and an offset for each interval, pulled towards no change."""
        score = logit(np.clip(held_out, _TINY, 1 - _TINY))
        design = np.column_stack([score, *(interval == k for k in range(len(INTERVALS_H)))])
        found = LogisticRegression(C=10.0, fit_intercept=False, max_iter=500).fit(design, fails, sample_weight=weight)
        slope, *offset = found.coef_[0]
        self.slope_, self.offset_ = float(np.clip(slope, 0.3, 1.5)), np.array(offset)

    def _boost_fault(self, data: RiskSet, fault: Ints) -> lgb.Booster | None:
        use = np.flatnonzero((fault >= 0) & (data.until_event_h <= _FAULT_REACH_H))
        if len(set(data.event[use])) < _FEW_FAILURES:
            return None
        _, event, count = np.unique(data.event[use], return_inverse=True, return_counts=True)
        blind = data.rows[use].copy()
        blind[:, [j for j, name in enumerate(self.names) if name.startswith("peer_")]] = np.nan
        return boosting.fit(
            np.concatenate([data.rows[use], blind]),
            np.tile(fault[use], 2),
            np.tile(1.0 / count[event], 2),
            self.names,
            rounds=self.fault_rounds,
            objective="multiclass",
            num_class=len(FAULTS),
            learning_rate=0.1,
            num_leaves=7,
            min_sum_hessian_in_leaf=0.1,
            min_data_in_leaf=10,
            lambda_l2=1.0,
            feature_fraction=0.3,
        )


_FEW_FAILURES: Final = 10


def _with_interval(rows: Floats, interval: Ints) -> Floats:
    return np.column_stack([rows, interval.astype(np.float32)])
