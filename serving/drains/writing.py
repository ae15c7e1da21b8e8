"""One transaction on drains: what the database says of them, and what may be changed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, and_, delete, insert, select, update

from serving.drains.advice import Mode
from serving.drains.fabric import LinkClass
from serving.drains.guard import Code
from serving.drains.observed import Observed
from serving.drains.records import Drain, Entry, Exclusion, Kind, Switch, Verdict
from serving.drains.rows import drain_of, entry_of, row
from serving.drains.tables import decisions, drain_exclusions, drain_modes, drains
from serving.errors import DrainNotFoundError

__all__ = ["ALL", "Standing", "UnseenError", "Writing", "drain_by_id", "standing_of"]

ALL: Final = "all"
"""Name of the switch that stops every lease."""

_RECENT: Final = timedelta(days=8)
"""Longer than any cool-down need be: a week."""


class UnseenError(RuntimeError):
    """A change that is not in the log would be seen by nobody: a mistake of the code."""

    def __init__(self) -> None:
        super().__init__("a change of drains that is not in the log would be seen by nobody")


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
        self.observed: Observed | None = None
        """By what drains were freed last."""

    @contextmanager
    def undoable(self) -> Iterator[None]:
        """What is done within it is undone alone where it fails; it, too, must log what it changes."""
        before = dict(self.__dict__)
        self.changed = False
        try:
            with self._connection.begin_nested():
                yield
                self._check(before["last"])
        except BaseException:
            self.__dict__.update(before)
            raise
        self.changed |= before["changed"]

    def _check(self, last: int | None) -> None:
        if self.changed and self.last == last:
            raise UnseenError

    @property
    def logged(self) -> bool:
        """Whether a line was written."""
        return self.last is not None

    def standing(self) -> Standing:
        """As `DrainStore.standing`, with this transaction's own changes."""
        if self._outdated:
            self._standing, self._outdated = standing_of(self._connection, self.now), False
        return self._standing

    def log(self, entry: Entry) -> None:
        """Write a line."""
        written = self._connection.execute(insert(decisions), row(entry, Entry))
        self.last = int(written.inserted_primary_key[0])  # type: ignore[index]  # a row was inserted

    def free(self, observed: Observed) -> None:
        """Links that were seen up after their drain ended count as in again."""
        self.observed = observed
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
        return drain_by_id(self._connection, drain_id)

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


def standing_of(connection: Connection, now: datetime) -> Standing:
    """What the database says now."""
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


def drain_by_id(connection: Connection, drain_id: str) -> Drain:
    """One drain.

    Raises:
        DrainNotFoundError: there is no such drain.
    """
    found = connection.execute(select(drains).where(drains.c.drain_id == drain_id)).mappings().one_or_none()
    if found is None:
        msg = f"there is no drain {drain_id!r}"
        raise DrainNotFoundError(msg)
    return drain_of(found)
