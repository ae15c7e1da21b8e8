"""Rows of ``probes`` and ``probe_paths`` as the analysis takes them: flows, their ways as links, and findings.

What is wrong is looked for in an order in which each step takes its rows from the next (R-Pingmesh): a host that is
down explains its timeouts, and none of them is left to blame a cable for.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from diagnosis.fabric import Device, Fabric, Path, Port

__all__ = ["Cause", "Known", "Limits", "ProbeFinding", "Row", "Ways", "flow_of"]

Row = Mapping[str, Any]
Flow = tuple[str, str, int]


class Cause(StrEnum):
    """What a window shows."""

    HOST_DOWN = "host_down"  # neither its agent nor its kernel answers
    HOST_STALLED = "host_stalled"  # its kernel answers, its agent sleeps
    HOST_STARVED = "host_starved"  # it answers, long after the question came
    AGENT_DOWN = "agent_down"  # its kernel says that nobody listens
    AGENT_SILENT = "agent_silent"  # it answers probes and tells nothing
    AGENT_RESTARTED = "agent_restarted"
    NIC_DOWN = "nic_down"  # the agent speaks, and nothing comes or goes by this NIC
    PATH_CHANGED = "path_changed"
    BLACK_HOLE = "black_hole"  # some 5-tuples die where others on the same links live
    CONGESTION = "congestion"  # a queue that stands
    LINK = "link"  # packets are lost on a directed link


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """One thing that a window shows.

    Attributes:
        subject: a device, device:interface, or links, in the fabric's words.
        links: directed links, where it is about such.
        rows: 5-tuples and windows that it explains.
        score: from 0 to 1: how sure; few reporters make it small.
        detail: in one sentence.
    """

    cause: Cause
    subject: str
    rows: int
    score: float
    detail: str
    links: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside the rows.

    Attributes:
        ports: of addresses: switches' and NICs'.
        agents: devices whose agent should speak.
    """

    fabric: Fabric
    ports: Mapping[str, Port]
    agents: frozenset[Device] = frozenset()


@dataclass(frozen=True, slots=True)
class Limits:
    """From where on something is something.

    Attributes:
        dead: share of probes lost at which all is lost, chance apart.
        starved_ns: a responder that takes so long in most of its flows is starved.
        congested: a round trip so many times the usual one, and `congested_ns` above it, is that of a standing queue.
        hole: flows beside a dead one that lose less show that its links are sound.
        changed: flows, at least, whose way must change for a finding.
        least_sent: probes of a flow, at least, to call it dead.
    """

    dead: float = 0.95
    starved_ns: int = 300_000_000
    congested: float = 5.0
    congested_ns: int = 2_000_000
    hole: float = 0.4
    changed: int = 2
    least_sent: int = 5


def flow_of(row: Row) -> Flow:
    """What a row and its ways have in common."""
    return row["source_address"], row["target_address"], row["source_port"]


@dataclass
class Ways:
    """The ways of flows, as they were found in the course of time.

    A hop that said nothing says nothing here: a way with such is used where there is no whole one.
    """

    known: Known
    _found: dict[tuple[Flow, str], list[tuple[datetime, tuple[str | None, ...]]]] = field(default_factory=dict)
    _paths: dict[tuple[str | None, ...], Path | None] = field(default_factory=dict)

    def add(self, rows: Iterable[Row]) -> None:
        """Take rows of ``probe_paths``; those that did not come to their end say nothing."""
        for row in rows:
            if row["reached"]:
                end = row["target_address" if row["direction"] == "forward" else "source_address"]
                hops = (*row["hops"], end)
                self._found.setdefault((flow_of(row), row["direction"]), []).append((_time(row["time"]), hops))

    def path(self, flow: Flow, direction: str, start: datetime, end: datetime) -> Path | None:
        """The links of the last whole way found before `start`, or of the first after it; None where there is none."""
        whole = [(at, hops) for at, hops in self._found.get((flow, direction), []) if None not in hops and at <= end]
        before = [hops for at, hops in whole if at <= start]
        hops = before[-1] if before else whole[0][1] if whole else None
        return None if hops is None else self._links(hops)

    def changed(self, flow: Flow, direction: str, start: datetime, end: datetime) -> bool:
        """Whether a way found from `start` to `end` is another than the last before it."""
        found = self._found.get((flow, direction), [])
        before = next((hops for at, hops in reversed(found) if at <= start), None)
        during = [hops for at, hops in found if start < at <= end]
        return before is not None and any(_differ(before, hops) for hops in during)

    def forget(self, before: datetime) -> None:
        """Drop all but the last way of each flow that is older."""
        for key, found in self._found.items():
            old = [each for each in found if each[0] < before]
            self._found[key] = old[-1:] + [each for each in found if each[0] >= before]

    def _links(self, hops: tuple[str | None, ...]) -> Path | None:
        if hops not in self._paths:
            ports = [self.known.ports.get(str(hop)) for hop in hops]
            whole = [port for port in ports if port is not None]
            links = self.known.fabric.crossed(whole) if len(whole) == len(ports) else ()
            self._paths[hops] = links if len(links) == len(hops) else None
        return self._paths[hops]


def share_lost(rows: Collection[Row]) -> float:
    """Of all probes of rows; 0 of none."""
    sent = sum(row["sent"] for row in rows)
    return sum(row["lost"] for row in rows) / sent if sent else 0.0


def confidence(rows: Sequence[Row]) -> float:
    """By how many hosts tell the same: one alone is no more than even."""
    return 1.0 - 1.0 / (1.0 + len({(row["site"], row["source_device"]) for row in rows}))


def _differ(one: tuple[str | None, ...], other: tuple[str | None, ...]) -> bool:
    if len(one) != len(other):
        return True
    return any(a != b for a, b in zip(one, other, strict=True) if a is not None and b is not None)


def _time(said: datetime | str) -> datetime:
    return datetime.fromisoformat(said) if isinstance(said, str) else said
