"""What fails, given that something does: type and end, as boosted trees tell them from rows before failures."""

from dataclasses import dataclass, field
from typing import Final, Self

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from models import boosting
from models.base import FAULTS, TURNED
from models.rows import RiskSet

__all__ = ["FaultModel"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_REACH_H: Final = 72.0
"""Rows further from their failure do not show what it will be."""
_FEW_FAILURES: Final = 10


@dataclass
class FaultModel:
    """P(each of `FAULTS`, given that the link fails), seen from one end; scikit-learn conventions.

    Attributes:
        names: feature columns in order; ``peer_x`` is ``x`` of the far end.
        turned: shape (columns,), the order of columns that makes of a row the row of the far end.
        rounds: boosting rounds.
        trees_: None where too few failures were seen: then every fault is as likely as the other.
    """

    names: tuple[str, ...]
    turned: Ints
    rounds: int = 60
    trees_: lgb.Booster | None = field(default=None, init=False)

    def fit(self, data: RiskSet, fault: Ints) -> Self:
        """Learn from rows at risk, seen from both ends and with the far end silent.

        Args:
            data: rows and what became of them.
            fault: shape (n,), index into `FAULTS` of each row's next failure as seen from its end, -1 if unknown.
        """
        self.trees_ = None
        use = np.flatnonzero((fault >= 0) & (data.until_event_h <= _REACH_H))
        if len(set(data.event[use])) < _FEW_FAILURES:
            return self
        _, event, count = np.unique(data.event[use], return_inverse=True, return_counts=True)
        blind = data.rows[use].copy()
        blind[:, [j for j, name in enumerate(self.names) if name.startswith("peer_")]] = np.nan
        self.trees_ = boosting.fit(
            np.concatenate([data.rows[use], blind]),
            np.tile(fault[use], 2),
            np.tile(1.0 / count[event], 2),
            self.names,
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
        return self

    def predict(self, rows: Floats) -> Floats:
        """Shape (n, faults): where both ends speak the mean of what is seen from either, turned to this end."""
        if self.trees_ is None or rows.shape[0] == 0:
            return np.full((rows.shape[0], len(FAULTS)), 1.0 / len(FAULTS), np.float32)
        fault = np.asarray(self.trees_.predict(rows), np.float32)
        two = rows[:, self.names.index("has_peer")] > 0
        if two.any():
            far = np.asarray(self.trees_.predict(rows[two][:, self.turned]), np.float32)
            fault[two] = (fault[two] + far[:, TURNED]) / 2
        return fault
