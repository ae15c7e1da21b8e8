"""When a link fails: a score that ramps and trees make, and a pooled discrete-time hazard of it.

Person-period form (Singer & Willett 1993): a row counts once for each interval of `INTERVALS_H` in which its link is at
risk; the hazard of an interval rises with the score (`models.calibration`), so cumulative risk, 1 - prod(1 - hazard),
rises by construction, and all horizons put links in the same order. A failure weighs one, however many rows lead to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Self

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from ingest.errors import ModelError
from models import boosting
from models.base import HORIZONS_H
from models.calibration import CALM_WEIGHT, Calibration
from models.ramps import Hold, RampModel
from models.rows import RiskSet

__all__ = ["Hazard", "Scorer", "about_to_fail"]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

_CALM_H: Final = 72.0
"""A link is well if it was seen for so long afterwards, and no failure came within a week."""
_STEPS: Final = 20
"""Rounds of trees between which is chosen."""


@dataclass(frozen=True)
class Scorer:
    """Log-odds that a link is about to fail, as ramps say, corrected by trees where there are any."""

    ramps: RampModel
    trees: lgb.Booster | None = None

    def score(self, rows: Floats) -> Floats64:
        """Shape (n,)."""
        scores = self.ramps.score(rows)
        if self.trees is not None and rows.shape[0]:
            scores = scores + np.asarray(self.trees.predict(rows, raw_score=True))
        return scores

    def contributions(self, rows: Floats) -> Floats64:
        """Shape (n, columns): what each column adds to the score (of trees by SHAP)."""
        shares = self.ramps.contributions(rows)
        if self.trees is not None and rows.shape[0]:
            shares += np.asarray(self.trees.predict(rows, pred_contrib=True))[:, : rows.shape[1]]
        return shares


@dataclass
class Hazard:
    """Risk of links of failing within each of `HORIZONS_H`; scikit-learn conventions.

    Attributes:
        names: columns of a link's row.
        signs: of each, +1 / -1 where risk can only rise / fall with it, else 0.
        rounds: most rounds of trees; fewer, or none, where links not seen before are no better foretold.
        folds: folds of links whose out-of-fold scores choose the trees, calibrate, and set the alarm thresholds.
        seed: of folds and trees.
        hold: how hard the coefficients of ramps are held at 0.
        scorer_: fitted on all links; None before `fit`.
        calibration_: from scores to hazards of intervals.
        out_of_fold_: of each fold the names of the links that its scorer has not seen, and the scorer.
        importance_: of each column the mean of what it adds to the score before a failure.
    """

    names: tuple[str, ...]
    signs: tuple[int, ...]
    rounds: int = 120
    folds: int = 3
    seed: int = 7
    hold: Hold = field(default_factory=Hold)
    scorer_: Scorer | None = field(default=None, init=False)
    calibration_: Calibration = field(default_factory=Calibration.start, init=False)
    out_of_fold_: list[tuple[frozenset[str], Scorer]] = field(default_factory=list, init=False)
    importance_: dict[str, float] = field(default_factory=dict, init=False)

    def fit(self, data: RiskSet) -> Self:
        """Learn from rows of links at risk, one a link and time.

        Raises:
            ModelError: no failure was seen.
        """
        fails, weight = about_to_fail(data)
        if not fails.any():
            msg = "there is no failure to learn from: no counted ticket has telemetry before it"
            raise ModelError(msg)
        self.out_of_fold_, self.calibration_ = [], Calibration.start()
        known = np.flatnonzero(weight > 0)
        folds = min(self.folds, len(set(data.link[fails])))
        rounds = 0
        if folds > 1:
            kfold = GroupKFold(folds, shuffle=True, random_state=self.seed)
            splits = list(kfold.split(data.rows, groups=data.link))
            parts = [train[weight[train] > 0] for train, _ in splits]
            ramps = [self._ramps().fit(data.rows[p], fails[p], weight[p]) for p in parts]
            unseen = [test for _, test in splits]
            rounds, trees = self._trees(data.rows, fails, weight, parts, ramps, unseen)
            held_out = np.zeros(data.rows.shape[0])
            for ramp, tree, new in zip(ramps, trees, unseen, strict=True):
                scorer = Scorer(ramp, tree)
                held_out[new] = scorer.score(data.rows[new])
                self.out_of_fold_.append((frozenset(data.link[new]), scorer))
            self.calibration_ = self.calibration_.fitted(data, held_out)
        ramp = self._ramps().fit(data.rows[known], fails[known], weight[known])
        tree = self._boost(data.rows[known], fails[known], weight[known], ramp, rounds) if rounds else None
        self.scorer_ = Scorer(ramp, tree)
        self._weigh(data.rows[fails], weight[fails])
        return self

    def start(self) -> Self:
        """Be what physics alone says, before any failure was seen."""
        self.scorer_ = Scorer(RampModel.day_one(self.names, self.signs))
        self.calibration_ = Calibration.of_week()
        return self

    def risk(self, rows: Floats, scorer: Scorer | None = None) -> Floats:
        """Shape (n, horizons): P(the link fails within each of `HORIZONS_H`).

        Args:
            rows: shape (n, columns).
            scorer: another than the fitted one.

        Raises:
            ModelError: the model was not fitted.
        """
        return self.calibration_.risk((scorer or self.fitted).score(rows)).astype(np.float32)

    def risk_unseen(self, rows: Floats, link: NDArray[np.object_]) -> Floats:
        """As `risk`, by the scorers that have not seen each row's link: what a new link would get."""
        out, left = np.empty((rows.shape[0], len(HORIZONS_H)), np.float32), np.ones(rows.shape[0], bool)
        for unseen, scorer in self.out_of_fold_:
            mine = np.array([name in unseen for name in link], bool)
            out[mine] = self.risk(rows[mine], scorer)
            left &= ~mine
        out[left] = self.risk(rows[left])
        return out

    @property
    def fitted(self) -> Scorer:
        """The scorer of all links.

        Raises:
            ModelError: there is none yet.
        """
        if self.scorer_ is None:
            msg = "this model has not been fitted"
            raise ModelError(msg)
        return self.scorer_

    def _ramps(self) -> RampModel:
        return RampModel(self.names, self.signs, self.hold)

    def _trees(
        self,
        rows: Floats,
        fails: Bools,
        weight: Floats64,
        parts: Sequence[Ints],
        ramps: Sequence[RampModel],
        unseen: Sequence[Ints],
    ) -> tuple[int, list[lgb.Booster | None]]:
        """How many rounds of trees foretell links not seen before beyond chance better than ramps alone, and the trees.

        The fewest within one standard error of the best; none where the best is not two of them better than none.
        """
        full = [
            self._boost(rows[p], fails[p], weight[p], ramp, self.rounds) for p, ramp in zip(parts, ramps, strict=True)
        ]
        steps = range(0, self.rounds + 1, _STEPS)
        losses = np.zeros((len(steps), rows.shape[0]))
        for ramp, tree, new in zip(ramps, full, unseen, strict=True):
            base = ramp.score(rows[new])
            for k, rounds in enumerate(steps):
                more = np.asarray(tree.predict(rows[new], raw_score=True, num_iteration=rounds)) if rounds else 0.0
                losses[k, new] = _losses(base + more, fails[new], weight[new])
        best = int(losses.sum(axis=1).argmin())
        errors = [_paired_error(losses[k] - losses[best]) for k in range(len(steps))]
        if losses[0].sum() - losses[best].sum() <= 2 * errors[0]:
            return 0, [None] * len(full)
        near = [k for k in range(1, best + 1) if losses[k].sum() - losses[best].sum() <= errors[k]]
        rounds = steps[near[0]]
        return rounds, [lgb.Booster(model_str=tree.model_to_string(num_iteration=rounds)) for tree in full]

    def _boost(self, rows: Floats, fails: Bools, weight: Floats64, ramps: RampModel, rounds: int) -> lgb.Booster:
        return boosting.fit(
            rows,
            fails.astype(np.float32),
            weight,
            self.names,
            rounds=rounds,
            init_score=ramps.score(rows),
            objective="binary",
            learning_rate=0.05,
            num_leaves=4,
            min_sum_hessian_in_leaf=0.5,
            min_data_in_leaf=50,
            lambda_l2=2.0,
            feature_fraction=0.3,
            bagging_fraction=0.7,
            bagging_freq=1,
            monotone_constraints=list(self.signs),
        )

    def _weigh(self, rows: Floats, weight: Floats64) -> None:
        means = np.average(self.fitted.contributions(rows), axis=0, weights=weight)
        self.importance_ = {name: float(mean) for name, mean in zip(self.names, means, strict=True) if mean > 0}


def about_to_fail(data: RiskSet) -> tuple[Bools, Floats64]:
    """Which rows lead to a failure within a week or a rescue from it, and what each weighs: 0 if not well either."""
    fails: Bools = data.leads > 0
    weight = np.where(~fails & (data.observed_h >= _CALM_H), data.weight * CALM_WEIGHT, 0.0)
    if fails.any():
        _, event, count = np.unique(data.event[fails], return_inverse=True, return_counts=True)
        weight[fails] = data.leads[fails] / count[event]
    return fails, weight


def _losses(scores: Floats64, fails: Bools, weight: Floats64) -> Floats64:
    """Shape (n,): weighted log-loss of each row."""
    losses: Floats64 = weight * (np.logaddexp(0, scores) - fails * scores)
    return losses


def _paired_error(differences: Floats64) -> float:
    """Standard error of a sum of differences, in blocks of rows that lie together: neighbours say the same."""
    blocks = np.array([part.sum() for part in np.array_split(differences, 50)])
    return float(blocks.std() * np.sqrt(blocks.size))
