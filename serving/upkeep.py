"""What becomes of alarms by time alone: they expire, are suppressed no longer, and are deleted in the end.

Safe to run from several processes at once: what is due is looked for again in the transaction that writes.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select, text

from serving import storms
from serving.access import audit, idempotency
from serving.access.tables import idempotency as answers
from serving.alarms import Status
from serving.database import reading
from serving.drains import log
from serving.queries import is_standing
from serving.store import AlarmStore
from serving.tables import alarm_events, alarms, deliveries, outbox, runs

__all__ = ["Pruned", "prune", "sweep"]


def sweep(store: AlarmStore, ttl_s: float, now: datetime) -> int:
    """Expire alarms that no run has renewed in time, open those that were suppressed until now; how many changed.

    A predictor that is dead renews nothing: what it last said must not hold a node for ever.
    """
    ttl = timedelta(seconds=ttl_s)
    with reading(store.engine) as connection:
        if not _is_due(connection, ttl, now):
            return 0
    with store.changing("time") as change:
        silent = _ids(change.connection, _silent(ttl, now))
        for alarm_id, status in silent:
            why = f"no run has spoken of it for {ttl_s / 3600:g} h"
            change.step(alarm_id, status, Status.EXPIRED, at=now, why=why)
        over = _ids(change.connection, _over(now))
        for alarm_id, status in over:
            change.step(alarm_id, status, Status.OPEN, at=now, why="it was suppressed until now")
        idempotency.forget(change)
    return len(silent) + len(over)


def _is_due(connection: Connection, ttl: timedelta, now: datetime) -> bool:
    due = select(alarms.c.alarm_id).where(or_(_silent(ttl, now), _over(now))).limit(1)
    old = select(answers.c.key).where(answers.c.at <= now - idempotency.KEPT_FOR).limit(1)
    return connection.execute(due).first() is not None or connection.execute(old).first() is not None


def _silent(ttl: timedelta, now: datetime) -> ColumnElement[bool]:
    return and_(is_standing(), alarms.c.renewed_at <= now - ttl)


def _over(now: datetime) -> ColumnElement[bool]:
    return and_(alarms.c.status == Status.SUPPRESSED.value, alarms.c.suppressed_until <= now)


def _ids(connection: Connection, where: ColumnElement[bool]) -> list[tuple[str, Status]]:
    found = connection.execute(select(alarms.c.alarm_id, alarms.c.status).where(where)).all()
    return [(alarm_id, Status(status)) for alarm_id, status in found]


@dataclass(frozen=True, slots=True)
class Pruned:
    """How much was deleted."""

    alarms: int
    runs: int
    audit: int
    decisions: int = 0


def prune(store: AlarmStore, before: datetime) -> Pruned:
    """Delete alarms that ended before a time, with their events, and runs, decisions and audit entries of before it.

    The latest run stays, and so do drains that are not over. Events can be deleted in no other way: the triggers that
    keep them are away within this transaction only.
    """
    with store.changing("retention") as change:
        connection = change.connection
        ended = select(alarms.c.alarm_id).where(~is_standing(), alarms.c.cleared_at < before)
        latest = select(func.max(runs.c.at)).scalar_subquery()
        guards = _drop_guards(connection)
        events = select(alarm_events.c.event_id).where(alarm_events.c.alarm_id.in_(ended))
        messages = select(outbox.c.message_id).where(outbox.c.event_id.in_(events))
        connection.execute(delete(deliveries).where(deliveries.c.message_id.in_(messages)))
        connection.execute(delete(outbox).where(outbox.c.event_id.in_(events)))
        connection.execute(delete(alarm_events).where(alarm_events.c.alarm_id.in_(ended)))
        gone = connection.execute(delete(alarms).where(~is_standing(), alarms.c.cleared_at < before)).rowcount
        for guard in guards:
            connection.execute(text(guard))
        decided = log.forget(connection, before)
        storms.forget(connection, before)
        old = connection.execute(delete(runs).where(runs.c.at < before, runs.c.at < latest)).rowcount
    return Pruned(gone, old, audit.prune(store.engine, before), decided)


def _drop_guards(connection: Connection) -> list[str]:
    """Take the triggers away that make events immutable; the statements that put them back."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("ALTER TABLE alarm_events DISABLE TRIGGER alarm_events_immutable"))
        return ["ALTER TABLE alarm_events ENABLE TRIGGER alarm_events_immutable"]
    query = text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'alarm_events'")
    found = connection.execute(query).all()
    for name, _ in found:
        connection.execute(text(f"DROP TRIGGER {name}"))
    return [statement for _, statement in found]
