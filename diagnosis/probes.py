"""What windows of ``probes`` show, from where on, and what must be known beside them.

What is wrong is looked for in an order in which each step takes its rows from the next (R-Pingmesh): a host that is
down explains its timeouts, and none of them is left to blame a cable for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import polars as pl

from diagnosis.fabric import Device, Fabric, Port

__all__ = ["TELLERS", "Cause", "Known", "Limits", "ProbeFinding", "confidence", "sure_of"]

TELLERS: Final = pl.struct("site", "source_device").n_unique()
"""How many devices tell of these rows."""


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
        mostly: share of a flow's probes lost from which it may have met a black hole, be it in a part of the window.
        starved_ns: a responder that takes so long in most of its flows is starved.
        congested: a round trip so many times the usual one, and `congested_ns` above it, is that of a standing queue.
        hole: chance, at most, that links which take of a flow as much as of others take so many of its packets.
        changed: flows, at least, whose way must change for a finding.
        least_sent: probes of a flow, at least, to call it dead, and of others, to call a link sound.
    """

    dead: float = 0.95
    mostly: float = 0.5
    starved_ns: int = 300_000_000
    congested: float = 5.0
    congested_ns: int = 2_000_000
    hole: float = 1e-6
    changed: int = 2
    least_sent: int = 5


def confidence(rows: pl.DataFrame) -> float:
    """By how many hosts tell the same: one alone is no more than even."""
    return sure_of(rows.select(TELLERS).item())


def sure_of(tellers: int) -> float:
    """The same of a number of hosts.

    >>> [sure_of(tellers) for tellers in (0, 1, 3)]
    [0.0, 0.5, 0.75]
    """
    return 1.0 - 1.0 / (1.0 + tellers)
