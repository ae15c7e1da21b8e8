"""The alarm store: applies score runs, keeps each alarm's life, answers queries.

A run is applied in one transaction and once only. A fault unit has one standing
alarm at most, and each step of an alarm's life is a row that nobody can change;
the database itself holds both. What consumers are to be told of a step is written with it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine, func, insert, select

from serving import migrate, notices, queries, storms
from serving.alarms import AlarmRecord, Applied, Clear, Event, ScoreRun, Status, utc_now
from serving.changes import Change
from serving.database import make_engine, reading, writing
from serving.errors import RunOrderError
from serving.lives import Lives, read_lives
from serving.queries import AlarmFilter, Page, Story
from serving.storms import HeldBack
from serving.tables import runs

__all__ = ["AlarmFilter", "AlarmStore", "Page"]


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
        held_back: Sequence[HeldBack] = (),
    ) -> Applied:
        """Record a run and what it changes, all or nothing; a run applied before changes nothing.

        Clears come first, so that a run may end one alarm of a fault unit and raise another.
        Updates and clears of an alarm that is closed already are skipped: a hand was quicker.
        Where alarms were `held_back` in a storm, they are kept as that, and consumers are told of them at once.

        Raises:
            RunOrderError: a run of a later time was applied before.
            AlarmConflictError: an alarm is raised on a fault unit that has a standing one.
            AlarmNotFoundError: an update or a clear names no alarm.
        """
        with writing(self._engine) as connection:
            if not _record_run(connection, run):
                return Applied(new=False)
            who = f"{run.model_name} {run.model_version}"
            change = Change(connection, who=who, now=self._clock())
            closed = sum(change.close(clear) for clear in cleared)
            change.raise_all(raised)
            renewed = sum(change.renew(record, run.at) for record in updated)
            if held_back:
                storms.keep(connection, held_back)
                notices.write_storm(connection, run, held_back, who)
        skipped = len(cleared) - closed + len(updated) - renewed
        return Applied(new=True, raised=len(raised), updated=renewed, cleared=closed, skipped=skipped)

    def transition(self, alarm_id: str, to: Status, who: str, why: str) -> AlarmRecord:
        """Take an alarm one step on by hand; asking twice for the same step changes nothing more.

        Raises:
            AlarmNotFoundError: there is no such alarm.
            TransitionError: the step is not legal.
        """
        with self.changing(who) as change:
            return change.take(alarm_id, to, why=why)

    @contextmanager
    def changing(self, who: str) -> Iterator[Change]:
        """Several writes by one author that are kept together or not at all; nobody else writes meanwhile."""
        with writing(self._engine) as connection:
            yield Change(connection, who=who, now=self._clock())

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

    def story(self, alarm_id: str) -> Story:
        """One alarm with its life and the latest run, all as of one moment.

        Raises:
            AlarmNotFoundError: there is no such alarm.
        """
        with reading(self._engine) as connection:
            record = queries.alarm(connection, alarm_id)
            return Story(record, queries.events(connection, alarm_id), queries.latest_run(connection))

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

    def lives(self, last: Lives) -> Lives:
        """The standing alarms with their lives, all as of one moment; `last` itself where nothing is new since."""
        with reading(self._engine) as connection:
            return read_lives(connection, last)

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
