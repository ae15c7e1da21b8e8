"""The one-link likelihood ratio of every directed link at once.

An observation r loses Poisson(m_r) packets of what is known already, and w_r · x more if a link loses a share x of
what crosses it; that share is a rate, -log(1 - loss), so that links in a row add up. For each link the best x and what
it gains over x = 0. Observations without a loss enter by the sum of
their w alone, so the cost is that of the lossy ones.
"""

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from diagnosis.observations import Floats, Observations

__all__ = ["MOST", "Lossy", "Profile"]

MOST: Final = 7.0
"""A link that loses every packet: 1 - exp(-7) is 0.999."""
_STEPS: Final = 40
_EXACT: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Profile:
    """Of each link the best rate x of loss, and by how much it explains the losses better than none."""

    rate: Floats
    gain: Floats


@dataclass(frozen=True, slots=True)
class Lossy:
    """The observations that lost something, and what crossed each link in all.

    Attributes:
        crossed: shape (lossy observations, links): packets that cross each link.
        by_row: the same, by observation.
        lost: packets, of each lossy observation.
        base: crossings of any link, of each lossy observation.
        total: packets that crossed each link in all observations.
        exposed: crossings of any link in all observations through each link.
    """

    crossed: sparse.csc_array
    by_row: sparse.csr_array
    lost: Floats
    base: Floats
    total: Floats
    exposed: Floats

    @classmethod
    def of(cls, seen: Observations, alive: Floats) -> Self:
        """What the likelihood needs of a window.

        Args:
            seen: the window.
            alive: packets of each observation that cross a link of its path, on average; fewer than were sent where
                others die before it.
        """
        rows = np.flatnonzero(seen.lost)
        paths = sparse.csr_array(seen.paths[rows])
        paths.data = paths.data * np.repeat(alive[rows], np.diff(paths.indptr))
        hops = np.asarray(seen.paths.sum(axis=1), dtype=np.float64) * alive
        return cls(
            sparse.csc_array(paths),
            paths,
            seen.lost[rows],
            hops[rows],
            np.asarray(seen.paths.T @ alive, dtype=np.float64),
            np.asarray(seen.crosses.T @ hops, dtype=np.float64),
        )

    def rows(self, link: int) -> NDArray[np.int32]:
        """Lossy observations through a link."""
        return self.crossed.indices[self.crossed.indptr[link] : self.crossed.indptr[link + 1]]

    def crossing(self, link: int) -> Floats:
        """Packets that cross a link, in the order of its lossy observations."""
        return self.crossed.data[self.crossed.indptr[link] : self.crossed.indptr[link + 1]]

    def links_of(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Every link that one of the lossy observations crosses."""
        return np.unique(self.by_row[rows].indices)

    def only(self, links: NDArray[np.int32]) -> Self:
        """The same of some links."""
        return replace(self, crossed=sparse.csc_array(self.crossed[:, links]), total=self.total[links])

    def profile(self, mean: Floats) -> Profile:
        """Every link on its own, over a mean that is given.

        The slope of the log-likelihood falls and is convex in x, so that Newton's steps from 0 come from below and
        never overshoot.
        """
        links = np.repeat(np.arange(self.total.size), np.diff(self.crossed.indptr))
        m, y, w = mean[self.crossed.indices], self.lost[self.crossed.indices], self.crossed.data
        x = np.zeros(self.total.size)
        for _ in range(_STEPS):
            per = w / (m + w * x[links])
            slope = self._sum(y * per, links) - self.total
            bend = self._sum(y * per * per, links)
            step = np.divide(slope, bend, out=np.zeros_like(x), where=(bend > 0.0) & (slope > 0.0))
            x += step
            if np.all(step <= _EXACT * x):
                break
        x = np.minimum(x, MOST)
        gain = self._sum(y * np.log1p(w * x[links] / m), links) - x * self.total
        return Profile(x, np.maximum(gain, 0.0))

    def _sum(self, cells: Floats, links: NDArray[np.intp]) -> Floats:
        return np.bincount(links, weights=cells, minlength=self.total.size).astype(np.float64, copy=False)
