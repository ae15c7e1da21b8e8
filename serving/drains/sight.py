"""What the fabric looks like now: links and tiers, read again when they changed, and the state of every link."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from features.fleet import Fleet
from ingest.errors import ForelightError
from ingest.lake import Lake
from ingest.schema import LINKS, MODULES
from serving.drains.config import Guard
from serving.drains.fabric import Fabric
from serving.drains.observed import Observed, observe
from serving.errors import FabricUnavailableError

__all__ = ["LatestSight", "Sight", "look"]

_log: Final = logging.getLogger(__name__)
_EVERY_S: Final = 30.0
"""Collectors poll every minute: what is read more often is not newer."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The fabric and the state of its links at one time.

    Attributes:
        version: data files that the fabric was made of, and the hour.
    """

    fabric: Fabric
    observed: Observed
    version: frozenset[str] = frozenset()


def look(lake: Lake, guard: Guard, at: datetime, last: Sight | None = None) -> Sight:
    """Read the fabric where it changed since the last look, and the state of its links.

    Raises:
        FabricUnavailableError: the lake cannot be read.
    """
    try:
        files = {file.uri for table in (LINKS, MODULES) for file in lake.files(table)}
        version = frozenset({*files, f"{at:%Y-%m-%dT%H}"})  # what is valid from an hour on is seen in that hour
        fleet = Fleet.load(lake).as_of(at)
        same = last is not None and last.version == version
        fabric = last.fabric if last is not None and same else Fabric.of(fleet, guard.tiers)
        return Sight(fabric, observe(lake, fleet, fabric, at, guard.observed_within_s), version)
    except (ForelightError, OSError) as error:
        msg = f"the fabric cannot be read: {str(error).splitlines()[0]}"
        raise FabricUnavailableError(msg) from error


class LatestSight:
    """Gives the sight of now, at most half a minute old; where it cannot be renewed the last one goes stale by itself.

    Args:
        lake: with links, modules and port samples.
        guard: tiers and ages.
        clock: what is now.
    """

    def __init__(self, lake: Lake, guard: Guard, clock: Callable[[], datetime]) -> None:
        self._lake = lake
        self._guard = guard
        self._clock = clock
        self._current: Sight | None = None
        self._due_s = 0.0
        self._lock = asyncio.Lock()

    async def get(self) -> Sight:
        """The newest sight, or while a newer one is read the one before.

        Raises:
            FabricUnavailableError: there is none yet, and it cannot be read.
        """
        if self._current is not None and (time.monotonic() < self._due_s or self._lock.locked()):
            return self._current
        async with self._lock:
            if self._current is None or time.monotonic() >= self._due_s:
                self._current = await self._renewed(self._current)
                self._due_s = time.monotonic() + _EVERY_S
            return self._current

    async def _renewed(self, last: Sight | None) -> Sight:
        try:
            return await asyncio.to_thread(look, self._lake, self._guard, self._clock(), last)
        except FabricUnavailableError as error:
            if last is None:
                raise
            _log.warning("going on with the fabric as of %s: %s", last.observed.at.isoformat(), error)
            return last
