"""The log of decisions, page by page, the newest first, and what of it goes when it is old."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Engine, delete, func, select

from serving.database import reading
from serving.drains.records import Entry, Kind
from serving.drains.rows import entry_of
from serving.drains.tables import decisions, drain_exclusions, drains
from serving.queries import row_of

__all__ = ["Line", "LogFilter", "LogPage", "forget", "read_log"]


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which entries; what is None does not count."""

    kind: Kind | None = None
    link_id: str | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """An entry with its number; numbers rise with time."""

    number: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class LogPage:
    """Entries, the newest first; None where none are left."""

    lines: tuple[Line, ...]
    next_cursor: str | None


def read_log(engine: Engine, where: LogFilter, *, cursor: str | None = None, limit: int = 100) -> LogPage:
    """A page of the log; walking the cursors meets each entry once, also while others are written.

    Args:
        engine: of the store.
        where: which entries.
        cursor: `next_cursor` of the page before.
        limit: so many at most.

    Raises:
        CursorError: it is none.
    """
    query = select(decisions).order_by(decisions.c.decision_id.desc()).limit(limit + 1)
    if cursor is not None:
        query = query.where(decisions.c.decision_id < row_of(cursor))
    if where.kind is not None:
        query = query.where(decisions.c.kind == where.kind.value)
    if where.link_id is not None:
        query = query.where(decisions.c.link_id == where.link_id)
    if where.since is not None:
        query = query.where(decisions.c.at >= where.since)
    with reading(engine) as connection:
        found = tuple(Line(row["decision_id"], entry_of(row)) for row in connection.execute(query).mappings())
    more = len(found) > limit
    return LogPage(found[:limit], str(found[limit - 1].number) if more else None)


def forget(connection: Connection, before: datetime) -> int:
    """Delete what was decided before a time, drains that were over and back by then, and exclusions that had ended.

    The newest entry stays: the store's time is never before it.

    Returns:
        Entries of the log.
    """
    last = select(func.max(decisions.c.decision_id)).scalar_subquery()
    old = delete(decisions).where(decisions.c.at < before, decisions.c.decision_id < last)
    gone = connection.execute(old).rowcount
    connection.execute(delete(drains).where(drains.c.freed_at < before, drains.c.ended_at < before))
    connection.execute(delete(drain_exclusions).where(drain_exclusions.c.until < before))
    return gone
