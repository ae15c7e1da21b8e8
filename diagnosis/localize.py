"""Which directed links lose packets: what every localiser is given and what it answers.

A finding names every link that the evidence cannot tell apart, the likeliest first with its share; where all of them
are alike no one of them is picked.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from diagnosis.observations import Evidence, Floats, Observations

__all__ = ["NAMED_SHARE", "Finding", "Localization", "Localizer"]

NAMED_SHARE: Final = 0.95
"""A finding names links until together they have this share of its probability."""

_RATHER: Final = 0.5


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, at one of the links named.

    Attributes:
        links: directed links that it may be at, the likeliest first; more than one where nothing tells them apart.
        shares: P(it is at that link), given that it is a fault of this finding; they add up to 1.
        loss: packets lost of those that cross the link.
        gain: log-likelihood ratio of the probes, link lossy over not.
        posterior: P(there is a fault), with the prior and the ports' own counters.
    """

    links: tuple[int, ...]
    shares: tuple[float, ...]
    loss: float
    gain: float = 0.0
    posterior: float = 1.0

    @property
    def cables(self) -> frozenset[int]:
        """Cables of the links: where the directions alone cannot be told apart there is one."""
        return frozenset(link // 2 for link in self.links)

    @property
    def alike(self) -> tuple[int, ...]:
        """The likeliest link, and all that are as likely as it."""
        near = np.isclose(self.shares, self.shares[0])
        return tuple(link for link, as_likely in zip(self.links, near, strict=True) if as_likely)

    @property
    def located(self) -> bool:
        """Whether it is at the links that are alike rather than at any other."""
        return len(self.alike) * self.shares[0] > _RATHER

    @property
    def first(self) -> int | None:
        """The likeliest link; None where another is as likely."""
        return self.links[0] if len(self.alike) == 1 else None


@dataclass(frozen=True, slots=True)
class Localization:
    """What a localiser says of a window.

    Attributes:
        findings: the strongest first.
        suspected: links that a fault may be at, however unlikely it is there rather than at its finding's first link,
            and whether it loses enough to be a finding or not. No other link is suspected.
        least_loss: of each directed link the least loss that would have been found (its power); 1 where none would.
            None where the localiser does not know its power.
    """

    findings: tuple[Finding, ...]
    suspected: tuple[int, ...] = ()
    least_loss: Floats | None = None

    @property
    def links(self) -> frozenset[int]:
        """Links that findings are located at."""
        return frozenset(link for finding in self.findings if finding.located for link in finding.alike)


class Localizer(Protocol):
    """Finds lossy links in what one or more closed windows saw."""

    @property
    def name(self) -> str:
        """As the benchmark calls it."""
        ...

    def localize(self, seen: Observations, also: Evidence) -> Localization:
        """What is wrong; nothing found is an answer only beside the power it was looked for with."""
        ...
