"""What goes over the wire of ``POST /v1/probes``: what one host's probe agent saw, and what was made of it."""

import hashlib
from datetime import datetime
from ipaddress import ip_address
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from serving.wire.base import Asked, Name, Said, Time

__all__ = ["PathRow", "ProbeRequest", "ProbeRow", "ProbesTaken", "RefusedProbe"]

_MOST_ROWS: Final = 5_000
_MOST_HOPS: Final = 32
_MOST_PER_S: Final = 10_000
"""Of one 5-tuple: no pinglist asks for more, and counts beyond it would outweigh what all others saw."""


def _plain(said: str) -> str:
    return str(ip_address(said))


_Address = Annotated[str, Field(max_length=45), AfterValidator(_plain)]
_Port = Annotated[int, Field(ge=1, le=65_535)]
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Epoch = Annotated[int, Field(ge=-(2**63), lt=2**63)] | None


class _Flow(Asked):
    """A 5-tuple, from the prober's end."""

    time: Time
    source_interface: Name | None = None
    source_address: _Address
    target_interface: Name | None = None
    target_address: _Address
    source_port: _Port
    target_port: _Port
    protocol: Literal["udp", "rdma_ud"] = "udp"


class ProbeRow(_Flow):
    """A window of one 5-tuple; each name is a column of the table `probes`."""

    window_s: Annotated[float, Field(gt=0, le=3_600)]
    target_device: Name
    kind: Literal["tor_mesh", "inter_tor", "service", "pinned"]
    sent: _Count
    unsent: _Count = 0
    lost: _Count
    forward_lost: _Count | None = None
    reverse_lost: _Count | None = None
    refused: _Count = 0
    late: _Count = 0
    kernel_answers: bool | None = None
    source_epoch: _Epoch = None
    target_epoch: _Epoch = None
    epoch_changed: bool = False
    limited: bool = False
    invalid_rtt: _Count = 0
    rtt_min_ns: _Count | None = None
    rtt_p50_ns: _Count | None = None
    rtt_p99_ns: _Count | None = None
    rtt_max_ns: _Count | None = None
    target_p50_ns: _Count | None = None
    target_p99_ns: _Count | None = None
    target_max_ns: _Count | None = None
    source_p50_ns: _Count | None = None
    source_p99_ns: _Count | None = None
    source_max_ns: _Count | None = None
    stamps: Literal["hardware", "kernel", "user"] | None = None

    @property
    def contradiction(self) -> str | None:
        """Which of its counts cannot be beside each other; None where they can."""
        parts = (self.forward_lost, self.reverse_lost)
        wrong = {
            "more is lost than was sent": self.lost > self.sent,
            "one direction's loss is told without the other's": parts.count(None) == 1,
            "both directions together are not what was lost": None not in parts
            and sum(part or 0 for part in parts) != self.lost,
            "more was refused than was lost": self.refused > self.lost,
            f"more than {_MOST_PER_S:,} probes a second": self.sent > _MOST_PER_S * self.window_s,
        }
        return next((why for why, holds in wrong.items() if holds), None)


class PathRow(_Flow):
    """The way of one 5-tuple's probes, or of their replies, as this host traced it."""

    source_device: Name | None = None
    target_device: Name | None = None
    direction: Literal["forward", "reverse"]
    hops: Annotated[list[_Address | None], Field(max_length=_MOST_HOPS)]
    reached: bool


class ProbeRequest(Asked):
    """What one host's agent saw."""

    site: Name = "default"
    device: Name
    probes: Annotated[list[ProbeRow], Field(max_length=_MOST_ROWS)] = []  # noqa: RUF012 - pydantic copies it
    paths: Annotated[list[PathRow], Field(max_length=_MOST_ROWS)] = []  # noqa: RUF012 - pydantic copies it

    @property
    def digest(self) -> str:
        """The same for the same rows."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.probes or self.paths):
            msg = "there is neither a probe nor a path"
            raise ValueError(msg)
        return self


class RefusedProbe(Said):
    """What was not taken; the rest was."""

    source_address: str
    target_address: str
    source_port: int
    time: datetime
    reason: str


class ProbesTaken(Said):
    """What was made of it; it is durably kept when this is answered."""

    received_at: datetime
    new: Annotated[bool, Field(description="False where the very same was sent before.")]
    probes: int
    paths: int
    refused: Annotated[list[RefusedProbe], Field(description="The first hundred; all are counted.")]
    refused_count: int
