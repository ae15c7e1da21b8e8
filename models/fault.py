"""What fails, given that something does: type and end, from rows before failures.

Two models see the same symptoms and their mean speaks: boosted trees, which find what goes together, and a linear
one (`models.symptoms`), which starts from physics and which the few failures of a kind suffice for. Before ten failures
were seen physics speaks alone.
"""

from dataclasses import dataclass, field
from typing import Final, Self

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from models import boosting
from models.base import FAULTS, HORIZONS_H, TURNED
from models.rows import RiskSet
from models.symptoms import SymptomModel, symptom_columns, without_peer

__all__ = ["FaultModel"]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEW_FAILURES: Final = 10
_LEAST_RISK: Final = 1e-6


@dataclass
class FaultModel:
    """P(each of `FAULTS`, given that the link fails), seen from one end; scikit-learn conventions.

    Attributes:
        names: feature columns in order; ``peer_x`` is ``x`` of the far end.
        turned: shape (columns,), the order of columns that makes of a row the row of the far end.
        rounds: boosting rounds.
        trees_: None where too few failures were seen.
        symptoms_: what physics says, corrected by what was seen.
    """

    names: tuple[str, ...]
    turned: Ints
    rounds: int = 60
    trees_: lgb.Booster | None = field(default=None, init=False)
    symptoms_: SymptomModel = field(init=False)

    def __post_init__(self) -> None:
        self.symptoms_ = SymptomModel(self.names)
        self._columns = symptom_columns(self.names)

    @property
    def tree_names(self) -> list[str]:
        """The columns that trees see, in order."""
        return [self.names[j] for j in self._columns]

    def fit(self, data: RiskSet, fault: Ints, risk: NDArray[np.floating]) -> Self:
        """Learn from rows at risk, seen from both ends and with the far end silent.

        Args:
            data: rows and what became of them.
            fault: shape (n,), index into `FAULTS` of each row's next failure as seen from its end, -1 if unknown.
            risk: shape (n,), of failing soon, by a model that has not seen the link: what an alarm rests on. Of the
                rows before a failure those weigh by which it would be told; before it shows they tell nothing.
        """
        self.trees_, self.symptoms_ = None, SymptomModel(self.names)
        use = np.flatnonzero((fault >= 0) & (data.until_event_h <= HORIZONS_H[-1]))
        if len(set(data.event[use])) < _FEW_FAILURES:
            return self
        _, event = np.unique(data.event[use], return_inverse=True)
        share = np.maximum(risk[use].astype(np.float64), _LEAST_RISK)
        weight = np.tile(share / np.bincount(event, share)[event], 2)
        rows = np.concatenate([data.rows[use], without_peer(data.rows[use], self.names)])
        target = np.tile(fault[use], 2)
        self.trees_ = self._boost(rows[:, self._columns], target, weight)
        self.symptoms_.fit(rows, target, weight)
        return self

    def predict(self, rows: Floats) -> Floats:
        """Shape (n, faults): where both ends speak the mean of what is seen from either, turned to this end."""
        if rows.shape[0] == 0:
            return np.empty((0, len(FAULTS)), np.float32)
        fault = self._seen(rows)
        two = rows[:, self.names.index("has_peer")] > 0
        if two.any():
            far = self._seen(rows[two][:, self.turned])
            fault[two] = (fault[two] + far[:, TURNED]) / 2
        return fault

    def _seen(self, rows: Floats) -> Floats:
        """What is seen from one end."""
        told = self.symptoms_.predict(rows)
        if self.trees_ is None:
            return told
        found = np.asarray(self.trees_.predict(rows[:, self._columns]), np.float32)
        return (told + found) / np.float32(2)

    def _boost(self, rows: Floats, fault: Ints, weight: Floats64) -> lgb.Booster:
        return boosting.fit(
            rows,
            fault,
            weight,
            self.tree_names,
            rounds=self.rounds,
            objective="multiclass",
            num_class=len(FAULTS),
            learning_rate=0.1,
            num_leaves=7,
            min_sum_hessian_in_leaf=0.1,
            min_data_in_leaf=10,
            lambda_l2=1.0,
            feature_fraction=0.3,
        )
