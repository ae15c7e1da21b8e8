"""What a closed window saw: packets sent and lost on paths, and what else is known of each directed link.

This is the contract between windows (which make it of probe rows and a fabric) and localisers (which read nothing
else). Links are columns, numbered as ``diagnosis.fabric.Fabric`` numbers them.
"""

from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Evidence", "Floats", "Observations", "PortErrors"]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Observations:
    """Probes of one or more windows, an observation a row.

    Attributes:
        paths: shape (observations, directed links): how often a packet is expected to cross each link. 1 where the path
            is known, a share where the fabric draws one of several (spray, adaptive routing); for a round trip the
            links of the way there and of the way back.
        sent: packets of each observation; of the way back alone, the packets that came there.
        lost: how many of them did not come.
    """

    paths: sparse.csr_array
    sent: Floats
    lost: Floats

    def __post_init__(self) -> None:
        rows = self.paths.shape[0]
        if self.sent.shape != (rows,) or self.lost.shape != (rows,):
            msg = f"{rows} paths, {self.sent.shape} sent and {self.lost.shape} lost do not belong together"
            raise ValueError(msg)
        if np.any(self.lost > self.sent) or np.any(self.lost < 0.0):
            msg = "an observation cannot lose more than it sent, nor less than nothing"
            raise ValueError(msg)

    @property
    def links(self) -> int:
        """Number of directed links, crossed or not."""
        return int(self.paths.shape[1])

    @classmethod
    def empty(cls, links: int) -> Self:
        """No observation of so many links."""
        return cls(sparse.csr_array((0, links)), np.zeros(0), np.zeros(0))

    @property
    def crosses(self) -> sparse.csr_array:
        """Which observations cross a link at all."""
        cells = np.ones_like(self.paths.data), self.paths.indices, self.paths.indptr
        return sparse.csr_array(cells, shape=self.paths.shape)

    @classmethod
    def joined(cls, windows: list[Self]) -> Self:
        """Several windows as one; what holds of none of them alone may hold of all."""
        return cls(
            sparse.csr_array(sparse.vstack([seen.paths for seen in windows], format="csr")),
            np.concatenate([seen.sent for seen in windows]),
            np.concatenate([seen.lost for seen in windows]),
        )


@dataclass(frozen=True, slots=True)
class PortErrors:
    """What the ports at the receiving ends count themselves, by directed link; NaN where a port says nothing.

    Attributes:
        packets: received in the same windows.
        errors: of them dropped for their checksum.
    """

    packets: Floats
    errors: Floats


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of directed links beside the probes.

    Attributes:
        prior: P(the link is faulty), calibrated; NaN where nobody scored it.
        ports: the ports' own counters.
        prior_reads_counters: whether the model behind the prior reads those counters. Then they count for the links
            without a prior alone: nothing is counted twice.
    """

    prior: Floats | None = None
    ports: PortErrors | None = None
    prior_reads_counters: bool = True
