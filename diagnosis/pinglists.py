"""Who probes whom: a pinglist for each host, by R-Pingmesh's count and rates and deTector's choice.

NICs of one ToR probe each other (ToR-mesh). Between ToRs each sends by as many source ports as find all its ways, to
ToRs spread over the fabric, so fast that each link is crossed often enough; a share of the ports is replaced in each
period. Of the 5-tuples whose way was traced, those that the greedy plan chooses are kept (pinned) as ports come and go.
"""

import math
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from diagnosis.fabric import Device, Fabric, Path
from diagnosis.plan import Plan, greedy_plan, rotated, tuples_needed
from ingest.probes.addresses import PortAddress
from ingest.probes.pinglist import Answered, Flow, Pinglist

__all__ = ["Planned", "Tuple", "Wishes", "new_key", "planned"]

Tuple = tuple[str, int, str]
"""Source address, source port, target address."""

_POOL: Final = range(61_000, 62_024)
"""RoCEv2 takes its source ports from 49152 on; Linux gives those up to 60999 to whoever asks for any."""
_MESH_PORT: Final = 62_024
_PEERS: Final = 8
_LEAST_PER_S: Final = 0.001


@dataclass(frozen=True, slots=True)
class Wishes:
    """How hard to probe.

    Attributes:
        mesh_per_s: probes a second of each NIC within its ToR (R-Pingmesh).
        link_per_s: that shall cross each directed link between switches, replies included (R-Pingmesh).
        agent_per_s: of one host, at most.
        sure: P(a ToR's ports find all its ways).
        share: of the ports that a period replaces.
        alpha: pinned 5-tuples that shall cross each link; 0 pins none.
        beta: faults at once that pinned ones shall tell apart.
    """

    mesh_per_s: float = 10.0
    link_per_s: float = 10.0
    agent_per_s: float = 100.0
    sure: float = 0.99
    share: float = 0.2
    alpha: int = 1
    beta: int = 1


@dataclass(frozen=True, slots=True)
class Planned:
    """Pinglists, and what they can and cannot see.

    Attributes:
        pinglists: of each host.
        link_per_s: expected probes a second, replies included, across each directed link between switches.
        unseen: links on some way between ToRs that no probe is expected to cross.
        slowed: hosts that may not send all that is wished, with the share that they do send.
        alone: ToRs with one host: nobody else there tells its NIC from the fabric.
        apart: ToRs from which no other is reached, as far as links are known.
        homeless: NICs whose ToR is not known; they do not probe.
        pinned: the greedy choice among traced 5-tuples; None where none was traced.
    """

    pinglists: Mapping[Device, Pinglist]
    link_per_s: Mapping[int, float]
    unseen: tuple[int, ...]
    slowed: Mapping[Device, float]
    alone: tuple[Device, ...]
    apart: tuple[Device, ...]
    homeless: tuple[PortAddress, ...]
    pinned: Plan | None


def new_key() -> bytes:
    """A key for probes: 128 random bits."""
    return secrets.token_bytes(16)


def planned(
    fabric: Fabric,
    nics: Sequence[PortAddress],
    period: int,
    base: Pinglist,
    wishes: Wishes,
    traced: Mapping[Tuple, Path],
) -> Planned:
    """Pinglists of a period.

    Args:
        fabric: cables; those of the NICs tell their ToR where the NIC does not.
        nics: all that may probe and be probed.
        period: number of it; ports move on with it.
        base: key, port, window and the like of every pinglist.
        wishes: how hard to probe.
        traced: links of the ways of 5-tuples, found lately; of equal ones the first is chosen.
    """
    return _Planner(fabric, nics, wishes).plan(period, base, traced)


@dataclass(frozen=True, slots=True)
class _Probe:
    """A 5-tuple between two NICs."""

    source: PortAddress
    port: int
    target: PortAddress
    kind: str
    per_s: float = 1.0

    @property
    def key(self) -> Tuple:
        return self.source.address, self.port, self.target.address


class _Planner:
    def __init__(self, fabric: Fabric, nics: Sequence[PortAddress], wishes: Wishes) -> None:
        self._fabric, self._wishes = fabric, wishes
        hosts = {nic.host for nic in nics} | fabric.servers
        self._cables = [place for place, ends in enumerate(fabric.cables) if not {ends[0][:2], ends[1][:2]} & hosts]
        self._switches = Fabric(tuple(fabric.cables[place] for place in self._cables))
        ordered = sorted(nics, key=lambda nic: (nic.site, nic.device, nic.interface))
        self._tor_of = {nic: self._tor(nic) for nic in ordered}
        self._of_tor: dict[Device, list[PortAddress]] = defaultdict(list)
        for nic, tor in self._tor_of.items():
            if tor is not None:
                self._of_tor[tor].append(nic)
        self._tors = sorted(self._of_tor)
        self._spread = lru_cache(maxsize=None)(self._switches.spread)

    def plan(self, period: int, base: Pinglist, traced: Mapping[Tuple, Path]) -> Planned:
        """All of it."""
        pins, pinned = self._pinned(traced)
        drawn = [probe for tor in self._tors for probe in self._between(tor, period)]
        between = self._paced([*pins.values(), *(probe for probe in drawn if probe.key not in pins)])
        mesh = [probe for nics in self._of_tor.values() for probe in self._mesh(nics)]
        probes, slowed = _bounded([*mesh, *between], self._wishes.agent_per_s)
        crossed = self._crossed(probe for probe in probes if probe.kind != "tor_mesh")
        wanted = self._switches.between(self._tors)
        return Planned(
            _lists(probes, self._tor_of, base),
            {self._number(link): per_s for link, per_s in sorted(crossed.items())},
            tuple(self._number(link) for link in sorted(wanted - crossed.keys())),
            slowed,
            tuple(tor for tor in self._tors if len({nic.host for nic in self._of_tor[tor]}) == 1),
            tuple(tor for tor in self._tors if not self._peers(tor)),
            tuple(nic for nic, tor in self._tor_of.items() if tor is None),
            pinned,
        )

    def _tor(self, nic: PortAddress) -> Device | None:
        if nic.tor is not None:
            return nic.site, nic.tor
        links = self._fabric.at((nic.site, nic.device, nic.interface))
        return None if links is None else self._fabric.ends(links[0])[1][:2]

    def _number(self, link: int) -> int:
        """Of the whole fabric."""
        return 2 * self._cables[link // 2] + link % 2

    def _mesh(self, nics: Sequence[PortAddress]) -> Iterable[_Probe]:
        """Each NIC of a ToR to those of its other hosts."""
        for source in nics:
            targets = [each for each in nics if each.host != source.host and each.version == source.version]
            for target in targets:
                yield _Probe(source, _MESH_PORT, target, "tor_mesh", self._wishes.mesh_per_s / len(targets))

    def _peers(self, tor: Device) -> list[Device]:
        """ToRs that one probes: evenly over the order of their names, so that each is probed by as many."""
        others = len(self._tors) - 1
        count = min(others, _PEERS)
        place = self._tors.index(tor)
        steps = (1 + number * others // count for number in range(count))
        found = [self._tors[(place + step) % len(self._tors)] for step in steps]
        return [other for other in found if self._spread(tor, other)]

    def _between(self, tor: Device, period: int) -> Iterable[_Probe]:
        """The 5-tuples of a ToR to others, over its NICs and theirs in turn."""
        peers, nics = self._peers(tor), self._of_tor[tor]
        if not peers:
            return
        ways = max(math.ceil(1.0 / min(self._spread(tor, peer).values()) - 1e-9) for peer in peers)
        count = math.ceil(_tuples(ways, self._wishes.sure) / len(nics))
        for place, source in enumerate(nics):
            for port in rotated(_POOL[:count], period, _POOL, self._wishes.share):
                turn = port - _POOL.start + place * count
                there = self._of_tor[peers[turn % len(peers)]]
                if targets := [target for target in there if target.version == source.version]:
                    yield _Probe(source, port, targets[turn // len(peers) % len(targets)], "inter_tor")

    def _pinned(self, traced: Mapping[Tuple, Path]) -> tuple[dict[Tuple, _Probe], Plan | None]:
        """Of the traced 5-tuples between ToRs the greedy choice, by their links between switches."""
        nics = {nic.address: nic for nic, tor in self._tor_of.items() if tor is not None}
        inner = {2 * place + end for place in self._cables for end in (0, 1)}
        ways: dict[Tuple, Path] = {}
        for key, path in traced.items():
            between = tuple(link for link in path if link in inner)
            if between and key[0] in nics and key[2] in nics and key[1] in _POOL:
                ways[key] = between
        if not ways or not self._wishes.alpha:
            return {}, None
        plan = greedy_plan(list(ways.values()), self._wishes.alpha, self._wishes.beta)
        keys = list(ways)
        chosen = [keys[place] for place in plan.chosen]
        return {key: _Probe(nics[key[0]], key[1], nics[key[2]], "pinned") for key in chosen}, plan

    def _crossed(self, probes: Iterable[_Probe]) -> Counter[int]:
        """Expected probes a second, and their replies, over each link between switches."""
        found: Counter[int] = Counter()
        rates: Counter[tuple[Device, Device]] = Counter()
        for probe in probes:
            ends = self._tor_of[probe.source], self._tor_of[probe.target]
            if ends[0] is not None and ends[1] is not None:
                rates[ends[0], ends[1]] += probe.per_s  # type: ignore[assignment]  # counters take any number
        for (source, target), per_s in rates.items():
            for way in (self._spread(source, target), self._spread(target, source)):
                for link, share in way.items():
                    found[link] += share * per_s  # type: ignore[assignment]  # as above
        return found

    def _paced(self, probes: list[_Probe]) -> list[_Probe]:
        """All at the rate by which the link that the fewest cross is crossed as often as is wished."""
        crossed = self._crossed(probes)
        if not crossed:
            return probes
        per_s = self._wishes.link_per_s / min(crossed.values())
        return [replace(probe, per_s=per_s) for probe in probes]


def _bounded(probes: list[_Probe], most: float) -> tuple[list[_Probe], dict[Device, float]]:
    """No host sends more than it may: those that would are slowed, all their probes alike."""
    wished: dict[Device, float] = defaultdict(float)
    for probe in probes:
        wished[probe.source.host] += probe.per_s
    slowed = {host: most / per_s for host, per_s in wished.items() if per_s > most}
    bounded = [
        replace(probe, per_s=max(probe.per_s * slowed.get(probe.source.host, 1.0), _LEAST_PER_S)) for probe in probes
    ]
    return bounded, slowed


def _lists(probes: Iterable[_Probe], nics: Iterable[PortAddress], base: Pinglist) -> dict[Device, Pinglist]:
    """The same by host: what each sends, and what it is asked."""
    flows: dict[Device, list[Flow]] = {nic.host: [] for nic in nics}
    answered: dict[Device, list[Answered]] = defaultdict(list)
    for probe in probes:
        source, target = probe.source, probe.target
        flows[source.host].append(
            Flow(
                source.interface,
                source.address,
                probe.port,
                target.device,
                target.interface,
                target.address,
                probe.kind,
                round(probe.per_s, 4),
            )
        )
        answered[target.host].append(
            Answered(source.device, source.interface, source.address, probe.port, target.interface, target.address)
        )
    return {
        host: replace(base, flows=tuple(own), answered=tuple(answered.get(host, ()))) for host, own in flows.items()
    }


@lru_cache
def _tuples(ways: int, sure: float) -> int:
    return tuples_needed(ways, sure)
