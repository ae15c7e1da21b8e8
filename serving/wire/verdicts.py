"""What goes over the wire about a verdict."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field

from diagnosis.fabric import Fabric
from diagnosis.localize import Finding
from diagnosis.parts import Part
from diagnosis.reading import Question
from diagnosis.verdict import Kind, Priority, Verdict
from serving.errors import QueryError
from serving.wire.base import Asked, Name, Said

__all__ = ["Fault", "Layer", "LinkPart", "Power", "VerdictAnswer", "VerdictQuery"]


class VerdictQuery(Asked):
    """A link, by one of its ports, or a job, by its nodes."""

    link: Annotated[Name | None, Field(description="A port of it: `leaf01/Ethernet1/1`.")] = None
    job: Annotated[Name | None, Field(description="What the job is called; its `node`s are needed.")] = None
    node: Annotated[list[Name], Field(max_length=256, description="A server of the job; repeatable.")] = []  # noqa: RUF012 - copied
    site: Name = "default"
    windows: Annotated[int, Field(ge=1, le=240, description="Newest closed windows, looked at together.")] = 15
    slowdown: Annotated[
        float | None, Field(gt=0.0, lt=1.0, description="Share by which the job is slower than it should be.")
    ] = None

    def question(self) -> Question:
        """The same as the analysis asks it.

        Raises:
            QueryError: neither a link nor a job's nodes, or both.
        """
        if (self.link is None) == (not self.node) or bool(self.job) != bool(self.node):
            msg = "ask for `link=device/interface`, or for `job=` with two or more `node=`"
            raise QueryError(msg)
        if self.link is None:
            nodes = tuple((self.site, name) for name in self.node)
            return Question(nodes=nodes, windows=self.windows, slowdown=self.slowdown)
        device, _, interface = self.link.partition("/")
        if not interface:
            msg = f"`link={device}` names no port: ask for `link=device/interface`"
            raise QueryError(msg)
        return Question(ports=((self.site, device, interface),), windows=self.windows, slowdown=self.slowdown)


class Fault(Said):
    """A loss, and every link that it may be at."""

    links: Annotated[list[str], Field(description="Directed links, the likeliest first; nothing tells them apart.")]
    shares: Annotated[list[float], Field(description="P(it is at that link), given the fault.")]
    loss: float
    posterior: Annotated[float, Field(description="P(there is a fault).")]

    @classmethod
    def of(cls, finding: Finding, fabric: Fabric) -> Self:
        """A finding, in names."""
        return cls(
            links=[fabric.named(link) for link in finding.links],
            shares=list(finding.shares),
            loss=finding.loss,
            posterior=finding.posterior,
        )


class LinkPart(Said):
    """The part of a link that is at fault, from the modules at both its ends."""

    part: Part
    why: str


class Power(Said):
    """How well the links were looked at: what an all-clear is worth."""

    least_loss: Annotated[
        float, Field(description="Any loss from this on, of any of the links, would have been found.")
    ]
    links: int
    unseen: Annotated[list[str], Field(description="Links at which a loss that matters could have passed unseen.")]
    more_windows: Annotated[
        int | None, Field(description="Windows that are still needed; null: probes do not cross every link.")
    ]


class Layer(Said):
    """What one layer says."""

    layer: str
    says: str


class VerdictAnswer(Said):
    """Is it the network, a host, congestion, or is the network innocent?"""

    kind: Kind
    why: str
    priority: Priority | None
    at: datetime
    job: str | None
    fault: Fault | None
    part: LinkPart | None
    elsewhere: Annotated[list[Fault], Field(description="Losses at other links.")]
    power: Power
    chain: Annotated[list[Layer], Field(description="What the layers say, from the application down to the light.")]
    missing: Annotated[list[str], Field(description="Layers that said nothing.")]

    @classmethod
    def of(cls, verdict: Verdict, fabric: Fabric, at: datetime, job: str | None, links: int) -> Self:
        """A verdict, in names."""
        power = verdict.power
        return cls(
            kind=verdict.kind,
            why=verdict.why,
            priority=verdict.priority,
            at=at,
            job=job,
            fault=None if verdict.finding is None else Fault.of(verdict.finding, fabric),
            part=None if verdict.part is None else LinkPart(part=verdict.part.part, why=verdict.part.why),
            elsewhere=[Fault.of(finding, fabric) for finding in verdict.elsewhere],
            power=Power(
                least_loss=power.least_loss,
                links=links,
                unseen=[fabric.named(link) for link in power.unseen],
                more_windows=power.more_windows,
            ),
            chain=[Layer(layer=step.layer, says=step.says) for step in verdict.chain],
            missing=list(verdict.missing),
        )
