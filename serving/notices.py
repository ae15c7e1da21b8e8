"""What consumers are told: a message for each step of an alarm's life, written in that step's own transaction.

A message keeps the alarm as it was then, so that it says the same however late it is delivered. A storm, in which
alarms are held back, is a message of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from pydantic import TypeAdapter
from sqlalchemy import Connection, RowMapping, insert

from serving.alarms import AlarmRecord, Event, Level, ScoreRun, Status
from serving.storms import HeldBack
from serving.tables import outbox

__all__ = ["STORM", "Kind", "Notice", "kind_of", "notice", "write", "write_storm"]

STORM: Final = "storm"
"""What messages of storms are about, where others name their alarm."""
_MOST_MEMBERS: Final = 50
_MEMBER: Final = ("link_id", "site", "device", "interface", "risk_24h", "why")

_Record: Final = TypeAdapter(AlarmRecord)


class Kind(StrEnum):
    """What happened."""

    RAISED = "raised"
    CHANGED = "changed"
    ACKED = "acked"
    SUPPRESSED = "suppressed"
    REOPENED = "reopened"
    CLEARED = "cleared"
    EXPIRED = "expired"
    CONFIRMED = "confirmed"
    STORM = "storm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One message.

    Attributes:
        message_id: rises with time; of two messages about an alarm the one with the higher number is the newer.
        at: when it happened.
        subject: identifier of the alarm, or `STORM`.
        alarm: as it was then; None for a storm.
        raised: the alarm as it was when it was first told of: what of it names a thing at consumers does not change.
        who, why: of the step.
        nodes: servers on the alarm's link, as known when it was raised; empty where none is known.
        held_back: alarms that a storm held back.
        members: the first of them; `/v1/storms` has all.
    """

    message_id: int
    kind: Kind
    at: datetime
    subject: str
    alarm: AlarmRecord | None
    raised: AlarmRecord | None
    who: str
    why: str
    nodes: tuple[str, ...] = ()
    held_back: int = 0
    members: tuple[Mapping[str, object], ...] = ()


def write(
    connection: Connection, events: Sequence[Event], event_ids: Sequence[int], records: Sequence[AlarmRecord]
) -> None:
    """Write the messages of some events, each with its alarm as it is after it."""
    rows = [
        {
            "event_id": event_id,
            "subject": event.alarm_id,
            "kind": kind_of(event).value,
            "at": event.at,
            "body": {"alarm": _Record.dump_python(record, mode="json"), "who": event.who, "why": event.why},
        }
        for event, event_id, record in zip(events, event_ids, records, strict=True)
    ]
    connection.execute(insert(outbox), rows)


def write_storm(connection: Connection, run: ScoreRun, held: Sequence[HeldBack], who: str) -> None:
    """Write that a run held alarms back, and which: the most likely to fail where they are very many."""
    why = f"{len(held)} alarms at once: they are held back, the network is looked at instead of each link"
    worst = sorted(held, key=lambda one: (one.level != Level.ACT, -(one.risk_24h or 0.0), one.link_id))[:_MOST_MEMBERS]
    members = [{name: getattr(one, name) for name in _MEMBER} | {"level": str(one.level)} for one in worst]
    body = {"alarm": None, "who": who, "why": why, "held_back": len(held), "members": members}
    connection.execute(insert(outbox).values(subject=STORM, kind=Kind.STORM.value, at=run.at, body=body))


def kind_of(event: Event) -> Kind:
    """The word for a step of an alarm's life."""
    if event.from_status is None:
        return Kind.RAISED
    if event.from_status == event.to_status:
        return Kind.CHANGED
    return Kind.REOPENED if event.to_status == Status.OPEN else Kind(event.to_status.value)


def notice(row: RowMapping) -> Notice:
    """A row of the outbox as it is told."""
    body: dict[str, Any] = row["body"]
    first: dict[str, Any] = row.get("first") or body
    return Notice(
        message_id=row["message_id"],
        kind=Kind(row["kind"]),
        at=row["at"],
        subject=row["subject"],
        alarm=_record(body["alarm"]),
        raised=_record(first["alarm"]),
        who=body["who"],
        why=body["why"],
        nodes=tuple(row["nodes"] or ()),
        held_back=body.get("held_back", 0),
        members=tuple(body.get("members", ())),
    )


def _record(alarm: dict[str, Any] | None) -> AlarmRecord | None:
    return None if alarm is None else _Record.validate_python(alarm)
