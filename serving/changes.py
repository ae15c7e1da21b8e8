"""The writes of one transaction of the alarm store: alarms raised, renewed, taken a step on; each step is an event."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, RowMapping, insert, select, update

from serving import notices, queries
from serving.alarms import MUTABLE, STANDING, AlarmRecord, Clear, Event, Status, check_transition
from serving.errors import AlarmConflictError, AlarmNotFoundError
from serving.tables import alarm_events, alarms

__all__ = ["Change"]

_CHUNK: Final = 500  # values in one IN (...): well below SQLite's limit of variables


class Change:
    """The writes of one transaction, by one author."""

    def __init__(self, connection: Connection, *, who: str, now: datetime) -> None:
        self.connection = connection
        self.who = who
        self.now = now

    def raise_all(self, records: Sequence[AlarmRecord]) -> None:
        """Insert alarms, each with its first event."""
        if not records:
            return
        self._refuse_conflicts(records)
        rows = [queries.row(record) | {"changed_at": self.now, "renewed_at": self.now} for record in records]
        self.connection.execute(insert(alarms), rows)
        events = [self._event(r.alarm_id, None, r.status, at=r.raised_at, why=_why_raised(r)) for r in records]
        self._record(events, records)

    def renew(self, record: AlarmRecord, at: datetime) -> bool:
        """Write what a run found out since about a standing alarm; False where it is closed."""
        old = self._status_of(record.alarm_id)
        status = Status(old["status"])
        if status not in STANDING:
            return False
        values = {name: value for name, value in queries.row(record).items() if name in MUTABLE}
        values |= {"renewed_at": self.now, "revision": alarms.c.revision + 1}
        changed = old["level"] != record.level
        if changed:
            values["changed_at"] = self.now
        self.connection.execute(update(alarms).where(alarms.c.alarm_id == record.alarm_id).values(**values))
        if changed:
            why = f"level {old['level']} became {record.level}"
            self._record([self._event(record.alarm_id, status, status, at=at, why=why)])
        return True

    def close(self, clear: Clear) -> bool:
        """End an alarm; False where it had ended."""
        status = Status(self._status_of(clear.alarm_id)["status"])
        if status not in STANDING:
            return False
        self.step(clear.alarm_id, status, clear.to, at=clear.at, why=clear.why)
        return True

    def take(self, alarm_id: str, to: Status, *, why: str, until: datetime | None = None) -> AlarmRecord:
        """Take an alarm one step on, or leave it where it is already there; suppressed it stays `until` then.

        Raises:
            AlarmNotFoundError: there is no such alarm.
            TransitionError: the step is not legal.
        """
        record = queries.alarm(self.connection, alarm_id)
        if (record.status, record.suppressed_until) == (to, until) or (record.status == to and until is None):
            return record
        if record.status != to:
            check_transition(alarm_id, record.status, to)
        self.step(alarm_id, record.status, to, at=self.now, why=why, until=until)
        return queries.alarm(self.connection, alarm_id)

    def step(
        self, alarm_id: str, old: Status, new: Status, *, at: datetime, why: str, until: datetime | None = None
    ) -> None:
        """Write a legal transition and its event."""
        values: dict[str, object] = {"status": new.value, "changed_at": self.now, "suppressed_until": until}
        values["revision"] = alarms.c.revision + 1
        if old in STANDING and new not in STANDING:
            values["cleared_at"] = at
        self.connection.execute(update(alarms).where(alarms.c.alarm_id == alarm_id).values(**values))
        self._record([self._event(alarm_id, old, new, at=at, why=why)])

    def _event(self, alarm_id: str, old: Status | None, new: Status, *, at: datetime, why: str) -> Event:
        return Event(alarm_id=alarm_id, at=at, from_status=old, to_status=new, who=self.who, why=why)

    def _record(self, events: Sequence[Event], records: Sequence[AlarmRecord] = ()) -> None:
        """Write events of alarms that are changed already, each with the message that tells consumers of it."""
        query = insert(alarm_events).returning(alarm_events.c.event_id, sort_by_parameter_order=True)
        event_ids = self.connection.scalars(query, [queries.event_row(event) for event in events]).all()
        after = records or [queries.alarm(self.connection, event.alarm_id) for event in events]
        notices.write(self.connection, events, event_ids, after)

    def _status_of(self, alarm_id: str) -> RowMapping:
        query = select(alarms.c.status, alarms.c.level).where(alarms.c.alarm_id == alarm_id)
        found = self.connection.execute(query).mappings().one_or_none()
        if found is None:
            msg = f"there is no alarm {alarm_id!r}"
            raise AlarmNotFoundError(msg)
        return found

    def _refuse_conflicts(self, records: Sequence[AlarmRecord]) -> None:
        """Say which alarm stands in the way, rather than which index."""
        for start in range(0, len(records), _CHUNK):
            some = records[start : start + _CHUNK]
            standing = queries.is_standing() & alarms.c.link_id.in_([r.link_id for r in some])
            same_id = alarms.c.alarm_id.in_([r.alarm_id for r in some])
            query = select(alarms.c.alarm_id, alarms.c.link_id, alarms.c.status).where(standing | same_id)
            found = self.connection.execute(query).first()
            if found is not None:
                msg = f"fault unit {found.link_id} already has alarm {found.alarm_id}, which is {found.status}"
                raise AlarmConflictError(msg)
        if len({r.link_id for r in records if r.status in STANDING}) < sum(r.status in STANDING for r in records):
            msg = "a run raised two alarms on one fault unit"
            raise AlarmConflictError(msg)


def _why_raised(record: AlarmRecord) -> str:
    return "; ".join(record.reasons) or f"risk over the limit of level {record.level}"
