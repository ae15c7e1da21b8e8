"""Votes of lossy paths: R-Pingmesh's (SIGCOMM 2024), and 007's (NSDI 2018), which splits a path's among its links.

Both decide how many links are faulty by a rule of thumb, and know neither their power nor what they cannot tell apart.
"""

from dataclasses import dataclass

import numpy as np

from diagnosis.localize import Finding, Localization
from diagnosis.observations import Evidence, Floats, Observations

__all__ = ["Seven", "Vote"]


@dataclass(frozen=True, slots=True)
class Vote:
    """A vote of each lost packet for every link of its path; the first takes its paths with it, then the next.

    Attributes:
        background: loss of a sound link; votes that it explains, and three deviations more, are noise.
    """

    background: float = 5e-5
    name: str = "vote"

    def localize(self, seen: Observations, also: Evidence) -> Localization:  # noqa: ARG002 - probes alone
        """Links by their votes."""
        crosses = seen.crosses
        hops = np.asarray(seen.paths.sum(axis=1), dtype=np.float64)
        noise = crosses.T @ (seen.sent * hops) * self.background
        return _greedy(seen, seen.lost, noise + 3.0 * np.sqrt(noise) + 1.0)


@dataclass(frozen=True, slots=True)
class Seven:
    """007: a vote of each lossy flow, split among the links of its path, until one has but a share of all votes.

    Attributes:
        least_share: of all votes, which a link needs to be blamed.
    """

    least_share: float = 0.01
    name: str = "007"

    def localize(self, seen: Observations, also: Evidence) -> Localization:  # noqa: ARG002 - probes alone
        """Links by their shares of votes."""
        hops = np.diff(seen.paths.indptr)
        votes = (seen.lost > 0.0) / np.maximum(hops, 1)
        whole = float((seen.crosses.T @ votes).sum())
        return _greedy(seen, votes, np.full(seen.links, self.least_share * whole))


def _greedy(seen: Observations, votes: Floats, needed: Floats) -> Localization:
    """The link with most votes over what it needs, then without the paths through it, until none is left."""
    crosses, columns = seen.crosses, seen.crosses.tocsc()
    left, found = votes.copy(), list[Finding]()
    while True:
        count = np.asarray(crosses.T @ left, dtype=np.float64)
        link = int(np.argmax(np.where(count >= needed, count, 0.0)))
        if count[link] <= 0.0 or count[link] < needed[link]:
            return Localization(tuple(found))
        rows = columns.indices[columns.indptr[link] : columns.indptr[link + 1]]
        loss = float(seen.lost[rows].sum() / max(seen.sent[rows].sum(), 1.0))
        found.append(Finding((link,), (1.0,), loss, float(count[link])))
        left[rows] = 0.0
