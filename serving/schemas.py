"""What goes over the wire under ``/v1``; OpenAPI is made of these."""

from datetime import UTC, datetime
from typing import Annotated, Final, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.config import JsonDict

from ingest.schema import Action, FailureType
from serving.alarms import AlarmRecord, Event, Level, Status, Suspect, left_alone
from serving.queries import AlarmFilter

__all__ = [
    "ActionStep",
    "Alarm",
    "AlarmAnswer",
    "AlarmEvent",
    "AlarmQuery",
    "Alarms",
    "Name",
    "Reason",
    "SiteQuery",
    "Transceiver",
    "TransceiverAlarm",
    "Version",
]

_PLAIN: Final = r"^[^\x00-\x1f\x7f]+$"  # no control characters: they are in no name, and PostgreSQL refuses NUL
LONGEST_NAME: Final = 255


def _to_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        msg = "the time is out of range"
        raise ValueError(msg) from error


Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=_PLAIN)]
Risk = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Time = Annotated[AwareDatetime, AfterValidator(_to_utc)]


class _Asked(BaseModel):
    """What a client sends: a name that does not exist is refused, not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Said(BaseModel):
    """What the service answers."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())


class AlarmQuery(_Asked):
    """Filters and page of ``GET /v1/alarms``."""

    status: Annotated[list[Status], Field(max_length=len(Status), description="Any of these; repeatable.")] = []
    site: Name | None = None
    device: Annotated[Name | None, Field(description="Device of the suspect end.")] = None
    interface: Annotated[Name | None, Field(description="Interface of the suspect end.")] = None
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
            failure_type=self.failure_type,
            level=self.level,
            min_risk=self.min_risk,
            since=self.since,
        )


class SiteQuery(_Asked):
    """Which site; names are unique within one only."""

    site: Name = "default"


class Reason(_Asked):
    """Why an alarm is acknowledged or cleared."""

    reason: Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")] = ""


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
    "risk_24h": 0.71,
    "risk_168h": 0.93,
    "failure_type": "laser_degradation",
    "action": "replace_transceiver",
    "expected_from": "2026-11-29T18:00:00Z",
    "expected_to": "2026-11-30T18:00:00Z",
    "reasons": ["bias of lane 2 is 38 % above its baseline at equal temperature"],
    "model_version": "7",
}


_MADE: Final = frozenset({"affected_nodes", "left_alone", "reasons"})


class Alarm(_Said):
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
    risk_24h: Annotated[float | None, Field(description="Calibrated P(failure within 24 h).")]
    risk_168h: float | None
    failure_type: Annotated[FailureType | None, Field(description="Most probable one, given failure.")]
    action: Action
    expected_from: datetime | None
    expected_to: datetime | None
    reasons: list[str]
    model_version: Annotated[str, Field(description="Of the model that last updated the alarm.")]

    @classmethod
    def of(cls, record: AlarmRecord, servers: frozenset[tuple[str, str]], no_act_share: float) -> Self:
        """The record, with the servers on its link by name; none is left alone where no server is known at all."""
        ends = dict.fromkeys(name for name in (record.device, record.peer_device) if name is not None)
        values = {name: getattr(record, name) for name in cls.model_fields if name not in _MADE}
        nodes = [name for name in ends if (record.site, name) in servers]
        alone = bool(servers) and not nodes and left_alone(record.alarm_id, no_act_share)
        return cls(**values, affected_nodes=nodes, left_alone=alone, reasons=list(record.reasons))


class AlarmEvent(_Said):
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


class _Scored(_Said):
    """Of which run an answer is; without it, an answer could not be trusted."""

    scored_at: Annotated[datetime, Field(description="Time the latest scores are as of.")]
    model_version: Annotated[str, Field(description="Of the latest run.")]


class Alarms(_Scored):
    """A page of alarms, the newest first."""

    answered_at: Annotated[datetime, Field(description="Give it as `since`, less a minute, the next time.")]
    alarms: list[Alarm]
    next_cursor: Annotated[str | None, Field(description="Null on the last page.")]


class AlarmAnswer(_Scored):
    """One alarm with its life."""

    alarm: Alarm
    events: list[AlarmEvent]


class TransceiverAlarm(_Said):
    """The standing alarm on a transceiver's link."""

    alarm_id: str
    status: Status
    level: Level
    device: str
    interface: str
    raised_at: datetime


class ActionStep(_Said):
    """One thing to try, if those before it did not cure."""

    action: Action
    cures: Annotated[float, Field(description="P(it cures), given that the steps before did not.")]
    cost_h: Annotated[float, Field(description="Hours that trying it costs.")]


class Transceiver(_Scored):
    """The latest score of one module; ``unknown`` is not healthy."""

    site: str
    device: str
    interface: str
    serial: str | None
    status: Annotated[str, Field(description="`scored`, or `unknown` with `reasons` saying why.")]
    risks: Annotated[
        dict[str, float | None],
        Field(description="P(failure of its link within), by horizon.", examples=[{"24h": 0.71, "168h": 0.93}]),
    ]
    failure_type: Annotated[str | None, Field(description="Null, as suspects are, where the risk is negligible.")]
    type_probabilities: Annotated[dict[str, float | None] | None, Field(description="Given failure.")]
    suspect: str | None
    suspect_device: str | None
    suspect_interface: str | None
    suspect_probability: float | None
    action: Annotated[str | None, Field(description="What to try first.")]
    actions: Annotated[list[ActionStep], Field(description="What to try in turn, for the least expected cost.")]
    expected_cost_h: Annotated[float | None, Field(description="Hours that trying these costs in the mean.")]
    reasons: list[str]
    peer_device: str | None
    peer_interface: str | None
    alarm: TransceiverAlarm | None
    data_age_s: Annotated[float | None, Field(description="Age of the newest reading used, now.")]


class Version(_Said):
    """What answers here."""

    version: Annotated[str, Field(description="Of forelight.")]
    api: str
    schema_revision: str | None
    model_name: str | None
    model_version: str | None
    scored_at: datetime | None
