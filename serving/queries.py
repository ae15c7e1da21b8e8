"""Reads of the alarm store: rows to values, filters, and pages by key."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import AwareDatetime, StringConstraints, TypeAdapter
from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select

from ingest.schema import FailureType
from serving.alarms import STANDING, AlarmRecord, Event, Level, ScoreRun, Status
from serving.errors import AlarmNotFoundError, CursorError
from serving.tables import alarm_events, alarms, runs

__all__ = ["AlarmFilter", "Page", "Story", "row_of"]

RUN_FIELDS: Final = tuple(field.name for field in fields(ScoreRun))
_ALARM_FIELDS: Final = tuple(field.name for field in fields(AlarmRecord))
_Position: Final = TypeAdapter(tuple[AwareDatetime, Annotated[str, StringConstraints(pattern=r"^[^\x00]+$")]])
_LONGEST: Final = 18  # digits of a number that a database takes
_CHUNK: Final = 500  # values in one IN (...): well below SQLite's limit of variables
_ALARM = [alarms.c[name] for name in _ALARM_FIELDS]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmFilter:
    """Which alarms; what is None does not filter.

    Attributes:
        statuses: any of these.
        node: device at either end.
        min_risk: risk within 24 h at or above this.
        since: raised, stepped on in life, or of another level, at or after this; by the store's clock.
    """

    statuses: frozenset[Status] | None = None
    site: str | None = None
    device: str | None = None
    interface: str | None = None
    node: str | None = None
    failure_type: FailureType | None = None
    level: Level | None = None
    min_risk: float | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some alarms, and where the next ones begin; None after the last."""

    alarms: tuple[AlarmRecord, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Story:
    """An alarm, its life from the first event on, and the latest run."""

    record: AlarmRecord
    events: tuple[Event, ...]
    run: ScoreRun | None


def latest_run(connection: Connection) -> ScoreRun | None:
    """The run of the latest time."""
    query = select(*(runs.c[name] for name in RUN_FIELDS)).order_by(runs.c.at.desc(), runs.c.run_id.desc()).limit(1)
    found = connection.execute(query).mappings().first()
    return None if found is None else ScoreRun(**found)


def alarm(connection: Connection, alarm_id: str) -> AlarmRecord:
    """One alarm.

    Raises:
        AlarmNotFoundError: there is no such alarm.
    """
    found = connection.execute(select(*_ALARM).where(alarms.c.alarm_id == alarm_id)).mappings().one_or_none()
    if found is None:
        msg = f"there is no alarm {alarm_id!r}"
        raise AlarmNotFoundError(msg)
    return _record(found)


def standing(connection: Connection) -> tuple[AlarmRecord, ...]:
    """Alarms that hold, by link."""
    query = select(*_ALARM).where(is_standing()).order_by(alarms.c.link_id)
    return tuple(_record(found) for found in connection.execute(query).mappings())


def events(connection: Connection, alarm_id: str) -> tuple[Event, ...]:
    """An alarm's life in order."""
    query = select(alarm_events).where(alarm_events.c.alarm_id == alarm_id).order_by(alarm_events.c.event_id)
    return tuple(_event(found) for found in connection.execute(query).mappings())


def some(connection: Connection, alarm_ids: Sequence[str]) -> tuple[AlarmRecord, ...]:
    """Alarms by their identifiers, those that there are."""
    found: list[AlarmRecord] = []
    for start in range(0, len(alarm_ids), _CHUNK):
        query = select(*_ALARM).where(alarms.c.alarm_id.in_(alarm_ids[start : start + _CHUNK]))
        found += [_record(row) for row in connection.execute(query).mappings()]
    return tuple(found)


def events_after(connection: Connection, event_id: int) -> dict[str, tuple[Event, ...]]:
    """Steps that came later, by alarm and in order."""
    return _by_alarm(connection, select(alarm_events).where(alarm_events.c.event_id > event_id))


def standing_events(connection: Connection) -> dict[str, tuple[Event, ...]]:
    """The lives of the alarms that hold."""
    return _by_alarm(connection, select(alarm_events).join(alarms).where(is_standing()))


def _by_alarm(connection: Connection, query: Select[Any]) -> dict[str, tuple[Event, ...]]:
    found: dict[str, list[Event]] = {}
    for row in connection.execute(query.order_by(alarm_events.c.event_id)).mappings():
        found.setdefault(row["alarm_id"], []).append(_event(row))
    return {alarm_id: tuple(life) for alarm_id, life in found.items()}


def page(connection: Connection, where: AlarmFilter, *, cursor: str | None, limit: int) -> Page:
    """Alarms by (raised_at descending, alarm_id), from a cursor on."""
    query = select(*_ALARM).where(*_conditions(where)).order_by(alarms.c.raised_at.desc(), alarms.c.alarm_id)
    if cursor is not None:
        query = query.where(_after(cursor))
    found = [_record(row) for row in connection.execute(query.limit(limit + 1)).mappings()]
    more = len(found) > limit
    return Page(tuple(found[:limit]), _cursor(found[limit - 1]) if more else None)


def standing_counts(connection: Connection) -> dict[tuple[str, str, str], int]:
    """Standing alarms by (level, failure type, status)."""
    by = (alarms.c.level, func.coalesce(alarms.c.failure_type, "unknown"), alarms.c.status)
    query = select(*by, func.count()).where(is_standing()).group_by(*by)
    return {(level, kind, status): count for level, kind, status, count in connection.execute(query)}


def version(connection: Connection) -> tuple[int, int]:
    """Number of the last run and of the last event; 0 before the first."""
    last_run = connection.scalar(select(func.max(runs.c.run_id)))
    last_event = connection.scalar(select(func.max(alarm_events.c.event_id)))
    return last_run or 0, last_event or 0


def is_standing() -> ColumnElement[bool]:
    """The alarm still holds."""
    return _is_in(STANDING)


def row(record: AlarmRecord) -> dict[str, object]:
    """The record as the columns that hold it."""
    values = {name: getattr(record, name) for name in _ALARM_FIELDS}
    words = {name: str(value) for name, value in values.items() if isinstance(value, str)}
    return values | words | {"reasons": list(record.reasons)}


def event_row(event: Event) -> dict[str, object]:
    """The event as the columns that hold it."""
    values = {name: getattr(event, name) for name in ("alarm_id", "at", "who", "why")}
    old = None if event.from_status is None else event.from_status.value
    return values | {"from_status": old, "to_status": event.to_status.value}


def _record(found: Mapping[Any, Any]) -> AlarmRecord:
    return AlarmRecord(**{name: found[name] for name in _ALARM_FIELDS})


def _event(found: Mapping[Any, Any]) -> Event:
    old = found["from_status"]
    return Event(
        alarm_id=found["alarm_id"],
        at=found["at"],
        from_status=None if old is None else Status(old),
        to_status=Status(found["to_status"]),
        who=found["who"],
        why=found["why"],
    )


def _conditions(where: AlarmFilter) -> list[ColumnElement[bool]]:
    equal = ("site", "device", "interface", "failure_type", "level")
    conditions = [alarms.c[name] == str(getattr(where, name)) for name in equal if getattr(where, name) is not None]
    if where.statuses is not None:
        conditions.append(_is_in(where.statuses))
    if where.node is not None:
        conditions.append(or_(alarms.c.device == where.node, alarms.c.peer_device == where.node))
    if where.min_risk is not None:
        conditions.append(alarms.c.risk_24h >= where.min_risk)
    if where.since is not None:
        conditions.append(alarms.c.changed_at >= where.since)
    return conditions


def _is_in(statuses: frozenset[Status]) -> ColumnElement[bool]:
    return alarms.c.status.in_([status.value for status in statuses])


def row_of(cursor: str) -> int:
    """The number of the row that a page of numbered rows ended at.

    Raises:
        CursorError: it is none.
    """
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= _LONGEST):
        msg = "the cursor is not one of ours: start without one"
        raise CursorError(msg)
    return int(cursor)


def _cursor(last: AlarmRecord) -> str:
    text = json.dumps([last.raised_at.isoformat(), last.alarm_id])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _after(cursor: str) -> ColumnElement[bool]:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        raised_at, alarm_id = _Position.validate_json(text)
        time = raised_at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        msg = "the cursor was not given out by this service; start without one"
        raise CursorError(msg) from error
    return or_(alarms.c.raised_at < time, and_(alarms.c.raised_at == time, alarms.c.alarm_id > alarm_id))
