"""What every predictor of failures gives, whatever it is inside."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ingest.schema import FailureType

__all__ = ["FAULTS", "HORIZONS_H", "INTERVALS_H", "TURNED", "FailureModel", "Fault", "Prediction"]

Floats = NDArray[np.float32]

HORIZONS_H: Final = (6, 12, 24, 48, 96, 168)
"""Ends of the hazard's intervals in hours; risks are given at each."""

INTERVALS_H: Final = tuple(zip((0, *HORIZONS_H[:-1]), HORIZONS_H, strict=True))
"""The intervals (from, to] of the discrete-time hazard."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """What fails, seen from one end of a link: a type, and whether it is at this end or the far one.

    A fibre and its connectors fault at the end that receives through them.
    """

    failure_type: FailureType
    here: bool

    @property
    def suspect(self) -> str:
        """The fault unit: ``module`` or ``fiber``."""
        return "fiber" if self.failure_type in _FIBER else "module"

    def turned(self) -> "Fault":
        """The same fault, seen from the other end."""
        return Fault(self.failure_type, not self.here)


_FIBER: Final = {FailureType.CONTAMINATION, FailureType.FIBER_DAMAGE}

FAULTS: Final = tuple(
    Fault(kind, here)
    for kind in FailureType
    if kind not in {FailureType.NO_FAULT_FOUND, FailureType.OTHER}
    for here in (True, False)
)
"""Every fault that a model tells apart, here and there next to each other."""

TURNED: Final = [FAULTS.index(fault.turned()) for fault in FAULTS]
"""Of each of `FAULTS` the place of the same fault seen from the other end."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Risks of the links of some module ends.

    Attributes:
        risk: shape (n, 6), P(the end's link fails within each of `HORIZONS_H`), rising along a row.
        fault: shape (n, faults), P(each of `FAULTS`, given that it fails), rows sum to 1.
    """

    risk: Floats
    fault: Floats


class FailureModel(Protocol):
    """A predictor over feature rows; see ``tests/models/test_every_model.py`` for what each must keep."""

    @property
    def names(self) -> Sequence[str]:
        """Columns it was fitted on, in order."""

    def predict(self, rows: Floats, names: Sequence[str]) -> Prediction:
        """Risks and faults of feature rows.

        Args:
            rows: shape (n, columns), NaN is missing.
            names: of the columns; they are put in order by name.

        Raises:
            ModelError: a column is missing.
        """
