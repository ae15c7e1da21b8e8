"""Storms: alarms that a run held back because too many came up on one device at once, each kept with its reason.

They are no alarms: nothing stands, nothing is to be acted on. But who asks what a run would have raised is told.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, Engine, delete, insert, or_, select

from ingest.schema import FailureType
from serving.alarms import AlarmRecord, Level
from serving.database import reading
from serving.queries import row_of
from serving.tables import held_back

__all__ = ["HeldBack", "StormFilter", "StormPage", "forget", "keep", "read_storms"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """An alarm that was not raised.

    Attributes:
        at: time of the run.
        site, device, interface: the suspect end.
        why: which device came up with how many.
    """

    at: datetime
    model_version: str
    link_id: str
    site: str
    device: str
    interface: str
    peer_device: str | None
    peer_interface: str | None
    level: Level
    risk_24h: float | None
    failure_type: FailureType | None
    why: str

    @classmethod
    def of(cls, alarm: AlarmRecord, at: datetime, why: str) -> "HeldBack":
        """What would have been raised."""
        same = {name: getattr(alarm, name) for name in _FIELDS if name not in {"at", "why"}}
        return cls(**same, at=at, why=why)


_FIELDS: Final = tuple(field.name for field in fields(HeldBack))


@dataclass(frozen=True, slots=True)
class StormFilter:
    """Which of them; what is None does not count. A device is looked for at both ends."""

    site: str | None = None
    device: str | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class StormPage:
    """Some of them, the newest run first; None where none are left."""

    alarms: tuple[HeldBack, ...]
    next_cursor: str | None


def keep(connection: Connection, held: Sequence[HeldBack]) -> None:
    """Write down what a run held back."""
    words = ("level", "failure_type")
    rows = [asdict(one) | {name: getattr(one, name) and str(getattr(one, name)) for name in words} for one in held]
    if rows:
        connection.execute(insert(held_back), rows)


def read_storms(engine: Engine, where: StormFilter, *, cursor: str | None = None, limit: int = 100) -> StormPage:
    """A page; walking the cursors meets each once.

    Raises:
        CursorError: the cursor is not from here.
    """
    query = select(held_back).order_by(held_back.c.held_id.desc()).limit(limit + 1)
    if cursor is not None:
        query = query.where(held_back.c.held_id < row_of(cursor))
    if where.site is not None:
        query = query.where(held_back.c.site == where.site)
    if where.device is not None:
        query = query.where(or_(held_back.c.device == where.device, held_back.c.peer_device == where.device))
    if where.since is not None:
        query = query.where(held_back.c.at >= where.since)
    with reading(engine) as connection:
        found = connection.execute(query).mappings().all()
    told = tuple(_held(dict(row)) for row in found[:limit])
    return StormPage(told, str(found[limit - 1]["held_id"]) if len(found) > limit else None)


def forget(connection: Connection, before: datetime) -> int:
    """Delete what was held back before a time; how much that was."""
    return connection.execute(delete(held_back).where(held_back.c.at < before)).rowcount


def _held(row: dict[str, object]) -> HeldBack:
    kind = row["failure_type"]
    values = {name: row[name] for name in _FIELDS}
    values |= {"level": Level(str(row["level"])), "failure_type": None if kind is None else FailureType(str(kind))}
    return HeldBack(**values)  # type: ignore[arg-type]  # the columns have the types
