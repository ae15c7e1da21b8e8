"""The fabric as a drain sees it: links between tiers of devices, and how many paths each ToR has to the top.

Tier 0 are servers, tier 1 the switches that servers hang on (ToRs), and so on up. A path goes up at every hop, from a
ToR to a device that has nothing above it; of parallel links each is one.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Final, Self, TypeVar

import polars as pl

from features.fleet import PORT, Fleet

__all__ = ["SERVER", "TOR", "Device", "Fabric", "Link", "LinkClass", "Port", "cage_of"]

Device = tuple[str, str]
"""(site, device)."""

Port = tuple[str, str, str]
"""(site, device, interface)."""

_K = TypeVar("_K")
_V = TypeVar("_V")

SERVER: Final = 0
TOR: Final = 1
_BREAKOUT: Final = "/:."
"""What stands between a cage's name and the number of a part: Ethernet1/1/2 of Ethernet1/1, et-0/0/0:1, swp1.2."""


class LinkClass(StrEnum):
    """What a link is to the fabric; advice, damage and mode go by it."""

    FABRIC = "fabric"
    ACCESS = "access"


@dataclass(frozen=True, slots=True)
class Link:
    """Two ends and what they share.

    Attributes:
        link_id: as alarms and scores name it.
        ends: in the order of their names.
        shared_risk: trunks, panels and line cards that fail as one.
    """

    link_id: str
    ends: tuple[Port, Port]
    shared_risk: tuple[str, ...] = ()

    @property
    def devices(self) -> tuple[Device, Device]:
        """The devices at its ends."""
        (a_site, a_device, _), (z_site, z_device, _) = self.ends
        return (a_site, a_device), (z_site, z_device)

    @property
    def bundle(self) -> frozenset[Device]:
        """Links between the same two devices are parallel: tables know no LAG, and a LAG is a set of such links."""
        return frozenset(self.devices)


@dataclass(frozen=True)
class Fabric:
    """Links and tiers at one time; never changed, so that callers may share it.

    Attributes:
        links: by link_id.
        tiers: of each device whose place is known.
        cages: the cage of each end of a link that is a part of one (breakout); other ends are cages themselves.
    """

    links: Mapping[str, Link]
    tiers: Mapping[Device, int]
    cages: Mapping[Port, Port]

    @classmethod
    def of(cls, fleet: Fleet, tiers: Sequence[Sequence[str]] = ()) -> Self:
        """The fabric of a fleet as of a time.

        Args:
            fleet: as known at that time.
            tiers: names of devices as patterns, those of the ToRs first; by the distance from servers where none is
                given. A server is a device with modules of the role ``nic``.
        """
        links = {link.link_id: link for link in _links(fleet)}
        cages = set(fleet.in_cages().select(PORT).iter_rows())
        servers = set(fleet.modules.filter(pl.col("role") == "nic").select("site", "device").iter_rows())
        devices = {device for link in links.values() for device in link.devices}
        placed = _by_name(devices, servers, tiers) if tiers else _by_distance(links.values(), servers & devices)
        return cls(links, placed, {end: cage_of(end, cages) for link in links.values() for end in link.ends})

    @cached_property
    def at_port(self) -> Mapping[Port, tuple[str, ...]]:
        """The links at an end, and those of a cage under the cage's name: one, or several of a breakout."""
        found: dict[Port, set[str]] = defaultdict(set)
        for link in self.links.values():
            for end in link.ends:
                found[end].add(link.link_id)
                found[self.cages[end]].add(link.link_id)
        return {port: tuple(sorted(ids)) for port, ids in found.items()}

    @cached_property
    def bundles(self) -> Mapping[frozenset[Device], tuple[str, ...]]:
        """Parallel links by their two devices."""
        return _grouped((link.bundle, link.link_id) for link in self.links.values())

    def class_of(self, link: Link) -> LinkClass:
        """Access where one end is a server."""
        servers = [device for device in link.devices if self.tiers.get(device) == SERVER]
        return LinkClass.ACCESS if servers else LinkClass.FABRIC

    def servers_of(self, link: Link) -> list[str]:
        """Names of the servers at its ends."""
        return [name for site, name in link.devices if self.tiers.get((site, name)) == SERVER]

    def tier_of(self, link: Link) -> tuple[int, int] | None:
        """The tiers of its ends, the lower first; None where one is not known."""
        return self._link_tiers[link.link_id]

    @cached_property
    def _link_tiers(self) -> Mapping[str, tuple[int, int] | None]:
        found: dict[str, tuple[int, int] | None] = {}
        for name, link in self.links.items():
            tiers = sorted(self.tiers[device] for device in link.devices if device in self.tiers)
            found[name] = (tiers[0], tiers[1]) if len(tiers) == len(link.devices) else None
        return found

    def taken_with(self, link: Link, suspect: Port | None) -> tuple[str, ...]:
        """The links that go down when the module at `suspect` is worked on: all of its breakout."""
        if suspect is None or suspect not in link.ends:
            return (link.link_id,)
        return self.at_port[self.cages[suspect]]

    @cached_property
    def design(self) -> Mapping[Device, int]:
        """Paths of each ToR with every link up."""
        tors = [device for device, tier in self.tiers.items() if tier == TOR]
        return self.paths(tors, ())

    def paths(self, tors: Iterable[Device], down: Collection[str]) -> dict[Device, int]:
        """Paths up from each of these devices over links that are not down."""
        counted: dict[Device, int] = {}
        return {tor: counted[tor] if tor in counted else self._paths(tor, down, counted) for tor in tors}

    def _paths(self, device: Device, down: Collection[str], counted: dict[Device, int]) -> int:
        up = self._up.get(device, ())
        paths = 0 if up else 1
        for link, above in up:
            if link not in down:
                known = counted.get(above)
                paths += self._paths(above, down, counted) if known is None else known
        counted[device] = paths
        return paths

    def tors_below(self, links: Iterable[str]) -> set[Device]:
        """The ToRs whose paths go over any of these links."""
        waiting, seen = deque(self._lower[link] for link in links if link in self._lower), set[Device]()
        while waiting:
            device = waiting.popleft()
            if device not in seen:
                seen.add(device)
                waiting.extend(self._down.get(device, ()))
        return {device for device in seen if self.tiers[device] == TOR}

    @cached_property
    def _lower(self) -> Mapping[str, Device]:
        """The lower end of each link between two tiers of switches."""
        return {link: below for below, up in self._up.items() for link, _ in up}

    @cached_property
    def _up(self) -> Mapping[Device, tuple[tuple[str, Device], ...]]:
        """What stands above each switch, and over which link."""
        return _grouped((below, (link, above)) for link, below, above in self._between_switches())

    @cached_property
    def _down(self) -> Mapping[Device, tuple[Device, ...]]:
        """What stands below each switch."""
        return _grouped((above, below) for _, below, above in self._between_switches())

    def _between_switches(self) -> Iterator[tuple[str, Device, Device]]:
        for link in self.links.values():
            below, above = sorted(link.devices, key=lambda device: self.tiers.get(device, -1))
            if SERVER < self.tiers.get(below, -1) < self.tiers.get(above, -1):
                yield link.link_id, below, above


def cage_of(end: Port, cages: Collection[Port]) -> Port:
    """The cage that an end of a link is in: itself, or the one whose name it continues.

    >>> cage_of(("s", "leaf01", "Ethernet1/1/2"), {("s", "leaf01", "Ethernet1/1")})
    ('s', 'leaf01', 'Ethernet1/1')
    """
    site, device, interface = end
    for cut in range(len(interface), 0, -1):
        whole = cut == len(interface)
        if (whole or interface[cut] in _BREAKOUT) and (site, device, interface[:cut]) in cages:
            return site, device, interface[:cut]
    return end


def _links(fleet: Fleet) -> Iterator[Link]:
    """Every link with two ends."""
    risks: dict[frozenset[Port], set[str]] = defaultdict(set)
    names = [f"{end}_{name}" for end in "az" for name in PORT]
    for *ends, groups in fleet.links.select(*names, "shared_risk").iter_rows():
        risks[frozenset((tuple(ends[:3]), tuple(ends[3:])))] |= set(groups or ())
    columns = ["link_id", *PORT, *(f"peer_{name}" for name in PORT)]
    rows = fleet.ends().filter(pl.col("peer_device").is_not_null()).select(columns)
    for link_id, *ports in rows.unique("link_id", keep="first", maintain_order=True).iter_rows():
        near, far = sorted((tuple(ports[:3]), tuple(ports[3:])))
        yield Link(link_id, (near, far), tuple(sorted(risks[frozenset((near, far))])))


def _by_name(devices: set[Device], servers: set[Device], tiers: Sequence[Sequence[str]]) -> dict[Device, int]:
    """Tiers by the first pattern that a name fits; servers by their modules' role."""
    placed = dict.fromkeys(servers & devices, SERVER)
    for tier, patterns in enumerate(tiers, start=TOR):
        for site, name in devices - placed.keys():
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                placed[site, name] = tier
    return placed


def _by_distance(links: Iterable[Link], servers: set[Device]) -> dict[Device, int]:
    """Tiers by the number of hops from the nearest server; a device that none reaches has none."""
    beside: dict[Device, set[Device]] = defaultdict(set)
    for link in links:
        a, z = link.devices
        beside[a].add(z)
        beside[z].add(a)
    placed, waiting = dict.fromkeys(servers, SERVER), deque(sorted(servers))
    while waiting:
        device = waiting.popleft()
        for other in beside[device] - placed.keys():
            placed[other] = placed[device] + 1
            waiting.append(other)
    return placed


def _grouped(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, tuple[_V, ...]]:
    found: dict[_K, list[_V]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return {key: tuple(values) for key, values in found.items()}
