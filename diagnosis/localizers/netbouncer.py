"""A localiser after NetBouncer (NSDI 2019): success of a path is the product of its links', fitted by least squares.

A term λ x (1 - x) pushes each link's success to one or to nothing; coordinates are improved one link at a time.
"""

from dataclasses import dataclass

import numpy as np

from diagnosis.localize import Finding, Localization
from diagnosis.observations import Evidence, Floats, Observations

__all__ = ["NetBouncer"]


@dataclass(frozen=True, slots=True)
class NetBouncer:
    """Regularised least squares.

    Attributes:
        pull: λ, how hard each link is pushed to an end.
        least: loss from which a link is blamed.
        sweeps: over all links.
    """

    pull: float = 0.1
    least: float = 1e-3
    sweeps: int = 10
    name: str = "netbouncer"

    def localize(self, seen: Observations, also: Evidence) -> Localization:  # noqa: ARG002 - probes alone
        """Links whose fitted success lies below what is blamed."""
        success = self._fitted(seen)
        bad = np.flatnonzero(1.0 - success > self.least)
        return Localization(tuple(Finding((int(link),), (1.0,), float(1.0 - success[link])) for link in bad))

    def _fitted(self, seen: Observations) -> Floats:
        """Success of each link."""
        came = 1.0 - np.divide(seen.lost, seen.sent, out=np.zeros_like(seen.lost), where=seen.sent > 0.0)
        columns = seen.crosses.tocsc()
        x, whole = np.ones(seen.links), np.ones(came.size)
        for _ in range(self.sweeps):
            for link in range(seen.links):
                rows = columns.indices[columns.indptr[link] : columns.indptr[link + 1]]
                if rows.size:
                    others = whole[rows] / x[link]
                    x[link] = self._step(came[rows], others)
                    whole[rows] = others * x[link]
        return x

    def _step(self, came: Floats, others: Floats) -> float:
        """The best success of one link while the others stand; never nothing, since it divides."""
        product, square = float(came @ others), float(others @ others)
        if square <= self.pull:
            return 1.0
        return float(np.clip((2.0 * product - self.pull) / (2.0 * (square - self.pull)), 1e-6, 1.0))
