"""The capacity guard: whether links may be taken out, given what is out already.

CorrOpt's rule (Zhuo et al., SIGCOMM 2017) over whole paths: each ToR keeps a share of its paths to the top. Beside it
stand limits for parallel links, shared risks, devices, tiers, the fleet and the hour, so that no single mistake of the
model reaches far. Pure: the caller holds the lock under which the answer stays true.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Final

from serving.drains.config import Guard
from serving.drains.fabric import SERVER, Device, Fabric, Link
from serving.drains.observed import Observed

__all__ = ["Code", "Held", "Network", "Refusal", "refusal"]

_PER_HOUR: Final = timedelta(hours=1)


class Code(StrEnum):
    """Why a link may not be taken out; stable words for automation."""

    STOPPED = "stopped"
    SHADOW = "shadow"
    EXCLUDED = "excluded"
    COOL_DOWN = "cool_down"
    HELD = "held"
    STALE = "stale"
    TIER_UNKNOWN = "tier_unknown"
    NO_REDUNDANCY = "no_redundancy"
    CAPACITY = "capacity"
    BUNDLE = "bundle"
    SHARED_RISK = "shared_risk"
    DEVICE = "device"
    TIER = "tier"
    FLEET = "fleet"
    HOUR = "hour"
    ALARM = "alarm"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not, for automation and for people."""

    code: Code
    why: str


@dataclass(frozen=True, slots=True)
class Held:
    """Links that a lease or a reported drain has taken out.

    Attributes:
        links: all of them.
        granted_at: when the lease was given; None where somebody drained without asking.
        ended_at: when it ended; from then on the links count as out until they are seen up.
        drained: whether traffic was taken off, so that the links rest afterwards.
    """

    links: tuple[str, ...]
    granted_at: datetime | None
    ended_at: datetime | None = None
    drained: bool = True

    def back(self, observed: Observed) -> bool:
        """Whether it ended and each of its links was seen up after that, or is no more."""
        ended = self.ended_at
        if (
            ended is None
            or not observed.unseen.isdisjoint(self.links)
            or not observed.down.keys().isdisjoint(self.links)
        ):
            return False
        return all(observed.up_at[link] > ended for link in self.links if link in observed.up_at)


@dataclass(frozen=True, slots=True)
class Network:
    """The fabric and what is out of it.

    Attributes:
        fabric: links and tiers.
        observed: what telemetry, maintenance and tickets say.
        held: drains that are not back.
        recent: drains of the last days that ended, for the cool-down.
    """

    fabric: Fabric
    observed: Observed
    held: Sequence[Held] = ()
    recent: Sequence[Held] = ()

    def taken(self) -> set[str]:
        """Links that we, or people who told us, have out."""
        return {link for one in self.held for link in one.links}


def refusal(network: Network, links: Sequence[str], guard: Guard, now: datetime) -> Refusal | None:
    """The first reason against taking these links out together; None where there is none.

    Args:
        network: as of now.
        links: known to the fabric; those of one module.
        guard: the limits.
        now: the time.
    """
    return next(_reasons(network, links, guard, now), None)


def _reasons(network: Network, links: Sequence[str], guard: Guard, now: datetime) -> Iterator[Refusal]:
    yield from _stale(network, guard, now)
    yield from (
        Refusal(Code.DOWN, f"{link} is {network.observed.down[link]} already: there is nothing to drain")
        for link in links
        if link in network.observed.down
    )
    yield from _rested(network, links, guard, now)
    yield from _limits(network, links, guard, now)
    for link in (network.fabric.links[name] for name in links):
        yield from _redundant(network.fabric, link)
    yield from _parallel(network, links, guard)
    yield from _capacity(network, links, guard)


def _stale(network: Network, guard: Guard, now: datetime) -> Iterator[Refusal]:
    age_s = (now - network.observed.at).total_seconds()
    if abs(age_s) > guard.observed_within_s:
        yield Refusal(Code.STALE, f"the state of the links is as of {network.observed.at.isoformat()}: too old")


def _rested(network: Network, links: Collection[str], guard: Guard, now: datetime) -> Iterator[Refusal]:
    """Not twice at once, and not again soon."""
    if held := sorted(network.taken() & set(links)):
        yield Refusal(Code.HELD, f"{held[0]} is out already")
    since = now - timedelta(hours=guard.cool_down_h)
    worked_on = [one for one in network.recent if one.drained and one.ended_at and one.ended_at > since]
    if any(set(one.links) & set(links) for one in worked_on):
        yield Refusal(
            Code.COOL_DOWN, f"a drain of it ended less than {guard.cool_down_h:g} h ago: look before the next"
        )


def _limits(network: Network, links: Sequence[str], guard: Guard, now: datetime) -> Iterator[Refusal]:
    """How much may be out at once, by device, tier and fleet, and how fast it may grow."""
    fabric = network.fabric
    out, new = network.taken() & fabric.links.keys(), set(links)
    most = max(guard.most_in_fleet, int(guard.most_of_fleet * len(fabric.links)))
    if len(out | new) > most:
        yield Refusal(Code.FLEET, f"{len(out)} links are out; {most} may be at once")
    every = (*network.held, *network.recent)
    lately = sum(one.granted_at is not None and one.granted_at > now - _PER_HOUR for one in every)
    if lately >= guard.most_per_hour:
        yield Refusal(Code.HOUR, f"{lately} leases were given in the last hour; {guard.most_per_hour} may be")
    yield from _crowded(Code.DEVICE, guard.most_per_device, _devices(fabric, out), _devices(fabric, new))
    yield from _crowded(Code.TIER, guard.most_per_tier, _tiers(fabric, out), _tiers(fabric, new))
    yield from _crowded(Code.SHARED_RISK, guard.most_per_shared_risk, _groups(network, new), _groups_of(fabric, new))


def _crowded(code: Code, most: int, before: Iterable[object], more: Iterable[object]) -> Iterator[Refusal]:
    """Refuses where what is out at one place and what is to come are more than may be.

    The links of one module are one piece of work: alone at a place, they pass whatever their number.
    """
    out, new = Counter(before), Counter(more)
    for place, count in sorted(new.items(), key=str):
        if out[place] and out[place] + count > most:
            name = "/".join(map(str, place)) if isinstance(place, tuple) else place
            yield Refusal(code, f"{out[place]} links are out at {code.replace('_', ' ')} {name}; {most} may be")


def _devices(fabric: Fabric, links: Iterable[str]) -> list[Device]:
    return [device for link in links for device in set(fabric.links[link].devices)]


def _tiers(fabric: Fabric, links: Iterable[str]) -> list[tuple[int, int]]:
    return [tier for link in links if (tier := fabric.tier_of(fabric.links[link])) is not None]


def _groups_of(fabric: Fabric, links: Iterable[str]) -> list[str]:
    return [group for link in links for group in fabric.links[link].shared_risk]


def _groups(network: Network, new: set[str]) -> list[str]:
    """Shared risks of all that is out, seen down included: what they share may be what is broken."""
    fabric = network.fabric
    out = (network.taken() | network.observed.down.keys()) & fabric.links.keys()
    return _groups_of(fabric, out - new)


def _redundant(fabric: Fabric, link: Link) -> Iterator[Refusal]:
    """Only a link between two tiers of switches has others beside it."""
    tier = fabric.tier_of(link)
    if tier is None:
        unplaced = [name for site, name in link.devices if (site, name) not in fabric.tiers]
        yield Refusal(Code.TIER_UNKNOWN, f"nobody said which tier {unplaced[0]} is in: name it in [guard] tiers")
    elif tier[0] == SERVER:
        yield Refusal(Code.NO_REDUNDANCY, "a server's link has no other beside it: give it no new jobs")
    elif tier[0] == tier[1]:
        yield Refusal(Code.NO_REDUNDANCY, f"both ends are in tier {tier[0]}: no path up goes over another link")


def _parallel(network: Network, links: Sequence[str], guard: Guard) -> Iterator[Refusal]:
    """Of several links between two devices some stay, seen up."""
    fabric, observed = network.fabric, network.observed
    gone = network.taken() | set(links) | observed.down.keys()
    for bundle in {fabric.links[link].bundle for link in links}:
        members = fabric.bundles[bundle]
        there = [link for link in members if link not in gone]
        left = [link for link in there if link not in observed.unseen]
        if len(members) > 1 and len(left) < guard.bundle_min_links:
            names = " and ".join(sorted(name for _, name in bundle))
            why = f"{len(left)} of {len(members)} links between {names} would be left"
            if len(there) < guard.bundle_min_links:
                yield Refusal(Code.BUNDLE, why)
            else:
                yield Refusal(Code.STALE, f"nobody has seen {there[0]} up lately, and without it {why}")


def _capacity(network: Network, links: Sequence[str], guard: Guard) -> Iterator[Refusal]:
    """Each ToR keeps its share of paths; where only unseen links are in the way, that is what is said."""
    fabric, taken = network.fabric, network.taken() | set(links)
    tors = fabric.tors_below(links)
    known = taken | network.observed.down.keys()
    short = _short(fabric, tors, known | network.observed.unseen, guard)
    if short is None:
        return
    (_, tor), left, least = short
    why = f"{tor} would have {left} of {fabric.design[short[0]]} paths left; {least} must stay"
    if _short(fabric, tors, known, guard) is None:
        unseen = min(network.observed.unseen - known)
        yield Refusal(Code.STALE, f"nobody has seen {unseen} up lately, and without it {why}")
    else:
        yield Refusal(Code.CAPACITY, why)


def _short(
    fabric: Fabric, tors: Iterable[Device], down: Collection[str], guard: Guard
) -> tuple[Device, int, int] | None:
    """A ToR with too few paths: its name, how many it has and how many it must have."""
    for tor, left in sorted(fabric.paths(tors, down).items()):
        least = ceil(guard.least_path_share * fabric.design[tor])
        if left < least:
            return tor, left, least
    return None
