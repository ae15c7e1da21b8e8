"""Drains in the database: what is out, what was decided, what is excluded, which classes of links are active.

Every change happens in a transaction that alone may write, with its line in the log: what the guard found true inside
it is true when it commits. Time never goes back in it, so that a clock that jumps ends no lease early.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import SQLAlchemyError

from serving.alarms import utc_now
from serving.database import reading, writing
from serving.drains.observed import Observed
from serving.drains.records import Drain, Entry, Kind
from serving.drains.rows import drain_of, entry_of
from serving.drains.tables import decisions, drains
from serving.drains.together import Piece, Together
from serving.drains.writing import ALL, Standing, UnseenError, Writing, drain_by_id, standing_of

__all__ = ["ALL", "DrainStore", "Standing", "Writing"]

_T = TypeVar("_T")


class DrainStore:
    """The tables; the alarm store's migrations make them.

    Args:
        engine: the alarm store's.
        clock: what is now.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._engine = engine
        self._clock = clock
        self._read: tuple[int, Standing] | None = None
        self._together = Together(self._commit)

    def standing(self) -> Standing:
        """What is out, excluded and active."""
        with reading(self._engine) as connection:
            return self._standing(connection, *_last(connection, self._clock))

    @contextmanager
    def writing(self, observed: Observed | None = None) -> Iterator["Writing"]:
        """A transaction that alone may write; whatever it changes must be logged in it.

        Args:
            observed: frees the drains whose links were seen up after their end.
        """
        with writing(self._engine) as connection:
            last, now = _last(connection, self._clock)
            transaction = Writing(connection, now, self._standing(connection, last, now))
            if observed is not None:
                transaction.free(observed)
            yield transaction
            if transaction.changed and not transaction.logged:
                raise UnseenError
            last, standing = transaction.last or last, transaction.standing()
        self._read = (last, standing)

    def together(self, work: Callable[["Writing"], _T], observed: Observed | None = None) -> _T:
        """Do a piece of work in a transaction that it may share with others; when it returns it is on disk.

        Args:
            work: changes and logs; where it raises, what it changed is undone.
            observed: as for `writing`.
        """

        def piece(writing: Writing) -> _T:
            if observed is not None and observed is not writing.observed:
                writing.free(observed)
            return work(writing)

        return self._together.do(piece)

    @property
    def waiting(self) -> int:
        """How many pieces of work wait for the transaction of another to end."""
        return self._together.waiting

    def _commit(self, pieces: Sequence[Piece[Any]]) -> None:
        with self.writing() as transaction:
            if len(pieces) == 1:
                pieces[0].answer = pieces[0].work(transaction)
                return
            for piece in pieces:
                try:
                    with transaction.undoable():
                        piece.answer = piece.work(transaction)
                except SQLAlchemyError:
                    raise  # it is the database: nobody can be sure of anything
                except Exception as error:  # noqa: BLE001 - it is told to who asked
                    piece.error = error

    def _standing(self, connection: Connection, last: int, now: datetime) -> Standing:
        """Read anew where the log has grown: every change is in it, whoever made it."""
        if self._read is None or self._read[0] != last:
            self._read = (last, standing_of(connection, now))
        return self._read[1].at(now)

    def drain(self, drain_id: str) -> Drain:
        """One drain.

        Raises:
            DrainNotFoundError: there is no such drain.
        """
        with reading(self._engine) as connection:
            return drain_by_id(connection, drain_id)

    def last_drain(self, link_id: str) -> Drain | None:
        """The latest drain that took a link itself."""
        query = select(drains).where(drains.c.link_id == link_id).order_by(drains.c.granted_at.desc()).limit(1)
        with reading(self._engine) as connection:
            found = connection.execute(query).mappings().first()
        return None if found is None else drain_of(found)

    def log(
        self, *, kind: Kind | None = None, link_id: str | None = None, since: datetime | None = None, limit: int = 100
    ) -> tuple[Entry, ...]:
        """Entries, the newest first."""
        query = select(decisions).order_by(decisions.c.decision_id.desc()).limit(limit)
        if kind is not None:
            query = query.where(decisions.c.kind == kind.value)
        if link_id is not None:
            query = query.where(decisions.c.link_id == link_id)
        if since is not None:
            query = query.where(decisions.c.at >= since)
        with reading(self._engine) as connection:
            return tuple(entry_of(found) for found in connection.execute(query).mappings())


def _last(connection: Connection, clock: Callable[[], datetime]) -> tuple[int, datetime]:
    """Number of the newest entry, and the time: the clock's, or the entry's where the clock is behind it."""
    query = select(decisions.c.decision_id, decisions.c.at).order_by(decisions.c.decision_id.desc()).limit(1)
    last = connection.execute(query).one_or_none()
    now = clock()
    return (0, now) if last is None else (last.decision_id, max(now, last.at))
