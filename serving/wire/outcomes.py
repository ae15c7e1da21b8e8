"""What goes over the wire about outcomes: tickets and repairs, as the lake's tables have them."""

import hashlib
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ingest.schema import Action, FailureType
from serving.wire.base import Asked, Name, Said, Time

__all__ = ["Outcome", "Repair", "Taken", "Ticket"]

_Words = Annotated[str, StringConstraints(max_length=2000, pattern=r"^[^\x00]*$")]


class Outcome(Asked):
    """What somebody found or did."""

    ticket_id: Name

    @property
    def transaction(self) -> str:
        """The same for the same words, so that the lake takes them once."""
        return hashlib.sha256(f"{type(self).__name__}:{self.model_dump_json()}".encode()).hexdigest()


class Ticket(Outcome):
    """A failure as an operator wrote it down; the newest version of a ticket counts."""

    site: Name = "default"
    device: Name
    interface: Name
    serial: Name | None = None
    opened_at: Time
    closed_at: Time | None = None
    failure_type: FailureType | None = None
    action: Action | None = None
    bench_verdict: Literal["confirmed", "no_trouble_found", "unknown"] | None = None
    alarm_id: Annotated[Name | None, Field(description="The alarm that it was opened for.")] = None
    drained_at: Time | None = None
    summary: _Words | None = None


class Repair(Outcome):
    """One step of what was done about a ticket."""

    seq: Annotated[int, Field(ge=0, lt=2**31)]
    at: Time
    end: Annotated[Name | None, Field(description="`device/interface`; null for the fibre.")] = None
    action: Action
    old_serial: Name | None = None
    new_serial: Name | None = None
    outcome: Name | None = None


class Taken(Said):
    """What was made of it."""

    ticket_id: str
    received_at: datetime
    new: Annotated[bool, Field(description="False where the very same was sent before.")]
    confirmed: Annotated[int, Field(description="Alarms that it confirmed.")]
