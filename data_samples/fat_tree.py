"""A fat tree and what its switches do with packets: links, routes, and losses drawn packet by packet.

It knows nothing of how losses are looked for. What it draws is not what a localiser assumes: every link has a
background of its own, hashes are uneven, and a packet that is lost on the way there has no way back.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["FatTree", "Routes"]


@dataclass(frozen=True, slots=True)
class Routes:
    """Paths between edge switches, of equal length where both are in one pod or in two.

    Attributes:
        links: directed links in the order in which they are crossed; -1 fills short paths.
    """

    links: NDArray[np.int64]

    @property
    def back(self) -> "Routes":
        """The same cables the other way, last first; what fills is at the front then."""
        turned = self.links[:, ::-1]
        return Routes(np.where(turned < 0, -1, turned ^ 1))


@dataclass(frozen=True, slots=True)
class FatTree:
    """Edge, aggregation and core switches of a k-ary fat tree [Al-Fares, SIGCOMM 2008], without its hosts.

    Cable number ``pod · (k/2)² + edge · k/2 + aggregation`` joins an edge switch and an aggregation switch of a pod;
    after all of these, in the same way, aggregation switches and cores. A directed link is twice its cable's number
    upwards, and one more downwards.
    """

    k: int

    @property
    def half(self) -> int:
        """Ports to each side of a switch."""
        return self.k // 2

    @property
    def edges(self) -> int:
        """Number of edge switches."""
        return self.k * self.half

    @property
    def cables(self) -> int:
        """Number of cables."""
        return 2 * self.k * self.half**2

    def table(self) -> pl.DataFrame:
        """The cables in the order of their numbers, as rows of the table ``links``."""
        places = list(product(range(self.k), range(self.half), range(self.half)))
        rows = [
            *((f"edge{pod}-{edge}", f"up{up}", f"agg{pod}-{up}", f"down{edge}") for pod, edge, up in places),
            *((f"agg{pod}-{agg}", f"up{up}", f"core{agg}-{up}", f"pod{pod}") for pod, agg, up in places),
        ]
        names = ["a_device", "a_interface", "z_device", "z_interface"]
        frame = pl.DataFrame(rows, schema=names, orient="row")
        return frame.with_columns(a_site=pl.lit("default"), z_site=pl.lit("default"))

    def routes(
        self, source: NDArray[np.int64], target: NDArray[np.int64], agg: NDArray[np.int64], core: NDArray[np.int64]
    ) -> Routes:
        """The path between two different edge switches over the aggregation switch and the core that a hash chose."""
        half = self.half
        pods = source // half, target // half
        up = self._edge_cable(source, agg) * 2
        down = self._edge_cable(target, agg) * 2 + 1
        first = self._core_cable(pods[0], agg, core) * 2
        second = self._core_cable(pods[1], agg, core) * 2 + 1
        near = pods[0] == pods[1]
        links = np.stack([up, np.where(near, -1, first), np.where(near, -1, second), down], axis=1)
        return Routes(links)

    def _edge_cable(self, edge: NDArray[np.int64], agg: NDArray[np.int64]) -> NDArray[np.int64]:
        return edge * self.half + agg

    def _core_cable(self, pod: NDArray[np.int64], agg: NDArray[np.int64], core: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.cables // 2 + (pod * self.half + agg) * self.half + core
