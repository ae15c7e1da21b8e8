"""Drains in the database: what is out, what was decided, what is excluded, which classes of links are active.

Every change happens in a transaction that alone may write, with its line in the log: what the guard found true inside
it is true when it commits. Time never goes back in it, so that a clock that jumps ends no lease early.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, Engine, and_, delete, insert, select, update

from serving.alarms import utc_now
from serving.database import reading, writing
from serving.drains.advice import Mode
from serving.drains.fabric import LinkClass
from serving.drains.guard import Code
from serving.drains.observed import Observed
from serving.drains.records import Drain, Entry, Exclusion, Kind, Switch, Verdict
from serving.drains.rows import drain_of, entry_of, row
from serving.drains.tables import decisions, drain_exclusions, drain_modes, drains
from serving.errors import DrainNotFoundError

__all__ = ["ALL", "DrainStore", "Standing", "Writing"]

ALL: Final = "all"
"""Name of the switch that stops every lease."""

_RECENT: Final = timedelta(days=8)
"""Longer than any cool-down need be: a week."""


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

    def at(self, now: datetime) -> "Standing":
        """The same at a later time: some exclusions have ended."""
        return replace(self, now=now, exclusions=tuple(one for one in self.exclusions if one.until > now))

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
        self._read: tuple[int, Standing] | None = None

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
                msg = "a change of drains that is not in the log would be seen by nobody"
                raise RuntimeError(msg)
            last, standing = transaction.last or last, transaction.standing()
        self._read = (last, standing)

    def _standing(self, connection: Connection, last: int, now: datetime) -> Standing:
        """Read anew where the log has grown: every change is in it, whoever made it."""
        if self._read is None or self._read[0] != last:
            self._read = (last, _standing(connection, now))
        return self._read[1].at(now)

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


class Writing:
    """What may be changed within one transaction; `now` is its time."""

    def __init__(self, connection: Connection, now: datetime, standing: Standing) -> None:
        self._connection = connection
        self._standing = standing
        self._outdated = False
        self.now = now
        self.changed = False
        self.last: int | None = None
        """Number of the line written last."""

    @property
    def logged(self) -> bool:
        """Whether a line was written."""
        return self.last is not None

    def standing(self) -> Standing:
        """As `DrainStore.standing`, with this transaction's own changes."""
        if self._outdated:
            self._standing, self._outdated = _standing(self._connection, self.now), False
        return self._standing

    def log(self, entry: Entry) -> None:
        """Write a line."""
        written = self._connection.execute(insert(decisions), row(entry, Entry))
        self.last = int(written.inserted_primary_key[0])  # type: ignore[index]  # a row was inserted

    def free(self, observed: Observed) -> None:
        """Links that were seen up after their drain ended count as in again."""
        for one in self._standing.out:
            if one.held(self.now).back(observed):
                self.change(replace(one, freed_at=self.now, ended_at=one.end(self.now)))
                told = f"its capacity counts again: seen up after its end as {one.state}"
                self.log(
                    Entry(
                        at=self.now,
                        kind=Kind.FREED,
                        outcome=one.state,
                        why=told,
                        who="forelight",
                        link_class=one.link_class,
                        link_id=one.link_id,
                        drain_id=one.drain_id,
                    )
                )

    def last_advice(self, alarm_id: str) -> Entry | None:
        """What was advised last on an alarm."""
        query = (
            select(decisions)
            .where(decisions.c.alarm_id == alarm_id, decisions.c.kind == Kind.ADVICE.value)
            .order_by(decisions.c.decision_id.desc())
            .limit(1)
        )
        found = self._connection.execute(query).mappings().first()
        return None if found is None else entry_of(found)

    def drain(self, drain_id: str) -> Drain:
        """One drain.

        Raises:
            DrainNotFoundError: there is no such drain.
        """
        return _drain(self._connection, drain_id)

    def add(self, drain: Drain) -> None:
        """A new lease, or a drain that nobody asked for."""
        self.changed = True
        self._connection.execute(insert(drains), row(drain, Drain))
        self._standing = replace(self._standing, out=(*self._standing.out, drain))

    def change(self, drain: Drain) -> None:
        """What became of one."""
        self.changed = self._outdated = True
        self._connection.execute(update(drains).where(drains.c.drain_id == drain.drain_id).values(row(drain, Drain)))

    def exclude(self, exclusion: Exclusion) -> None:
        """Let nothing be drained there until its end; its number is given here."""
        values = row(exclusion, Exclusion)
        del values["exclusion_id"]
        self._connection.execute(insert(drain_exclusions).values(values))
        where = " ".join(part for part in (exclusion.device, exclusion.interface) if part)
        told = f"{where} until {exclusion.until.isoformat(timespec='minutes')}; {exclusion.why}"
        self._note(Kind.EXCLUSION, "excluded", exclusion.who, told)

    def include(self, exclusion_id: int, who: str) -> bool:
        """End an exclusion; False where there is none of this number."""
        gone = delete(drain_exclusions).where(drain_exclusions.c.exclusion_id == exclusion_id)
        found = self._connection.execute(gone).rowcount == 1
        if found:
            self._note(Kind.EXCLUSION, "included", who, f"exclusion {exclusion_id} ended")
        return found

    def verdicts(self, kind: LinkClass, last: int) -> tuple[Verdict, ...]:
        """Verdicts on the latest repairs of a class of links, the newest first."""
        query = (
            select(drains.c.verdict)
            .where(drains.c.link_class == kind.value, drains.c.verdict.is_not(None))
            .order_by(drains.c.ended_at.desc())
            .limit(last)
        )
        return tuple(Verdict(verdict) for verdict in self._connection.scalars(query))

    def switch(self, name: str, mode: str, who: str, why: str) -> None:
        """Put a class of links, or everything, into a mode."""
        self._connection.execute(delete(drain_modes).where(drain_modes.c.name == name))
        values = {"name": name, "mode": mode, "since": self.now, "who": who, "why": why}
        self._connection.execute(insert(drain_modes).values(values))
        self._note(Kind.MODE, mode, who, f"{name}: {why}" if why else name)

    def _note(self, kind: Kind, outcome: str, who: str, why: str) -> None:
        self.changed = self._outdated = True
        self.log(Entry(at=self.now, kind=kind, outcome=outcome, why=why, who=who))


def _last(connection: Connection, clock: Callable[[], datetime]) -> tuple[int, datetime]:
    """Number of the newest entry, and the time: the clock's, or the entry's where the clock is behind it."""
    query = select(decisions.c.decision_id, decisions.c.at).order_by(decisions.c.decision_id.desc()).limit(1)
    last = connection.execute(query).one_or_none()
    now = clock()
    return (0, now) if last is None else (last.decision_id, max(now, last.at))


def _standing(connection: Connection, now: datetime) -> Standing:
    out = select(drains).where(drains.c.freed_at.is_(None))
    ended = and_(drains.c.freed_at.is_not(None), drains.c.ended_at > now - _RECENT)
    holds = select(drain_exclusions).where(drain_exclusions.c.until > now)
    switches = [Switch(**found) for found in connection.execute(select(drain_modes)).mappings()]
    return Standing(
        now,
        tuple(drain_of(found) for found in connection.execute(out).mappings()),
        tuple(drain_of(found) for found in connection.execute(select(drains).where(ended)).mappings()),
        tuple(Exclusion(**found) for found in connection.execute(holds).mappings()),
        {switch.name: switch for switch in switches},
    )


def _drain(connection: Connection, drain_id: str) -> Drain:
    found = connection.execute(select(drains).where(drains.c.drain_id == drain_id)).mappings().one_or_none()
    if found is None:
        msg = f"there is no drain {drain_id!r}"
        raise DrainNotFoundError(msg)
    return drain_of(found)
