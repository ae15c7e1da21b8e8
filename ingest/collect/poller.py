"""Sweeps over all targets: bounded concurrency, jittered starts, dead devices left alone, one commit a table."""

import asyncio
import contextlib
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import pyarrow as pa

from ingest.collect.device import SYS_UP_TIME, Device
from ingest.collect.installed import Installations
from ingest.collect.links import Links
from ingest.collect.patience import Patience
from ingest.collect.poll import Poll
from ingest.config import Config, Target
from ingest.errors import IngestError, TransportError
from ingest.gnmi.target import GnmiDevice
from ingest.replacements import seen
from ingest.schema import LANE_SAMPLES, LINKS, MODULES, PORT_EVENTS, PORT_SAMPLES, REPLACEMENTS, Quality, Table
from ingest.snmp.connect import Connection, connect
from ingest.syslog.downs import Downs
from ingest.syslog.events import SyslogEvents

__all__ = ["Poll", "Poller", "Sink", "Sweep"]

_SPREAD: Final = 0.5
"""Starts of one sweep are spread over this part of the interval, each device always at the same place."""
_CLOCK_STEP_S: Final = 5.0
"""Our own clock moved by more than this against its running time: the times of this sweep are in doubt (row 45)."""


class Sink(Protocol):
    """Where rows go; `ingest.lake.Lake` is one."""

    def append(self, table: Table, rows: pa.Table) -> object:
        """Keep rows of a canonical table."""
        ...


@dataclass(frozen=True)
class Sweep:
    """All polls of one round, in the configuration's order.

    Attributes:
        polls: of the devices that were asked.
        notes: what an operator should know once, such as two devices with one SNMPv3 engine ID.
        waiting: devices that were left alone, having failed before, and in how many seconds they are asked again.
        duration_s: from the first start to the last row written.
        overrun_s: by how much it took longer than the interval; 0 where it did not.
    """

    polls: list[Poll]
    duration_s: float
    waiting: list[tuple[Target, float]] = field(default_factory=list)
    overrun_s: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[Poll]:
        """Those that gave nothing."""
        return [poll for poll in self.polls if poll.failed]


class Poller:
    """Sweeps over the targets of a configuration and writes what they say.

    Args:
        config: targets and intervals.
        sink: gets at most one append a table and sweep.
        known: installations as they stand, from the lake.
        links: as they stand, from the lake; where not given, neighbours make none.
        syslog: what is heard between two sweeps.
        done: called after each device, for progress.
    """

    def __init__(
        self,
        config: Config,
        sink: Sink,
        known: Installations | None = None,
        done: Callable[[Poll], None] | None = None,
        *,
        links: Links | None = None,
        syslog: SyslogEvents | None = None,
    ) -> None:
        self._config = config
        self._sink = sink
        self._known = known or Installations()
        self._links = links
        self._syslog = syslog
        self._downs = Downs()
        self._done = done
        self._noted: set[str] = set()
        self._connections: dict[tuple[str, str], Connection] = {}
        self._devices = {_key(target): Device(target) for target in config.target if target.protocol == "snmp"}
        self._streams = {
            _key(t): GnmiDevice(t, config.collect.interval_s) for t in config.target if t.protocol == "gnmi"
        }
        self._streaming = False
        self._patience = {_key(target): Patience() for target in config.target}
        self._clock_offset_s = time.time() - time.monotonic()

    async def sweep(self, stop: asyncio.Event | None = None, *, spread_s: float = 0.0) -> Sweep:
        """Ask every device once, then write. On `stop`, what is finished is written and the rest left.

        Args:
            stop: ends the sweep early.
            spread_s: starts are spread over this time.
        """
        started = time.monotonic()
        gate = asyncio.Semaphore(self._config.collect.concurrency)
        doubts = self._clock()
        wait_s = {_key(target): self._patience[_key(target)].until - started for target in self._config.target}
        due = [target for target in self._config.target if wait_s[_key(target)] <= 0]
        tasks = [asyncio.create_task(self._polled(t, gate, doubts, spread_s)) for t in due]
        watch = asyncio.create_task(_cancel_on(stop or asyncio.Event(), tasks))
        await asyncio.gather(*tasks, return_exceptions=True)
        watch.cancel()
        polls = [task.result() for task in tasks if not task.cancelled()]
        await self._write(polls)
        waiting = [(t, wait_s[_key(t)]) for t in self._config.target if wait_s[_key(t)] > 0]
        took_s = time.monotonic() - started
        overrun_s = max(0.0, took_s - self._config.collect.interval_s)
        return Sweep(polls, took_s, waiting, overrun_s, self._notes(polls))

    async def run(self, stop: asyncio.Event, report: Callable[[Sweep | IngestError], None]) -> None:
        """Sweep at every interval until `stop`, and listen to streams meanwhile; an overrun skips what it covers."""
        self._streaming = True
        for stream in self._streams.values():
            stream.listen()
        interval_s = self._config.collect.interval_s
        due = time.monotonic()
        while not stop.is_set():
            try:
                report(await self.sweep(stop, spread_s=_SPREAD * interval_s))
            except IngestError as error:
                report(error)
            due += interval_s * max(1, -(-(time.monotonic() - due) // interval_s))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), max(0.0, due - time.monotonic()))
        if self._streams or self._syslog:
            polls = [stream.empty(self._known, last=True) for stream in self._streams.values()]
            await self._write(polls)
            report(Sweep(polls, 0.0))

    def close(self) -> None:
        """Free all sockets."""
        for stream in self._streams.values():
            stream.close()
        while self._connections:
            self._connections.popitem()[1].close()

    def _clock(self) -> int:
        """Whether our clock was set since the last sweep."""
        offset_s = time.time() - time.monotonic()
        moved_s, self._clock_offset_s = abs(offset_s - self._clock_offset_s), offset_s
        return int(Quality.CLOCK_SKEW) if moved_s > _CLOCK_STEP_S else 0

    async def _polled(self, target: Target, gate: asyncio.Semaphore, doubts: int, spread_s: float) -> Poll:
        offset_s = spread_s * _place(target)
        await asyncio.sleep(offset_s)
        async with gate:
            started = time.monotonic()
            left_s = self._config.collect.interval_s - offset_s  # so that the sweep ends with its interval
            poll = await self._attempt(target, doubts, self._config.collect.deadline_s or left_s)
            poll.duration_s = time.monotonic() - started
        patience = self._patience[_key(target)]
        if poll.failed and target.protocol == "snmp":  # a stream has its own patience
            patience.failed(time.monotonic(), self._config.collect.interval_s)
        else:
            patience.answered()
        if self._done:
            self._done(poll)
        return poll

    async def _attempt(self, target: Target, doubts: int, deadline_s: float) -> Poll:
        started = time.monotonic()
        key = _key(target)
        try:
            if key in self._streams:
                return await self._streams[key].poll(
                    self._known, deadline_s=deadline_s, doubts=doubts, stream=self._streaming
                )
            if key not in self._connections:
                self._connections[key] = await connect(target)
            connection = self._connections[key]
            if self._patience[key].failures:
                await _probe(connection, target)
            return await self._devices[key].poll(connection, self._known, deadline_s=deadline_s, doubts=doubts)
        except TimeoutError:
            error = f"not done within {deadline_s:.3g} s ({target.address}:{target.port}); deadline_s can be longer"
        except IngestError as failure:
            error = str(failure)
        except Exception as surprise:  # noqa: BLE001 - one device's nonsense must not cost the others' rows
            error = f"unexpected answer: {type(surprise).__name__}: {surprise}"
            if key in self._devices:
                self._devices[key].forget()
        answered = key in self._streams or (key in self._connections and self._connections[key].answered)
        if key in self._connections:  # a fresh session finds a restarted agent; an old one may not
            self._connections.pop(key).close()
        return Poll(target, error=_told(error, target, time.monotonic() - started, answered=answered))

    async def _write(self, polls: list[Poll]) -> None:
        lanes = [poll.lanes for poll in polls if poll.lane_count]
        ports = [poll.ports for poll in polls if poll.port_count]
        for table, tables in ((LANE_SAMPLES, lanes), (PORT_SAMPLES, ports)):
            if tables:
                await asyncio.to_thread(self._sink.append, table, pa.concat_tables(tables))
        now = datetime.now(UTC)
        modules = [row for poll in polls for row in poll.modules]
        links = await asyncio.to_thread(self._heard, polls, now)
        swaps = [row | {"received_at": now} for row in seen(modules)]
        events = await asyncio.to_thread(self._events, polls, now)
        for table, rows in ((PORT_EVENTS, events), (MODULES, modules), (LINKS, links), (REPLACEMENTS, swaps)):
            if rows:
                await asyncio.to_thread(self._sink.append, table, pa.Table.from_pylist(rows, schema=table.schema))
        self._known.accept(modules)
        if self._links is not None:
            self._links.accept(links)

    def _events(self, polls: list[Poll], at: datetime) -> list[dict[str, Any]]:
        """Rows of `port_events`: what streams and syslog told, downs with what explains them."""
        told = [row for poll in polls for row in poll.events]
        if self._syslog is not None:
            told += self._syslog.take()
        return self._downs.take(told, self._links.peers() if self._links is not None and told else {}, at)

    def _heard(self, polls: list[Poll], at: datetime) -> list[dict[str, Any]]:
        """Rows of `links` from what devices heard in this sweep."""
        if self._links is None:
            return []
        for poll in polls:
            if poll.lldp is not None and poll.decoded is not None:
                device = poll.decoded.map
                where = poll.target.site, poll.target.device
                self._links.report(*where, poll.lldp, device.interfaces, cages=set(device.ports))
        return self._links.changes(at)

    def _notes(self, polls: list[Poll]) -> list[str]:
        """What is new to be said of the whole: each once."""
        engines: dict[bytes, list[str]] = {}
        for (_, device), connection in self._connections.items():
            engine = connection.engine_id()
            if engine:
                engines.setdefault(engine, []).append(device)
        notes = [
            f"{', '.join(sorted(devices))} have the same SNMPv3 engine ID {engine.hex()}: managers that keep one clock "
            "for each engine refuse either; give each its own"
            for engine, devices in engines.items()
            if len(devices) > 1
        ]
        notes += [*(self._links.doubts if self._links else ()), *(note for poll in polls for note in poll.notes)]
        notes += self._syslog.notes if self._syslog else []
        news = [note for note in notes if note not in self._noted]
        self._noted.update(news)
        return news


def _key(target: Target) -> tuple[str, str]:
    return target.site, target.device


def _place(target: Target) -> float:
    """Where in a sweep a device starts, from 0 to 1: anywhere, but always there."""
    return zlib.crc32(f"{target.site}/{target.device}".encode()) / 2**32


async def _probe(connection: Connection, target: Target) -> None:
    """One question to a device that was silent, so that it costs no more than that."""
    timeout_s = target.snmp.timeout_s if target.snmp else 3.0
    try:
        async with asyncio.timeout(timeout_s):
            await connection.get([SYS_UP_TIME])
    except TimeoutError:
        msg = f"no answer from {target.address}:{target.port}"
        raise TransportError(msg) from None


async def _cancel_on(stop: asyncio.Event, tasks: list[asyncio.Task[Poll]]) -> None:
    await stop.wait()
    for task in tasks:
        task.cancel()


def _told(error: str, target: Target, seconds: float, *, answered: bool) -> str:
    """The reason as an operator needs it: silence has several, and agents do not tell them apart."""
    if error.startswith("no answer") and not answered:
        by_user = target.snmp is not None and target.snmp.user is not None
        why = "no SNMPv3 there" if by_user else "wrong community: agents do not answer those"
        return (
            f"no answer within {max(1, round(seconds))} s from {target.address}:{target.port} (wrong address, or {why})"
        )
    return error
