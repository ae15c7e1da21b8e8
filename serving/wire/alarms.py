"""What goes over the wire about alarms, and of the service itself; OpenAPI is made of these."""

from datetime import datetime, timedelta
from typing import Annotated, Final, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic.config import JsonDict

from ingest.schema import Action, FailureType
from serving.alarms import STANDING, AlarmRecord, Event, Level, Status, Suspect, left_alone
from serving.errors import QueryError
from serving.queries import AlarmFilter
from serving.wire.base import Asked, Name, Risk, Said, Scored, Time

__all__ = [
    "Alarm",
    "AlarmAnswer",
    "AlarmEvent",
    "AlarmQuery",
    "Alarms",
    "Reason",
    "SiteQuery",
    "Suppression",
]

_LONGEST_SUPPRESSION_S: Final = 90 * 86_400


class AlarmQuery(Asked):
    """Filters and page of ``GET /v1/alarms``."""

    status: Annotated[list[Status], Field(max_length=len(Status), description="Any of these; repeatable.")] = []  # noqa: RUF012 - pydantic copies it
    site: Name | None = None
    device: Annotated[Name | None, Field(description="Device of the suspect end.")] = None
    interface: Annotated[Name | None, Field(description="Interface of the suspect end.")] = None
    node: Annotated[Name | None, Field(description="A server on the link; one that is not known is refused.")] = None
    failure_type: FailureType | None = None
    level: Level | None = None
    min_risk: Annotated[Risk | None, Field(description="Risk of failure within 24 h at or above this.")] = None
    since: Annotated[Time | None, Field(description="Raised, of another level, or stepped on in life since.")] = None
    cursor: Annotated[str | None, Field(max_length=1000, description="`next_cursor` of the answer before.")] = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100

    def filter(self) -> AlarmFilter:
        """The store's form of it."""
        return AlarmFilter(
            statuses=frozenset(self.status) or None,
            site=self.site,
            device=self.device,
            interface=self.interface,
            node=self.node,
            failure_type=self.failure_type,
            level=self.level,
            min_risk=self.min_risk,
            since=self.since,
        )


class SiteQuery(Asked):
    """Which site; names are unique within one only."""

    site: Name = "default"


class Reason(Asked):
    """Why an alarm takes a step of its life."""

    reason: Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")] = ""


class Suppression(Reason):
    """Why an alarm is suppressed, and how long: it opens again by itself."""

    until: Annotated[Time | None, Field(description="Until then; or `ttl_s` says how long.")] = None
    ttl_s: Annotated[int | None, Field(ge=1, le=_LONGEST_SUPPRESSION_S, description="So many seconds from now.")] = None

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.until is None) == (self.ttl_s is None):
            msg = "say either `until` or `ttl_s`: what is suppressed without an end is forgotten"
            raise ValueError(msg)
        return self

    def end(self, now: datetime) -> datetime:
        """When it opens again.

        Raises:
            QueryError: that has passed, or is too far off.
        """
        if self.until is None:
            return now + timedelta(seconds=self.ttl_s or 0)
        if not now < self.until <= now + timedelta(seconds=_LONGEST_SUPPRESSION_S):
            msg = "`until` lies in the future, 90 days at most"
            raise QueryError(msg)
        return self.until


_ALARM_EXAMPLE: Final[JsonDict] = {
    "alarm_id": "9f3c1a7e20b4",
    "status": "open",
    "level": "act",
    "site": "default",
    "device": "leaf01",
    "interface": "HundredGigE0/0/0/1",
    "serial": "FNS2548A1B2",
    "suspect": "module",
    "link_id": "default/leaf01/HundredGigE0/0/0/1--default/spine02/HundredGigE0/0/0/7",
    "peer_device": "spine02",
    "peer_interface": "HundredGigE0/0/0/7",
    "affected_nodes": [],
    "left_alone": False,
    "raised_at": "2026-11-29T06:00:00Z",
    "act_at": "2026-11-29T06:00:00Z",
    "cleared_at": None,
    "suppressed_until": None,
    "expires_at": "2026-11-30T12:04:00Z",
    "risk_24h": 0.71,
    "risk_168h": 0.93,
    "failure_type": "laser_degradation",
    "action": "replace_transceiver",
    "expected_from": "2026-11-29T18:00:00Z",
    "expected_to": "2026-11-30T18:00:00Z",
    "reasons": ["bias of lane 2 is 38 % above its baseline at equal temperature"],
    "model_version": "7",
}


_MADE: Final = frozenset({"affected_nodes", "expires_at", "left_alone", "reasons"})


class Alarm(Said):
    """An alarm on a fault unit; a forecast, so it is never a fault that has happened."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ALARM_EXAMPLE]}, frozen=True, protected_namespaces=())

    alarm_id: str
    status: Status
    level: Annotated[Level, Field(description="`act` is what a drain may rest on; `watch` is not.")]
    site: str
    device: Annotated[str, Field(description="The suspect end.")]
    interface: str
    serial: str | None
    suspect: Suspect
    link_id: Annotated[str, Field(description="Key of the fault unit; it has one standing alarm at most.")]
    peer_device: str | None
    peer_interface: str | None
    affected_nodes: Annotated[list[str], Field(description="Servers on the link; empty where none is known.")]
    left_alone: Annotated[
        bool,
        Field(
            description="Drawn at random not to be acted on, on a link between switches: what comes of it is a label."
        ),
    ]
    raised_at: datetime
    act_at: Annotated[datetime | None, Field(description="When it reached the level `act`.")]
    cleared_at: datetime | None
    suppressed_until: Annotated[datetime | None, Field(description="When it opens again.")]
    expires_at: Annotated[
        datetime | None, Field(description="When it expires unless a run renews it; null where it does not stand.")
    ]
    risk_24h: Annotated[float | None, Field(description="Calibrated P(failure within 24 h).")]
    risk_168h: float | None
    failure_type: Annotated[FailureType | None, Field(description="Most probable one, given failure.")]
    action: Action
    expected_from: datetime | None
    expected_to: datetime | None
    reasons: list[str]
    model_version: Annotated[str, Field(description="Of the model that last updated the alarm.")]

    @classmethod
    def of(cls, record: AlarmRecord, servers: frozenset[tuple[str, str]], no_act_share: float, ttl_s: float) -> Self:
        """The record, with the servers on its link by name; none is left alone where no server is known at all."""
        ends = dict.fromkeys(name for name in (record.device, record.peer_device) if name is not None)
        values = {name: getattr(record, name) for name in cls.model_fields if name not in _MADE}
        nodes = [name for name in ends if (record.site, name) in servers]
        values["affected_nodes"], values["reasons"] = nodes, list(record.reasons)
        values["left_alone"] = bool(servers) and not nodes and left_alone(record.alarm_id, no_act_share)
        renewed_at = record.renewed_at if record.status in STANDING else None
        values["expires_at"] = None if renewed_at is None else renewed_at + timedelta(seconds=ttl_s)
        return cls(**values)


class AlarmEvent(Said):
    """One step of an alarm's life."""

    at: datetime
    from_status: Status | None
    to_status: Status
    who: str
    why: str

    @classmethod
    def of(cls, event: Event) -> Self:
        """The store's event."""
        return cls(at=event.at, from_status=event.from_status, to_status=event.to_status, who=event.who, why=event.why)


class Alarms(Scored):
    """A page of alarms, the newest first."""

    answered_at: Annotated[datetime, Field(description="Give it as `since`, less a minute, the next time.")]
    alarms: list[Alarm]
    next_cursor: Annotated[str | None, Field(description="Null on the last page.")]


class AlarmAnswer(Scored):
    """One alarm with its life."""

    alarm: Alarm
    events: list[AlarmEvent]
