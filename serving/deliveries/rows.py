"""Rows of the outbox: what is due, in which order, and what a delivery carries."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    exists,
    func,
    insert,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.sql import literal

from serving import notices, queries
from serving.alarms import STANDING as STILL_STANDING
from serving.alarms import AlarmRecord, Event
from serving.errors import AlarmNotFoundError
from serving.notices import Notice
from serving.tables import UtcTime, alarm_events, alarms, deliveries, outbox, outbox_adapters

__all__ = ["DEAD", "DONE", "DROPPED", "STANDING", "WAITING", "Claimed"]

WAITING: Final = "waiting"
STANDING: Final = "standing"
DONE: Final = "done"
DEAD: Final = "dead"
DROPPED: Final = "dropped"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that is ours for a time.

    Attributes:
        notice: its message; where it stands, with the alarm as it is now.
        nodes_known: whether the nodes of its alarm were looked up before.
        stands: it was delivered and is looked at again.
        told: the consumer was told that the alarm stands, and not yet that it is over.
        maybe: it may have been told so by a delivery that failed.
        tries: that failed so far.
    """

    adapter: str
    notice: Notice
    nodes_known: bool
    stands: bool
    told: bool
    maybe: bool
    tries: int


def database_now(connection: Connection) -> datetime:
    """One clock for all machines where the database has one."""
    if connection.dialect.name != "postgresql":
        return datetime.now(UTC)
    now: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    return now.astimezone(UTC)


def newest(connection: Connection) -> int:
    """Number of the newest message; 0 before the first."""
    return connection.scalar(select(func.max(outbox.c.message_id))) or 0


def seen_by(connection: Connection, adapter: str) -> int | None:
    """Number of the newest message that an adapter has deliveries of; None where it was never seen."""
    return connection.scalar(select(outbox_adapters.c.seen_id).where(outbox_adapters.c.adapter == adapter))


def tell_of_older_alarms(connection: Connection) -> None:
    """Write the first message of alarms that have stood since before there was an outbox."""
    spoken = set(connection.scalars(select(outbox.c.subject).distinct()))
    records = [record for record in queries.standing(connection) if record.alarm_id not in spoken]
    for record in records:
        last = select(func.max(alarm_events.c.event_id)).where(alarm_events.c.alarm_id == record.alarm_id)
        notices.write(connection, [_raised(record)], [connection.execute(last).scalar_one()], [record])


def _raised(record: AlarmRecord) -> Event:
    why = "; ".join(record.reasons)
    return Event(
        alarm_id=record.alarm_id, at=record.raised_at, from_status=None, to_status=record.status, who="outbox", why=why
    )


def newest_of_standing() -> Select[tuple[int]]:
    """Numbers of the newest message of each alarm that stands."""
    query = select(func.max(outbox.c.message_id)).join(alarms, alarms.c.alarm_id == outbox.c.subject)
    return query.where(queries.is_standing()).group_by(outbox.c.subject)


def add(connection: Connection, adapter: str, which: Select[tuple[int]], now: datetime) -> int:
    """Deliveries of some messages; what stood of their alarms is superseded."""
    new = outbox.c.message_id.in_(which)
    time = literal(now, UtcTime)
    values = select(
        literal(adapter), outbox.c.message_id, outbox.c.subject, literal(WAITING), literal(0), time, time
    ).where(new)
    old = and_(deliveries.c.adapter == adapter, deliveries.c.state == STANDING)
    connection.execute(
        update(deliveries).where(old, deliveries.c.subject.in_(select(outbox.c.subject).where(new))).values(state=DONE)
    )
    columns = ["adapter", "message_id", "subject", "state", "tries", "due_at", "changed_at"]
    return connection.execute(insert(deliveries).from_select(columns, values)).rowcount


def is_delivery(adapter: str, message_id: int) -> ColumnElement[bool]:
    """One delivery."""
    return and_(deliveries.c.adapter == adapter, deliveries.c.message_id == message_id)


def another(name: str) -> Any:
    """Deliveries under another name."""
    return deliveries.alias(name)


def same_alarm(other: Any) -> ColumnElement[bool]:
    """Deliveries of the same adapter about the same alarm."""
    return and_(other.c.adapter == deliveries.c.adapter, other.c.subject == deliveries.c.subject)


def due(adapter: str, now: datetime) -> Select[Any]:
    """Deliveries that may be claimed, with their messages."""
    first, told, tried, known = another("first"), another("told"), another("tried"), outbox.alias("known")
    earlier = and_(first.c.message_id < deliveries.c.message_id, first.c.state == WAITING)
    blocked = exists().where(same_alarm(first), or_(first.c.leased_until > now, earlier))
    last_told = (
        select(told.c.told)
        .where(same_alarm(told), told.c.told.is_not(None), told.c.message_id <= deliveries.c.message_id)
        .order_by(told.c.message_id.desc())
        .limit(1)
    )
    before = and_(tried.c.message_id <= deliveries.c.message_id, tried.c.tries > 0)
    nodes = select(known.c.nodes).where(known.c.subject == outbox.c.subject, known.c.nodes.is_not(None))
    oldest = outbox.alias("oldest")
    first_body = select(oldest.c.body).where(oldest.c.subject == outbox.c.subject)
    query = select(
        *(outbox.c[name] for name in ("message_id", "kind", "at", "subject", "body")),
        nodes.order_by(known.c.message_id).limit(1).scalar_subquery().label("nodes"),
        first_body.order_by(oldest.c.message_id).limit(1).scalar_subquery().label("first"),
        deliveries.c.state,
        deliveries.c.tries,
        last_told.scalar_subquery().label("told"),
        exists().where(same_alarm(tried), before).label("maybe"),
    ).join(outbox, outbox.c.message_id == deliveries.c.message_id)
    due = and_(deliveries.c.adapter == adapter, deliveries.c.state.in_([WAITING, STANDING]), deliveries.c.due_at <= now)
    return query.where(due, ~blocked).order_by(deliveries.c.due_at, deliveries.c.message_id)


def one_an_alarm(rows: Sequence[RowMapping]) -> list[RowMapping]:
    """The oldest message of each alarm."""
    found: dict[str, RowMapping] = {}
    for row in sorted(rows, key=lambda row: row["message_id"]):
        found.setdefault(row["subject"], row)
    return list(found.values())


def claimed(connection: Connection, adapter: str, row: RowMapping) -> Claimed:
    """A row of `due` as it is delivered."""
    stands = row["state"] == STANDING
    notice = notices.notice(row)
    if stands:
        notice = replace(notice, alarm=_as_itis_delivery(connection, notice.alarm))
    known, told, maybe = row["nodes"] is not None, bool(row["told"]), bool(row["maybe"])
    return Claimed(adapter, notice, known, stands, told, maybe, row["tries"])


def _as_itis_delivery(connection: Connection, before: AlarmRecord | None) -> AlarmRecord | None:
    """The alarm with what runs found out since; as it was where its end is a message that is still to come."""
    if before is None:
        return None
    try:
        now = queries.alarm(connection, before.alarm_id)
    except AlarmNotFoundError:
        return before
    return now if now.status in STILL_STANDING else before
