"""The fabric as packets see it: ports, cables, directed links, and the paths between two devices.

Cable c has the directed links 2c, from its first end to its second, and 2c + 1 back; a directed link is one laser, one
fibre and one receiver. Equal-cost paths are the shortest ones; each device on the way splits evenly, or by the shares
measured at its ports. A server forwards nothing.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Self

import networkx as nx
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from features.fleet import PORT

__all__ = ["Device", "Fabric", "Path", "Port", "crossings", "incidence"]

Device = tuple[str, str]
"""(site, device)."""

Port = tuple[str, str, str]
"""(site, device, interface)."""

Path = tuple[int, ...]
"""Directed links in the order in which a packet crosses them."""


@dataclass(frozen=True)
class Fabric:
    """Cables between ports; never changed.

    Attributes:
        cables: the two ends of each.
        servers: devices that end paths and forward nothing.
    """

    cables: tuple[tuple[Port, Port], ...]
    servers: frozenset[Device] = frozenset()

    @classmethod
    def of(cls, links: pl.DataFrame, servers: Collection[Device] = ()) -> Self:
        """The fabric of rows of the canonical table ``links``; a cable that two sources know is one."""
        names = [f"{end}_{name}" for end in "az" for name in PORT]
        ends = (sorted((row[:3], row[3:])) for row in links.select(names).iter_rows())
        cables = dict.fromkeys((near, far) for near, far in ends)
        return cls(tuple(cables), frozenset(servers))

    @property
    def links(self) -> int:
        """Number of directed links."""
        return 2 * len(self.cables)

    def ends(self, link: int) -> tuple[Port, Port]:
        """The sending port and the receiving one of a directed link."""
        near, far = self.cables[link // 2]
        return (far, near) if link % 2 else (near, far)

    def named(self, link: int) -> str:
        """A directed link as people read it.

        >>> Fabric(((("s", "leaf1", "e1"), ("s", "spine1", "e9")),)).named(1)
        'spine1:e9 → leaf1:e1'
        """
        (_, near, out), (_, far, into) = self.ends(link)
        return f"{near}:{out} → {far}:{into}"

    @cached_property
    def leaving(self) -> Mapping[Port, int]:
        """The directed link that leaves each port."""
        return {self.ends(link)[0]: link for link in range(self.links)}

    @cached_property
    def arriving(self) -> Mapping[Port, int]:
        """The directed link that arrives at each port."""
        return {port: link ^ 1 for port, link in self.leaving.items()}

    def at(self, port: Port) -> tuple[int, int] | None:
        """The links that leave and that arrive at a port; None where no cable is known there."""
        link = self.leaving.get(port)
        return None if link is None else (link, link ^ 1)

    def crossed(self, hops: Sequence[Port]) -> Path:
        """The links of a path that was traced.

        Args:
            hops: ports that the packet came in by, as traceroute names them. Where the port it left by is there too,
                just before the port at the cable's other end, both are one link. A port without a cable says nothing.
        """
        links = [self.arriving[port] for port in hops if port in self.arriving]
        return tuple(link for link, following in zip(links, [*links[1:], -1], strict=True) if link ^ 1 != following)

    @cached_property
    def graph(self) -> "nx.DiGraph[Device]":
        """Devices, and between two of them the directed links as ``links``; parallel cables are one edge."""
        graph: nx.DiGraph[Device] = nx.DiGraph()
        for link in range(self.links):
            (near_site, near, _), (far_site, far, _) = self.ends(link)
            edge = (near_site, near), (far_site, far)
            if graph.has_edge(*edge):
                graph.edges[edge]["links"] += (link,)
            else:
                graph.add_edge(*edge, links=(link,))
        return graph

    def paths(self, source: Device, target: Device) -> list[Path]:
        """Every equal-cost path; none where the two are not connected."""
        graph = self._without_servers(source, target)
        if source not in graph or target not in graph or not nx.has_path(graph, source, target):
            return []
        found: list[Path] = []
        for devices in nx.all_shortest_paths(graph, source, target):
            found += product(*(graph.edges[edge]["links"] for edge in pairwise(devices)))
        return found

    def spread(self, source: Device, target: Device, shares: Mapping[Port, float] | None = None) -> dict[int, float]:
        """How often a packet crosses each link where every device splits among its equal-cost ports.

        Args:
            source: sends.
            target: receives.
            shares: of ports in what leaves their device this way, as measured; a port without one counts as 1.
        """
        graph = self._without_servers(source, target)
        steps = dict(nx.single_target_shortest_path_length(graph, target)) if target in graph else {}
        crossed: dict[int, float] = defaultdict(float)
        flow: dict[Device, float] = {source: 1.0}
        for _ in range(steps.get(source, 0)):
            flow = self._step(flow, steps, shares or {}, crossed)
        return dict(crossed)

    def between(self, devices: Collection[Device]) -> frozenset[int]:
        """Every link on an equal-cost path from one of these devices to another."""
        found: set[int] = set()
        for target in devices:
            graph = self._without_servers(*devices)
            steps = dict(nx.single_target_shortest_path_length(graph, target)) if target in graph else {}
            waiting = {device for device in devices if steps.get(device, 0) > 0}
            while waiting:
                edges = [(at, to) for at in waiting for to in graph[at] if steps.get(to, -1) == steps[at] - 1]
                found.update(link for edge in edges for link in graph.edges[edge]["links"])
                waiting = {to for _, to in edges if to != target}
        return frozenset(found)

    def _step(
        self,
        flow: dict[Device, float],
        steps: dict[Device, int],
        shares: Mapping[Port, float],
        crossed: dict[int, float],
    ) -> dict[Device, float]:
        """Move what is at each device one hop nearer."""
        after: dict[Device, float] = defaultdict(float)
        for device, amount in flow.items():
            nearer = [at for at in self.graph[device] if steps.get(at, -1) == steps[device] - 1]
            out = [(at, link) for at in nearer for link in self.graph.edges[device, at]["links"]]
            weights = [shares.get(self.ends(link)[0], 1.0) for _, link in out]
            for (at, link), weight in zip(out, weights, strict=True):
                part = amount * weight / sum(weights)
                crossed[link] += part
                after[at] += part
        return after

    def _without_servers(self, *but: Device) -> "nx.DiGraph[Device]":
        hidden = [server for server in self.servers if server not in but]
        return nx.restricted_view(self.graph, hidden, ()) if hidden else self.graph


def incidence(rows: Sequence[Mapping[int, float] | Iterable[int]], links: int) -> sparse.csr_array:
    """Paths as a matrix: of each row the links it crosses, once each, or with how often.

    >>> incidence([(0, 3), {1: 0.5, 2: 0.5}], 4).toarray().tolist()
    [[1.0, 0.0, 0.0, 1.0], [0.0, 0.5, 0.5, 0.0]]
    """
    parts = [row.items() if isinstance(row, Mapping) else [(link, 1.0) for link in row] for row in rows]
    cells = [cell for part in parts for cell in part]
    bounds = np.cumsum([0, *(len(part) for part in parts)])
    columns = np.array([link for link, _ in cells], dtype=np.int64)
    crossed = np.array([often for _, often in cells], dtype=np.float64)
    return sparse.csr_array((crossed, columns, bounds), shape=(len(parts), links))


def crossings(paths: NDArray[np.int64], links: int) -> sparse.csr_array:
    """Many known paths as a matrix, each a row of link numbers; negative ones fill.

    >>> crossings(np.array([[0, 3], [2, -1]]), 4).toarray().tolist()
    [[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]
    """
    crossed = paths >= 0
    bounds = np.concatenate([[0], np.cumsum(crossed.sum(axis=1))])
    columns = paths[crossed].astype(np.int32)
    return sparse.csr_array((np.ones(columns.size), columns, bounds), shape=(len(paths), links))
