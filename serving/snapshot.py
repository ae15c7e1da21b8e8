"""The latest scores in memory, so that asking about one transceiver reads no disk.

Loaded off the event loop; replaced as a whole when the store says that a run or an
alarm's state is new, which is asked once a second at most.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import polars as pl

from ingest.lake import Lake
from ingest.schema import MODULES, SCORES
from serving.alarms import AlarmRecord, Event, ScoreRun
from serving.errors import ProblemError, ScoresUnavailableError
from serving.lives import Lives
from serving.store import AlarmStore

__all__ = ["LatestScores", "ScoreTable", "Snapshot", "by_end"]

Key = tuple[str, str, str]
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores of one run, by (site, device, interface)."""

    rows: pl.DataFrame
    index: Mapping[Key, int]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> "ScoreTable":
        """Index rows of the table ``scores``; one key, one row."""
        keys = zip(rows["site"], rows["device"], rows["interface"], strict=True)
        return cls(rows, {key: number for number, key in enumerate(keys)})

    def find(self, key: Key) -> dict[str, Any] | None:
        """The row, with null for what is not a finite number; None where there is none."""
        number = self.index.get(key)
        return None if number is None else _finite(self.rows.row(number, named=True))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was known at one version of the store.

    Attributes:
        alarms: the standing alarm at either end of a link, by (site, device, interface).
        standing: the standing alarms by their identifiers.
        servers: (site, device) whose modules have the role ``nic``.
        events: the lives of the standing alarms.
    """

    version: tuple[int, int]
    run: ScoreRun | None
    scores: ScoreTable
    alarms: Mapping[Key, AlarmRecord]
    standing: Mapping[str, AlarmRecord]
    servers: frozenset[tuple[str, str]]
    events: Mapping[str, tuple[Event, ...]] = field(default_factory=dict)


class LatestScores:
    """Gives the snapshot of now, at most `check_every_s` late.

    Args:
        store: whose runs and alarms.
        lake: where the scores are.
        monotonic: seconds that only grow; tests hand in their own.
    """

    def __init__(
        self,
        store: AlarmStore,
        lake: Lake,
        *,
        check_every_s: float = 1.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._lake = lake
        self._check_every_s = check_every_s
        self._monotonic = monotonic
        self._current: Snapshot | None = None
        self._due_s = -math.inf
        self._checked_s = -math.inf
        self._lock = asyncio.Lock()

    async def get(self) -> Snapshot:
        """The newest snapshot; while a newer one loads, or where it cannot be, the last good one.

        The last good one carries the time of its scores, so that it goes stale by itself.

        Raises:
            ProblemError: there is none yet, and it cannot be loaded.
        """
        if self._current is not None and (self._monotonic() < self._due_s or self._lock.locked()):
            return self._current
        async with self._lock:
            if self._current is None or self._monotonic() >= self._due_s:
                self._current = await self._renewed()
                self._due_s = self._monotonic() + self._check_every_s
            return self._current

    @property
    def age_s(self) -> float:
        """How long ago the store was last found to say the same as the snapshot."""
        return self._monotonic() - self._checked_s

    def forget(self) -> None:
        """Look again at the next request: something was just changed."""
        self._due_s = -math.inf

    async def _renewed(self) -> Snapshot:
        began_s = self._monotonic()
        try:
            found = await asyncio.to_thread(self._load, self._current)
        except ProblemError as error:
            if self._current is None:
                raise
            _log.warning("serving the scores already in memory: %s", error)
            return self._current
        self._checked_s = began_s
        return found

    def _load(self, last: Snapshot | None) -> Snapshot:
        known = Lives() if last is None else Lives(last.version, last.run, last.standing, last.events)
        now = self._store.lives(known)
        if last is not None and now is known:
            return last
        scores, servers = self._read(now.run) if last is None or last.run != now.run else (last.scores, last.servers)
        alarms = by_end(now.records.values())
        return Snapshot(now.version, now.run, scores, alarms, now.records, servers, now.events)

    def _read(self, run: ScoreRun | None) -> tuple[ScoreTable, frozenset[tuple[str, str]]]:
        """The run's scores and the servers from the lake; empty before the first run."""
        if run is None:
            return ScoreTable.of(pl.DataFrame({"site": [], "device": [], "interface": []})), frozenset()
        try:
            until = run.at + timedelta(microseconds=1)
            rows = self._lake.latest(SCORES, since=run.at, until=until).collect()
            nics = self._lake.latest(MODULES).filter(pl.col("role") == "nic")
            servers = frozenset(nics.select("site", "device").unique().collect().iter_rows())
        except Exception as error:
            msg = f"the scores as of {run.at.isoformat()} cannot be read: {str(error).splitlines()[0]}"
            raise ScoresUnavailableError(msg) from error
        if rows.is_empty() and run.modules_scored + run.modules_unknown > 0:
            msg = f"the lake has no scores as of {run.at.isoformat()}, though that run was applied"
            raise ScoresUnavailableError(msg)
        return ScoreTable.of(rows), servers


def by_end(alarms: Iterable[AlarmRecord]) -> dict[Key, AlarmRecord]:
    """Alarms by both ends of their links; the suspect end's own alarm comes first."""
    found: dict[Key, AlarmRecord] = {}
    own: dict[Key, AlarmRecord] = {}
    for alarm in alarms:
        own[alarm.site, alarm.device, alarm.interface] = alarm
        if alarm.peer_device is not None and alarm.peer_interface is not None:
            found[alarm.site, alarm.peer_device, alarm.peer_interface] = alarm
    return found | own


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _finite_value(value) for name, value in row.items()}


def _finite_value(value: Any) -> Any:
    if isinstance(value, dict):
        return _finite(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
