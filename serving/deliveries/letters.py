"""What waits in the outbox and what is dead there: counted, shown, tried again or dropped by a person, and pruned."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Final, Self

from sqlalchemy import Connection, Select, and_, delete, exists, func, select, update

from serving import queries
from serving.database import make_engine, reading, writing
from serving.deliveries import rows
from serving.deliveries.errors import LetterError
from serving.deliveries.rows import DEAD, DONE, DROPPED, STANDING, WAITING
from serving.tables import alarms, deliveries, outbox, outbox_adapters

__all__ = ["Count", "Letter", "Letters", "counts"]

_CHUNK: Final = 500


@dataclass(frozen=True, slots=True)
class Letter:
    """A delivery, for people.

    Attributes:
        subject: identifier of the alarm, or ``storm``.
        kind: what happened, as `serving.notices.Kind` names it.
        error: of the last try.
    """

    adapter: str
    message_id: int
    subject: str
    kind: str
    at: datetime
    state: str
    tries: int
    due_at: datetime
    error: str | None

    @property
    def name(self) -> str:
        """What `retry` and `drop` take."""
        return f"{self.adapter}/{self.message_id}"


@dataclass(frozen=True, slots=True)
class Count:
    """What an adapter has to do: deliveries that wait and the age of the oldest, and those that are dead."""

    waiting: int
    dead: int
    oldest_s: float


class Letters:
    """The outbox as its keepers see it.

    Args:
        url: SQLAlchemy's.
        clock: the database's own where it has one (PostgreSQL), else this machine's; tests hand in theirs.
    """

    def __init__(self, url: str, *, clock: Callable[[], datetime] | None = None) -> None:
        self._engine = make_engine(url)
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()

    def counts(self) -> dict[str, Count]:
        """What each adapter that was ever seen has to do, messages included that it was not given yet.

        Raises:
            StoreError: the database does not answer.
        """
        with reading(self._engine) as connection:
            now = self._now(connection)
            known = connection.execute(select(outbox_adapters)).all()
            return {
                adapter: _count(connection, adapter, seen_id, now) for adapter, seen_id in sorted(map(tuple, known))
            }

    def listed(self, states: Sequence[str] = (DEAD,), *, limit: int = 1000) -> tuple[Letter, ...]:
        """Deliveries in some states, the oldest message first."""
        names = ("adapter", "message_id", "subject", "state", "tries", "due_at", "error")
        query = select(*(deliveries.c[name] for name in names), outbox.c.kind, outbox.c.at)
        query = query.join(outbox, outbox.c.message_id == deliveries.c.message_id)
        query = query.where(deliveries.c.state.in_(states)).order_by(deliveries.c.message_id, deliveries.c.adapter)
        with reading(self._engine) as connection:
            return tuple(Letter(**row) for row in connection.execute(query.limit(limit)).mappings())

    def retry(self, adapter: str, message_id: int) -> None:
        """Have a dead delivery tried again.

        Raises:
            LetterError: it is not dead, or its consumer has newer news of the same alarm already.
        """
        newer = rows.another("newer")
        told = and_(newer.c.message_id > deliveries.c.message_id, newer.c.state.in_([DONE, STANDING]))
        this = rows.is_delivery(adapter, message_id)
        with writing(self._engine) as connection:
            self._is(connection, adapter, message_id, (DEAD,))
            late = select(exists().where(this, exists().where(rows.same_alarm(newer), told)))
            if connection.scalar(late):
                msg = f"{adapter}/{message_id} comes too late: newer news of its alarm was delivered; drop it"
                raise LetterError(msg)
            values = {"state": WAITING, "tries": 0, "due_at": self._now(connection)}
            connection.execute(update(deliveries).where(this).values(**values))

    def drop(self, adapter: str, message_id: int) -> None:
        """Give a delivery up that waits or is dead; later ones of its alarm go on.

        Raises:
            LetterError: there is nothing of it that could be dropped.
        """
        with writing(self._engine) as connection:
            self._is(connection, adapter, message_id, (DEAD, WAITING))
            values = {"state": DROPPED, "changed_at": self._now(connection)}
            connection.execute(update(deliveries).where(rows.is_delivery(adapter, message_id)).values(**values))

    def forget(self, adapter: str) -> int:
        """Drop all that is due at an adapter that is no longer configured; returns how many deliveries."""
        with writing(self._engine) as connection:
            gone = connection.execute(delete(deliveries).where(deliveries.c.adapter == adapter)).rowcount
            connection.execute(delete(outbox_adapters).where(outbox_adapters.c.adapter == adapter))
            return gone

    def prune(self, keep: timedelta) -> int:
        """Delete messages of alarms that ended longer ago than that, where nothing of them is still to be done.

        Raises:
            StoreError: the database does not answer.
        """
        with writing(self._engine) as connection:
            over = connection.scalars(_over(self._now(connection) - keep)).all()
            for start in range(0, len(over), _CHUNK):
                some = over[start : start + _CHUNK]
                connection.execute(delete(deliveries).where(deliveries.c.message_id.in_(some)))
                connection.execute(delete(outbox).where(outbox.c.message_id.in_(some)))
            return len(over)

    @staticmethod
    def _is(connection: Connection, adapter: str, message_id: int, states: Sequence[str]) -> None:
        query = select(deliveries.c.state).where(rows.is_delivery(adapter, message_id))
        state = connection.scalar(query)
        if state not in states:
            what = "there is none" if state is None else f"it is {state}"
            msg = f"{adapter}/{message_id} is no {' or '.join(states)} delivery: {what}"
            raise LetterError(msg)

    def _now(self, connection: Connection) -> datetime:
        return self._clock() if self._clock is not None else rows.database_now(connection)


def counts(connection: Connection, now: datetime) -> dict[str, Count]:
    """What each adapter that was ever seen has to do, by name."""
    known = connection.execute(select(outbox_adapters.c.adapter, outbox_adapters.c.seen_id)).all()
    return {adapter: _count(connection, adapter, seen_id, now) for adapter, seen_id in sorted(map(tuple, known))}


def _count(connection: Connection, adapter: str, seen_id: int, now: datetime) -> Count:
    joined = outbox.join(deliveries, outbox.c.message_id == deliveries.c.message_id)
    mine = select(func.count(), func.min(outbox.c.at)).select_from(joined).where(deliveries.c.adapter == adapter)
    waiting, first = connection.execute(mine.where(deliveries.c.state == WAITING)).one()
    dead, _ = connection.execute(mine.where(deliveries.c.state == DEAD)).one()
    new = select(func.count(), func.min(outbox.c.at)).where(outbox.c.message_id > seen_id)
    unseen, first_unseen = connection.execute(new).one()
    times = [time for time in (first, first_unseen) if time is not None]
    return Count(waiting + unseen, dead, max(0.0, (now - min(times)).total_seconds()) if times else 0.0)


def _over(before: datetime) -> Select[tuple[int]]:
    """Numbers of messages that nobody needs: their alarm has ended, and every adapter has seen them."""
    busy = deliveries.alias("busy")
    subjects = outbox.alias("subjects")
    stands = exists().where(alarms.c.alarm_id == outbox.c.subject, queries.is_standing())
    recent = exists().where(subjects.c.subject == outbox.c.subject, subjects.c.at >= before)
    open_ = exists().where(busy.c.subject == outbox.c.subject, busy.c.state.in_([WAITING, STANDING, DEAD]))
    seen = select(func.min(outbox_adapters.c.seen_id)).scalar_subquery()
    unseen = func.coalesce(outbox.c.message_id > seen, False)
    return select(outbox.c.message_id).where(outbox.c.at < before, ~stands, ~recent, ~open_, ~unseen)
