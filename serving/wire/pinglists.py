"""What goes over the wire of ``GET /v1/probes/pinglist``: what one host's probe agent shall do."""

from typing import Annotated, Literal

from pydantic import Field

from serving.wire.base import Asked, Name, Said

__all__ = ["Pinglist", "PinglistQuery", "ProbedFlow", "TracedReply"]


class PinglistQuery(Asked):
    """Whose pinglist."""

    device: Name
    site: Name = "default"


class ProbedFlow(Said):
    """A 5-tuple to probe."""

    source_interface: str
    source_address: str
    source_port: int
    target_device: str
    target_interface: str
    target_address: str
    kind: Literal["tor_mesh", "inter_tor", "service", "pinned"]
    per_s: Annotated[float, Field(description="Probes a second.")]


class TracedReply(Said):
    """A 5-tuple by which the host is probed: it traces the way of its replies."""

    source_device: str
    source_interface: str
    source_address: str
    source_port: int
    target_interface: str
    target_address: str


class Pinglist(Said):
    """What an agent shall do; without flows and replies it sends nothing, answers nothing, and asks again."""

    key: Annotated[str, Field(description="Of the probes; hex.")]
    port: int
    window_s: float
    timeout_s: float
    answer_per_s: float
    trace_share: float
    trace_per_s: float
    flows: list[ProbedFlow]
    answered: list[TracedReply]
