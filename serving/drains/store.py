"""Drains in the database: what is out, what was decided, what is excluded, which classes of links are active.

Every change happens in a transaction that alone may write, with its line in the log: what the guard found true inside
it is true when it commits. Time never goes back in it, so that a clock that jumps ends no lease early.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine, and_, delete, insert, or_, select, update

from serving.alarms import utc_now
from serving.database import reading, writing
from serving.drains.advice import Mode
from serving.drains.fabric import LinkClass
from serving.drains.guard import Code
from serving.drains.observed import Observed
from serving.drains.records import Drain, DrainState, Entry, Exclusion, Kind, Switch, Verdict
from serving.drains.tables import decisions, drain_exclusions, drain_modes, drains
from serving.errors import DrainNotFoundError

__all__ = ["ALL", "DrainStore", "Standing", "Writing"]

ALL: Final = "all"
"""Name of the switch that stops every lease."""

_RECENT: Final = timedelta(days=8)
"""Longer than any cool-down need be: a week."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Standing:
    """What the database says of drains now.

    Attributes:
        now: its time.
        out: drains whose links are not back.
        recent: drains that ended in the last days and are back.
        exclusions: that hold now.
        switches: by name.
    """

    now: datetime
    out: tuple[Drain, ...]
    recent: tuple[Drain, ...]
    exclusions: tuple[Exclusion, ...]
    switches: Mapping[str, Switch]

    @property
    def stopped(self) -> Switch | None:
        """The switch that stops everything, where it is thrown."""
        switch = self.switches.get(ALL)
        return switch if switch is not None and switch.mode == Code.STOPPED else None

    def mode(self, kind: LinkClass) -> Mode:
        """Shadow, unless somebody made the class active."""
        switch = self.switches.get(kind)
        return Mode.SHADOW if switch is None else Mode(switch.mode)


class DrainStore:
    """The tables; the alarm store's migrations make them.

    Args:
        engine: the alarm store's.
        clock: what is now.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._engine = engine
        self._clock = clock

    def standing(self) -> Standing:
        """What is out, excluded and active."""
        with reading(self._engine) as connection:
            return _standing(connection, _now(connection, self._clock))

    @contextmanager
    def writing(self, observed: Observed | None = None) -> Iterator["Writing"]:
        """A transaction that alone may write.

        Args:
            observed: frees the drains whose links were seen up after their end.
        """
        with writing(self._engine) as connection:
            now = _now(connection, self._clock)
            if observed is not None:
                _free(connection, observed, now)
            yield Writing(connection, now)

    def drain(self, drain_id: str) -> Drain:
        """One drain.

        Raises:
            DrainNotFoundError: there is no such drain.
        """
        with reading(self._engine) as connection:
            return _drain(connection, drain_id)

    def last_drain(self, link_id: str) -> Drain | None:
        """The latest drain that took a link itself."""
        query = select(drains).where(drains.c.link_id == link_id).order_by(drains.c.granted_at.desc()).limit(1)
        with reading(self._engine) as connection:
            row = connection.execute(query).mappings().first()
        return None if row is None else _drain_of(row)

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
            return tuple(_entry_of(row) for row in connection.execute(query).mappings())


class Writing:
    """What may be changed within one transaction; `now` is its time."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self.now = now

    def standing(self) -> Standing:
        """As `DrainStore.standing`, with this transaction's own changes."""
        return _standing(self._connection, self.now)

    def log(self, entry: Entry) -> None:
        """Write a line."""
        self._connection.execute(insert(decisions).values(_row(entry, Entry)))

    def last_advice(self, alarm_id: str) -> Entry | None:
        """What was advised last on an alarm."""
        query = (
            select(decisions)
            .where(decisions.c.alarm_id == alarm_id, decisions.c.kind == Kind.ADVICE.value)
            .order_by(decisions.c.decision_id.desc())
            .limit(1)
        )
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _entry_of(row)

    def drain(self, drain_id: str) -> Drain:
        """One drain.

        Raises:
            DrainNotFoundError: there is no such drain.
        """
        return _drain(self._connection, drain_id)

    def add(self, drain: Drain) -> None:
        """A new lease, or a drain that nobody asked for."""
        self._connection.execute(insert(drains).values(_row(drain, Drain)))

    def change(self, drain: Drain) -> None:
        """What became of one."""
        self._connection.execute(update(drains).where(drains.c.drain_id == drain.drain_id).values(_row(drain, Drain)))

    def exclude(self, exclusion: Exclusion) -> None:
        """Let nothing be drained there until its end; its number is given here."""
        values = _row(exclusion, Exclusion)
        del values["exclusion_id"]
        self._connection.execute(insert(drain_exclusions).values(values))

    def include(self, exclusion_id: int) -> bool:
        """End an exclusion; False where there is none of this number."""
        gone = delete(drain_exclusions).where(drain_exclusions.c.exclusion_id == exclusion_id)
        return self._connection.execute(gone).rowcount == 1

    def verdicts(self, kind: LinkClass, last: int) -> tuple[Verdict, ...]:
        """Verdicts on the latest repairs of a class of links, the newest first."""
        query = (
            select(drains.c.verdict)
            .where(drains.c.link_class == kind.value, drains.c.verdict.is_not(None))
            .order_by(drains.c.ended_at.desc())
            .limit(last)
        )
        return tuple(Verdict(verdict) for verdict in self._connection.scalars(query))

    def demote(self, kind: LinkClass, why: str) -> None:
        """Put an active class of links back to shadow, by nobody's hand."""
        self.switch(kind, Mode.SHADOW, "forelight", why)
        told = Entry(at=self.now, kind=Kind.MODE, outcome=Mode.SHADOW, why=why, who="forelight", link_class=kind)
        self.log(told)

    def switch(self, name: str, mode: str, who: str, why: str) -> None:
        """Put a class of links, or everything, into a mode."""
        self._connection.execute(delete(drain_modes).where(drain_modes.c.name == name))
        values = {"name": name, "mode": mode, "since": self.now, "who": who, "why": why}
        self._connection.execute(insert(drain_modes).values(values))


def _now(connection: Connection, clock: Callable[[], datetime]) -> datetime:
    """The clock's time, or that of the newest entry where the clock is behind it."""
    last: datetime | None = connection.execute(
        select(decisions.c.at).order_by(decisions.c.decision_id.desc()).limit(1)
    ).scalar_one_or_none()
    now = clock()
    return now if last is None else max(now, last)


def _standing(connection: Connection, now: datetime) -> Standing:
    out = select(drains).where(drains.c.freed_at.is_(None))
    ended = and_(drains.c.freed_at.is_not(None), drains.c.ended_at > now - _RECENT)
    holds = select(drain_exclusions).where(drain_exclusions.c.until > now)
    switches = [Switch(**row) for row in connection.execute(select(drain_modes)).mappings()]
    return Standing(
        now,
        tuple(_drain_of(row) for row in connection.execute(out).mappings()),
        tuple(_drain_of(row) for row in connection.execute(select(drains).where(ended)).mappings()),
        tuple(Exclusion(**row) for row in connection.execute(holds).mappings()),
        {switch.name: switch for switch in switches},
    )


def _free(connection: Connection, observed: Observed, now: datetime) -> None:
    """Links that were seen up after their drain ended count as in again."""
    ended = or_(drains.c.ended_at.is_not(None), drains.c.expires_at <= now)
    rows = connection.execute(select(drains).where(drains.c.freed_at.is_(None), ended)).mappings()
    for one in [_drain_of(row) for row in rows]:
        if one.held(now).back(observed):
            changed = update(drains).where(drains.c.drain_id == one.drain_id)
            connection.execute(changed.values(freed_at=now, ended_at=one.end(now)))


def _drain(connection: Connection, drain_id: str) -> Drain:
    row = connection.execute(select(drains).where(drains.c.drain_id == drain_id)).mappings().one_or_none()
    if row is None:
        msg = f"there is no drain {drain_id!r}"
        raise DrainNotFoundError(msg)
    return _drain_of(row)


def _row(value: Any, kind: type[Any]) -> dict[str, Any]:
    """A value as the columns that hold it."""
    plain = {field.name: getattr(value, field.name) for field in fields(kind)}
    return {name: _plain(one) for name, one in plain.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    return [str(part) for part in value] if isinstance(value, tuple | list) else value


def _drain_of(row: Mapping[Any, Any]) -> Drain:
    values = {name: row[name] for name in _DRAIN}
    verdict = values["verdict"]
    return Drain(
        **values
        | {
            "links": tuple(values["links"]),
            "actions": tuple(values["actions"]),
            "link_class": LinkClass(values["link_class"]),
            "state": DrainState(values["state"]),
            "verdict": None if verdict is None else Verdict(verdict),
        }
    )


def _entry_of(row: Mapping[Any, Any]) -> Entry:
    values = {name: row[name] for name in _ENTRY}
    words = {"kind": Kind, "code": Code, "link_class": LinkClass, "mode": Mode}
    return Entry(**{name: _word(words, name, value) for name, value in values.items()})


def _word(words: Mapping[str, Callable[[Any], _T]], name: str, value: Any) -> Any:
    return words[name](value) if value is not None and name in words else value


_DRAIN: Final = tuple(field.name for field in fields(Drain))
_ENTRY: Final = tuple(field.name for field in fields(Entry))
