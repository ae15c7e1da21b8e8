"""A localiser after Flock (CoNEXT 2023): every link is sound or lossy at a rate that is set, the likeliest set wins.

A greedy search adds the link that gains most log-likelihood, less a price for each link.
"""

from dataclasses import dataclass

import numpy as np

from diagnosis.localize import Finding, Localization
from diagnosis.observations import Evidence, Observations

__all__ = ["Flock"]


@dataclass(frozen=True, slots=True)
class Flock:
    """Two rates of loss of a path, sound and bad.

    Attributes:
        sound: loss of a path without a lossy link.
        bad: loss of a path with one or more.
        price: log-likelihood that another link must gain.
    """

    sound: float = 4e-4
    bad: float = 5e-3
    price: float = 10.0
    name: str = "flock"

    def localize(self, seen: Observations, also: Evidence) -> Localization:  # noqa: ARG002 - probes alone
        """Links whose paths are rather bad than sound."""
        worse, better = np.log(self.bad / self.sound), np.log((1.0 - self.bad) / (1.0 - self.sound))
        left = seen.lost * worse + (seen.sent - seen.lost) * better
        crosses, columns = seen.crosses, seen.crosses.tocsc()
        found: list[Finding] = []
        while True:
            gain = np.asarray(crosses.T @ left, dtype=np.float64)
            link = int(np.argmax(gain))
            if gain[link] <= self.price:
                return Localization(tuple(found))
            rows = columns.indices[columns.indptr[link] : columns.indptr[link + 1]]
            loss = float(seen.lost[rows].sum() / max(seen.sent[rows].sum(), 1.0))
            found.append(Finding((link,), (1.0,), loss, float(gain[link])))
            left[rows] = 0.0
