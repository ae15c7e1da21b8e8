"""Values of what was leased, drained and decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ingest.schema import Action
from serving.drains.advice import Mode
from serving.drains.fabric import LinkClass
from serving.drains.guard import Code, Held

__all__ = ["Drain", "DrainState", "Entry", "Exclusion", "Kind", "Switch", "Verdict"]


class DrainState(StrEnum):
    """Where a drain is: a lease that ran out is ``leased`` with an end."""

    LEASED = "leased"
    RELEASED = "released"
    DRAINED = "drained"
    UNDRAINED = "undrained"


class Verdict(StrEnum):
    """What the network said of a repair."""

    PASSED = "passed"
    FAILED = "failed"
    PENDING = "pending"


class Kind(StrEnum):
    """What an entry of the log is about."""

    ADVICE = "advice"
    LEASE = "lease"
    RELEASED = "released"
    DRAINED = "drained"
    UNDRAINED = "undrained"
    VERIFIED = "verified"
    MODE = "mode"
    EXCLUSION = "exclusion"
    FREED = "freed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """A lease, and the drain that it became.

    Attributes:
        site, device, interface: the end that was asked for.
        links: all that are out with it, `link_id` among them.
        holder: who asked.
        given: False where somebody drained without asking.
        expires_at: the lease's end; None once the drain was reported.
        ended_at: when it was released, reported undrained, or ran out.
        actions: repairs tried, in order.
        verdict: of the last repair; None before it is asked for.
    """

    drain_id: str
    site: str
    device: str
    interface: str
    link_id: str
    link_class: LinkClass
    links: tuple[str, ...]
    alarm_id: str | None
    holder: str
    given: bool
    state: DrainState
    granted_at: datetime
    expires_at: datetime | None
    ended_at: datetime | None = None
    freed_at: datetime | None = None
    actions: Sequence[Action] = ()
    verdict: Verdict | None = None

    def held(self, now: datetime) -> Held:
        """As the guard counts it."""
        drained = self.state in {DrainState.DRAINED, DrainState.UNDRAINED}
        return Held(self.links, self.granted_at if self.given else None, self.end(now), drained)

    def end(self, now: datetime) -> datetime | None:
        """When it ended; a lease ends by itself."""
        if self.ended_at is None and self.expires_at is not None and self.expires_at <= now:
            return self.expires_at
        return self.ended_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the log: advice given or not taken, a lease granted or refused, what was reported."""

    at: datetime
    kind: Kind
    outcome: str
    why: str
    who: str
    code: Code | None = None
    link_class: LinkClass | None = None
    mode: Mode | None = None
    site: str | None = None
    device: str | None = None
    interface: str | None = None
    link_id: str | None = None
    alarm_id: str | None = None
    drain_id: str | None = None
    risk_24h: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """A port, or a whole device, that no drain may touch until a time."""

    exclusion_id: int
    site: str
    device: str
    interface: str | None
    until: datetime
    who: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """Which mode a class of links is in, since when, and who said so."""

    name: str
    mode: str
    since: datetime
    who: str
    why: str
