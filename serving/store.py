"""The alarm store: applies score runs, keeps each alarm's life, answers queries.

A run is applied in one transaction and once only. A fault unit has one standing
alarm at most, and each step of an alarm's life is a row that nobody can change;
the database itself holds both. What consumers are to be told of a step is written with it.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine, RowMapping, func, insert, select, update

from serving import migrate, notices, queries
from serving.alarms import (
    MUTABLE,
    STANDING,
    AlarmRecord,
    Applied,
    Clear,
    Event,
    ScoreRun,
    Status,
    check_transition,
    utc_now,
)
from serving.database import make_engine, reading, writing
from serving.errors import AlarmConflictError, AlarmNotFoundError, RunOrderError
from serving.queries import AlarmFilter, Page
from serving.tables import alarm_events, alarms, runs

__all__ = ["AlarmFilter", "AlarmStore", "Page"]

_CHUNK = 500  # values in one IN (...): well below SQLite's limit of variables


class AlarmStore:
    """Alarms and runs in SQLite or PostgreSQL.

    Args:
        url: SQLAlchemy's, ``sqlite:///…`` or ``postgresql+psycopg://…``.
        clock: the time of changes made by hand.
    """

    def __init__(self, url: str, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._engine = make_engine(url)
        self._clock = clock

    def open(self) -> Self:
        """Create or migrate the schema; returns the store itself.

        Raises:
            StoreError: the database cannot be reached, or is of a newer forelight.
        """
        self.migrate()
        return self

    def migrate(self) -> None:
        """Bring the schema to this version's; does nothing where it is."""
        with writing(self._engine) as connection:
            migrate.upgrade(connection)

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def engine(self) -> Engine:
        """The database, for what is kept beside alarms: tokens, the audit log."""
        return self._engine

    def revision(self) -> str | None:
        """The database's schema revision; None where it was never migrated."""
        with reading(self._engine) as connection:
            return migrate.current_revision(connection)

    def apply(
        self,
        run: ScoreRun,
        raised: Sequence[AlarmRecord] = (),
        updated: Sequence[AlarmRecord] = (),
        cleared: Sequence[Clear] = (),
        held_back: int = 0,
    ) -> Applied:
        """Record a run and what it changes, all or nothing; a run applied before changes nothing.

        Clears come first, so that a run may end one alarm of a fault unit and raise another.
        Updates and clears of an alarm that is closed already are skipped: a hand was quicker.
        Where alarms were `held_back` in a storm, consumers are told how many.

        Raises:
            RunOrderError: a run of a later time was applied before.
            AlarmConflictError: an alarm is raised on a fault unit that has a standing one.
            AlarmNotFoundError: an update or a clear names no alarm.
        """
        with writing(self._engine) as connection:
            if not _record_run(connection, run):
                return Applied(new=False)
            who = f"{run.model_name} {run.model_version}"
            change = _Change(connection, who=who, now=self._clock())
            closed = sum(change.close(clear) for clear in cleared)
            change.raise_all(raised)
            renewed = sum(change.renew(record, run.at) for record in updated)
            if held_back:
                notices.write_storm(connection, run, held_back, who)
        skipped = len(cleared) - closed + len(updated) - renewed
        return Applied(new=True, raised=len(raised), updated=renewed, cleared=closed, skipped=skipped)

    def transition(self, alarm_id: str, to: Status, who: str, why: str) -> AlarmRecord:
        """Take an alarm one step on by hand; asking twice for the same step changes nothing more.

        Raises:
            AlarmNotFoundError: there is no such alarm.
            TransitionError: the step is not legal.
        """
        with writing(self._engine) as connection:
            record = queries.alarm(connection, alarm_id)
            if record.status != to:
                check_transition(alarm_id, record.status, to)
                now = self._clock()
                change = _Change(connection, who=who, now=now)
                change.step(alarm_id, record.status, to, at=now, why=why)
            return queries.alarm(connection, alarm_id)

    def latest_run(self) -> ScoreRun | None:
        """The run of the latest time; None before the first."""
        with reading(self._engine) as connection:
            return queries.latest_run(connection)

    def open_alarms(self) -> tuple[AlarmRecord, ...]:
        """All standing alarms: open, acked or suppressed."""
        with reading(self._engine) as connection:
            return queries.standing(connection)

    def alarm(self, alarm_id: str) -> AlarmRecord:
        """One alarm.

        Raises:
            AlarmNotFoundError: there is no such alarm.
        """
        with reading(self._engine) as connection:
            return queries.alarm(connection, alarm_id)

    def events(self, alarm_id: str) -> tuple[Event, ...]:
        """The alarm's life, from its first event on; empty where there is no such alarm."""
        with reading(self._engine) as connection:
            return queries.events(connection, alarm_id)

    def alarms(self, where: AlarmFilter | None = None, *, cursor: str | None = None, limit: int = 100) -> Page:
        """A page of alarms, the newest first; walking the cursors meets each alarm once.

        Raises:
            CursorError: the cursor is not from here.
        """
        with reading(self._engine) as connection:
            return queries.page(connection, where or AlarmFilter(), cursor=cursor, limit=limit)

    def walk(self, where: AlarmFilter | None = None) -> Iterator[AlarmRecord]:
        """All alarms, the newest first, a page of memory at a time."""
        cursor: str | None = None
        while True:
            found = self.alarms(where, cursor=cursor, limit=1000)
            yield from found.alarms
            cursor = found.next_cursor
            if cursor is None:
                return

    def standing_counts(self) -> dict[tuple[str, str, str], int]:
        """Standing alarms by (level, failure type, status)."""
        with reading(self._engine) as connection:
            return queries.standing_counts(connection)

    def version(self) -> tuple[int, int]:
        """Grows with each run and each event: whoever caches the store compares it."""
        with reading(self._engine) as connection:
            return queries.version(connection)


def _record_run(connection: Connection, run: ScoreRun) -> bool:
    """Whether the run is new; it is recorded then."""
    same_model = runs.c.model_name == run.model_name
    if connection.scalar(select(runs.c.run_id).where(same_model, runs.c.at == run.at)) is not None:
        return False
    latest = connection.execute(select(func.max(runs.c.at).label("at")).where(same_model)).scalar_one()
    if latest is not None and latest > run.at:
        msg = f"a run as of {latest.isoformat()} was applied before; one as of {run.at.isoformat()} comes too late"
        raise RunOrderError(msg)
    connection.execute(insert(runs).values(**{name: getattr(run, name) for name in queries.RUN_FIELDS}))
    return True


class _Change:
    """The writes of one transaction, by one author."""

    def __init__(self, connection: Connection, *, who: str, now: datetime) -> None:
        self._connection = connection
        self._who = who
        self._now = now

    def raise_all(self, records: Sequence[AlarmRecord]) -> None:
        """Insert alarms, each with its first event."""
        if not records:
            return
        self._refuse_conflicts(records)
        rows = [queries.row(record) | {"changed_at": self._now} for record in records]
        self._connection.execute(insert(alarms), rows)
        events = [self._event(r.alarm_id, None, r.status, at=r.raised_at, why=_why_raised(r)) for r in records]
        self._record(events, records)

    def renew(self, record: AlarmRecord, at: datetime) -> bool:
        """Write what a run found out since about a standing alarm; False where it is closed."""
        old = self._status_of(record.alarm_id)
        status = Status(old["status"])
        if status not in STANDING:
            return False
        values = {name: value for name, value in queries.row(record).items() if name in MUTABLE}
        changed = old["level"] != record.level
        if changed:
            values["changed_at"] = self._now
        self._connection.execute(update(alarms).where(alarms.c.alarm_id == record.alarm_id).values(**values))
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

    def step(self, alarm_id: str, old: Status, new: Status, *, at: datetime, why: str) -> None:
        """Write a legal transition and its event."""
        values: dict[str, object] = {"status": new.value, "changed_at": self._now}
        if old in STANDING and new not in STANDING:
            values["cleared_at"] = at
        self._connection.execute(update(alarms).where(alarms.c.alarm_id == alarm_id).values(**values))
        self._record([self._event(alarm_id, old, new, at=at, why=why)])

    def _event(self, alarm_id: str, old: Status | None, new: Status, *, at: datetime, why: str) -> Event:
        return Event(alarm_id=alarm_id, at=at, from_status=old, to_status=new, who=self._who, why=why)

    def _record(self, events: Sequence[Event], records: Sequence[AlarmRecord] = ()) -> None:
        """Write events of alarms that are changed already, each with the message that tells consumers of it."""
        query = insert(alarm_events).returning(alarm_events.c.event_id, sort_by_parameter_order=True)
        event_ids = self._connection.scalars(query, [queries.event_row(event) for event in events]).all()
        after = records or [queries.alarm(self._connection, event.alarm_id) for event in events]
        notices.write(self._connection, events, event_ids, after)

    def _status_of(self, alarm_id: str) -> RowMapping:
        query = select(alarms.c.status, alarms.c.level).where(alarms.c.alarm_id == alarm_id)
        found = self._connection.execute(query).mappings().one_or_none()
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
            found = self._connection.execute(query).first()
            if found is not None:
                msg = f"fault unit {found.link_id} already has alarm {found.alarm_id}, which is {found.status}"
                raise AlarmConflictError(msg)
        if len({r.link_id for r in records if r.status in STANDING}) < sum(r.status in STANDING for r in records):
            msg = "a run raised two alarms on one fault unit"
            raise AlarmConflictError(msg)


def _why_raised(record: AlarmRecord) -> str:
    return "; ".join(record.reasons) or f"risk over the limit of level {record.level}"
