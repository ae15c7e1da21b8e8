"""The capacity guard in words: what is out, what may be, who stopped what."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from serving.drains.advice import Mode
from serving.drains.config import Guard
from serving.drains.fabric import LinkClass
from serving.drains.records import Exclusion
from serving.drains.sight import Sight
from serving.drains.store import Standing

__all__ = ["GuardState", "guard_state"]

_HOUR: Final = timedelta(hours=1)
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class GuardState:
    """What stands on the page.

    Attributes:
        stopped: who stopped all drains, and why; empty where nobody did.
        modes: of each class of links.
        out: links that leases and drains have out; `may` be at once, None where the fabric cannot be seen.
        leases: given in the last hour, of `leases_may`.
        down, unseen, links: links seen down, not seen up lately, and all.
        observed_at: as of when; `stale` where that is too long ago to drain by.
        exclusions: some that hold, and how many there are.
    """

    stopped: str
    modes: dict[LinkClass, Mode]
    out: int
    may: int | None
    leases: int
    leases_may: int
    down: int
    unseen: int
    links: int
    observed_at: datetime | None
    stale: bool
    exclusions: tuple[Exclusion, ...]
    exclusion_count: int


def guard_state(guard: Guard, standing: Standing, sight: Sight | None, now: datetime) -> GuardState:
    """As the guard itself counts it."""
    stop = standing.stopped
    links = 0 if sight is None else len(sight.fabric.links)
    every = (*standing.out, *standing.recent)
    seen = None if sight is None else sight.observed
    return GuardState(
        stopped="" if stop is None else f"{stop.who}: {stop.why}",
        modes={kind: standing.mode(kind) for kind in LinkClass},
        out=len({link for one in standing.out for link in one.links}),
        may=None if sight is None else max(guard.most_in_fleet, int(guard.most_of_fleet * links)),
        leases=sum(one.given and one.granted_at > now - _HOUR for one in every),
        leases_may=guard.most_per_hour,
        down=0 if seen is None else len(seen.down),
        unseen=0 if seen is None else len(seen.unseen),
        links=links,
        observed_at=None if seen is None else seen.at,
        stale=seen is None or abs((now - seen.at).total_seconds()) > guard.observed_within_s,
        exclusions=standing.exclusions[:_SHOWN],
        exclusion_count=len(standing.exclusions),
    )
