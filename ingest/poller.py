"""Polling: one device in one go, and sweeps over all of them with bounded concurrency and one commit a table."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import pyarrow as pa

from ingest.config import Config, Target
from ingest.connect import Connection, connect
from ingest.decode import Decoded, Plan, columns_to_walk, decode
from ingest.errors import ConfigError, IngestError, TransportError
from ingest.installed import Installations
from ingest.interfaces import text_of
from ingest.profile import Profile, load_profile, profiles_for
from ingest.samples import Origin, lane_rows, port_rows, to_arrow
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES, Table
from ingest.transport import Column, Transport

__all__ = ["Poll", "Poller", "Sink", "Sweep", "poll_device"]

_SYS_OBJECT_ID = "1.3.6.1.2.1.1.2"


class Sink(Protocol):
    """Where rows go; `ingest.lake.Lake` is one."""

    def append(self, table: Table, rows: pa.Table) -> object:
        """Keep rows of a canonical table."""
        ...


@dataclass
class Poll:
    """What came of asking one device once.

    Attributes:
        profile: the vendor file that fitted; None where the device did not answer.
        error: one line where the poll failed, or lost its inventory or limits (then `partial`).
    """

    target: Target
    profile: str | None = None
    lanes: list[dict[str, Any]] = field(default_factory=list)
    ports: list[dict[str, Any]] = field(default_factory=list)
    modules: list[dict[str, Any]] = field(default_factory=list)
    partial: bool = False
    error: str | None = None
    duration_s: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the device gave nothing that can be used."""
        return self.error is not None and not self.partial


@dataclass(frozen=True)
class Sweep:
    """All polls of one round, in the configuration's order."""

    polls: list[Poll]
    duration_s: float

    @property
    def failed(self) -> list[Poll]:
        """Those that gave nothing."""
        return [poll for poll in self.polls if poll.failed]


class _Walks:
    """Columns of one poll, each walked once, whichever profile asks."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.cells: dict[str, Column] = {}

    async def get(self, columns: Iterable[str]) -> None:
        for column in columns:
            if column not in self.cells:
                self.cells[column] = await self._transport.walk(column)


@dataclass(frozen=True)
class _Found:
    profile: Profile
    plan: Plan
    decoded: Decoded


async def poll_device(transport: Transport, target: Target, known: Installations, *, deadline_s: float = 60.0) -> Poll:
    """Ask one device for everything that its profile names.

    A device that stops answering after its readings are in gives a partial poll: its rows stand, marked, and no
    installation follows from what is missing.
    """
    walks = _Walks(transport)
    until = asyncio.get_running_loop().time() + deadline_s
    async with asyncio.timeout_at(until):
        found = await _readings(walks, target.snmp.profile if target.snmp else None)
    at, lost = datetime.now(UTC), None
    try:
        async with asyncio.timeout_at(until):
            await walks.get(found.plan.extra)
    except (TransportError, TimeoutError) as error:
        lost = f"partial: {error or f'not done within {deadline_s:g} s'}"
    decoded = decode(walks.cells, found.profile)
    origin = Origin(target.site, target.device, at, "snmp", partial=lost is not None)
    return Poll(
        target,
        profile=found.profile.name,
        lanes=lane_rows(decoded, origin),
        ports=port_rows(decoded, origin),
        modules=known.changes(decoded, origin),
        partial=lost is not None,
        error=lost,
    )


async def _readings(walks: _Walks, name: str | None) -> _Found:
    """Walk the needed columns of the first profile that gives readings; of the first, where none does."""
    first: _Found | None = None
    if name is None:
        await walks.get([_SYS_OBJECT_ID])
        candidates = profiles_for(text_of(walks.cells[_SYS_OBJECT_ID].get("0")).strip("."))
    else:
        candidates = [load_profile(name)]
    for profile in candidates:
        plan = columns_to_walk(profile)
        await walks.get(plan.needed)
        found = _Found(profile, plan, decode(walks.cells, profile))
        if found.decoded.readings:
            return found
        first = first or found
    if first is None:
        msg = "no profile to try"
        raise ConfigError(msg)
    return first


class Poller:
    """Sweeps over the targets of a configuration and writes what they say.

    Args:
        config: targets and intervals.
        sink: gets at most one append a table and sweep.
        known: installations as they stand, from the lake.
        done: called after each device, for progress.
    """

    def __init__(
        self,
        config: Config,
        sink: Sink,
        known: Installations | None = None,
        done: Callable[[Poll], None] | None = None,
    ) -> None:
        self._config = config
        self._sink = sink
        self._known = known or Installations()
        self._done = done
        self._connections: dict[tuple[str, str], Connection] = {}

    async def sweep(self, stop: asyncio.Event | None = None) -> Sweep:
        """Ask every device once, then write. On `stop`, what is finished is written and the rest left."""
        started = time.monotonic()
        gate = asyncio.Semaphore(self._config.collect.concurrency)
        tasks = [asyncio.create_task(self._polled(target, gate)) for target in self._config.target]
        watch = asyncio.create_task(_cancel_on(stop or asyncio.Event(), tasks))
        await asyncio.gather(*tasks, return_exceptions=True)
        watch.cancel()
        polls = [task.result() for task in tasks if not task.cancelled()]
        await self._write(polls)
        return Sweep(polls, time.monotonic() - started)

    async def run(self, stop: asyncio.Event, report: Callable[[Sweep | IngestError], None]) -> None:
        """Sweep at every interval until `stop`; an overrun skips the sweeps that it covers."""
        interval_s = self._config.collect.interval_s
        due = time.monotonic()
        while not stop.is_set():
            try:
                report(await self.sweep(stop))
            except IngestError as error:
                report(error)
            due += interval_s * max(1, -(-(time.monotonic() - due) // interval_s))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), max(0.0, due - time.monotonic()))

    def close(self) -> None:
        """Free all sockets."""
        while self._connections:
            self._connections.popitem()[1].close()

    async def _polled(self, target: Target, gate: asyncio.Semaphore) -> Poll:
        async with gate:
            started = time.monotonic()
            poll = await self._attempt(target)
            poll.duration_s = time.monotonic() - started
        if self._done:
            self._done(poll)
        return poll

    async def _attempt(self, target: Target) -> Poll:
        deadline_s = self._config.collect.deadline_s or self._config.collect.interval_s
        started = time.monotonic()
        key = (target.site, target.device)
        try:
            if key not in self._connections:
                self._connections[key] = await connect(target)
            return await poll_device(self._connections[key], target, self._known, deadline_s=deadline_s)
        except TimeoutError:
            error = f"not done within {deadline_s:g} s ({target.address}:{target.port})"
        except IngestError as failure:
            error = str(failure)
        except Exception as surprise:  # noqa: BLE001 - one device's nonsense must not cost the others' rows
            error = f"unexpected answer: {type(surprise).__name__}: {surprise}"
        answered = key in self._connections and self._connections[key].answered
        if key in self._connections:  # a fresh session finds a restarted agent; an old one may not
            self._connections.pop(key).close()
        return Poll(target, error=_told(error, target, time.monotonic() - started, answered=answered))

    async def _write(self, polls: list[Poll]) -> None:
        for table, name in ((LANE_SAMPLES, "lanes"), (PORT_SAMPLES, "ports"), (MODULES, "modules")):
            rows = [row for poll in polls for row in getattr(poll, name)]
            if rows:
                await asyncio.to_thread(self._sink.append, table, to_arrow(table, rows))
        self._known.accept(row for poll in polls for row in poll.modules)


async def _cancel_on(stop: asyncio.Event, tasks: list[asyncio.Task[Poll]]) -> None:
    await stop.wait()
    for task in tasks:
        task.cancel()


def _told(error: str, target: Target, seconds: float, *, answered: bool) -> str:
    """The reason as an operator needs it: silence has several, and agents do not tell them apart."""
    if error.startswith("no answer") and not answered:
        return (
            f"no answer within {max(1, round(seconds))} s from {target.address}:{target.port} "
            "(wrong address, or wrong community: agents do not answer those)"
        )
    return error
