"""Standing alarms and their lives in memory, brought up to date by what is new alone.

A run speaks of all alarms, so that after one all records are read anew; after a step only those that took it. Each
step is an event and events never change, so that none is read twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection

from serving import queries
from serving.alarms import STANDING, AlarmRecord, Event, ScoreRun

__all__ = ["Lives", "read_lives"]


@dataclass(frozen=True, slots=True)
class Lives:
    """What the store said at one moment.

    Attributes:
        version: the store's then.
        run: the latest; None before the first.
        records: the standing alarms by their identifiers.
        events: of each of them, from its first on.
    """

    version: tuple[int, int] = (0, 0)
    run: ScoreRun | None = None
    records: Mapping[str, AlarmRecord] = field(default_factory=dict)
    events: Mapping[str, tuple[Event, ...]] = field(default_factory=dict)


def read_lives(connection: Connection, last: Lives) -> Lives:
    """What is so now, given what was; `last` itself where nothing is new."""
    version = queries.version(connection)
    if version == last.version:
        return last
    if not last.version[1] or version[1] < last.version[1]:  # nothing is known yet, or events were deleted
        records, events = _by_id(queries.standing(connection)), queries.standing_events(connection)
        return Lives(version, queries.latest_run(connection), records, events)
    new = queries.events_after(connection, last.version[1])
    if version[0] == last.version[0]:
        return _stepped(connection, last, version, new)
    records = _by_id(queries.standing(connection))
    return Lives(version, queries.latest_run(connection), records, _grown(last, records, new))


def _stepped(
    connection: Connection, last: Lives, version: tuple[int, int], new: Mapping[str, tuple[Event, ...]]
) -> Lives:
    """After steps of some alarms: those that still stand are read, those that have ended are left out."""
    read = _by_id(queries.some(connection, list(new)))
    found = {**last.records, **read}
    records = {alarm_id: record for alarm_id, record in found.items() if record.status in STANDING}
    return Lives(version, last.run, records, _grown(last, records, new))


def _grown(
    last: Lives, records: Mapping[str, AlarmRecord], new: Mapping[str, tuple[Event, ...]]
) -> dict[str, tuple[Event, ...]]:
    return {alarm_id: last.events.get(alarm_id, ()) + new.get(alarm_id, ()) for alarm_id in records}


def _by_id(records: Iterable[AlarmRecord]) -> dict[str, AlarmRecord]:
    return {record.alarm_id: record for record in records}
