"""What goes over the wire of ``GET /v1/sla``: what the network gave its hosts, by tier, and what its map shows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self

from pydantic import Field

from diagnosis.heatmap import HeatMap, Pattern, Seen
from diagnosis.sla import Breach, Reach, Sla, Tier
from serving.wire.base import Asked, Name, Said

__all__ = ["Map", "SlaAnswer", "SlaQuery", "SlaRow"]


class SlaQuery(Asked):
    """Of which site, and how many windows."""

    site: Name = "default"
    windows: Annotated[int, Field(ge=1, le=15, description="Newest closed windows.")] = 1


class SlaRow(Said):
    """One scope in one window."""

    time: Annotated[datetime, Field(description="Start of the window.")]
    tier: Tier
    name: str
    reach: Annotated[Reach, Field(description="Probes between its hosts, or between one of them and another.")]
    flows: int
    sent: int
    lost: int
    loss: float
    rtt_p50_ns: int | None
    rtt_p99_ns: int | None
    processing_p50_ns: Annotated[int | None, Field(description="At responders, from receipt to reply.")]
    processing_p99_ns: int | None
    breached: Annotated[list[Breach], Field(description="Worse than Pingmesh's alarm: loss over 0.1 %, p99 over 5 ms.")]

    @classmethod
    def of(cls, sla: Sla) -> Self:
        """The same, as it goes over the wire."""
        same = {name: getattr(sla, name) for name in cls.model_fields if name != "breached"}
        return cls(**same, breached=list(sla.breached))


class Map(Said):
    """ToR against ToR, in all these windows together."""

    pattern: Pattern
    pods: Annotated[list[str], Field(description="That the pattern is about.")]
    tors: list[str]
    cells: Annotated[
        list[list[int]], Field(description="From row to column: -1 not probed, 0 well, 1 lossy or slow, 2 unanswered.")
    ]

    @classmethod
    def of(cls, found: HeatMap, seen: Seen) -> Self:
        """The map and what it shows."""
        return cls(
            pattern=seen.pattern, pods=list(seen.pods), tors=list(found.tors), cells=found.cells.astype(int).tolist()
        )


class SlaAnswer(Said):
    """What probes of the newest closed windows say; nothing where there are none."""

    at: datetime
    site: str
    slas: Annotated[list[SlaRow], Field(description="The newest window first; the fleet, then pods and ToRs.")]
    map: Map

    @classmethod
    def of(cls, at: datetime, site: str, told: Sequence[Sla], found: HeatMap, seen: Seen) -> Self:
        """All of it."""
        return cls(at=at, site=site, slas=[SlaRow.of(one) for one in told], map=Map.of(found, seen))
