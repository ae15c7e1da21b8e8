"""One device over gNMI, as the poller sees it: asked once, or streamed and emptied at every sweep."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pygnmi.spec.v080.gnmi_pb2 import Notification

from ingest.collect.installed import Absences, Installations
from ingest.collect.poll import Gap, Poll
from ingest.config import Target
from ingest.decode.devicemap import DeviceMap
from ingest.decode.discover import Decoded
from ingest.decode.lldp import Lldp
from ingest.decode.samples import Origin
from ingest.errors import IngestError
from ingest.gnmi.events import Events
from ingest.gnmi.family import Family
from ingest.gnmi.layout import Layout
from ingest.gnmi.lldp import lldp_of
from ingest.gnmi.mirror import Mirror, Round
from ingest.gnmi.places import Facts
from ingest.gnmi.rows import Rows, moment
from ingest.gnmi.stream import Subscriber
from ingest.schema import Quality

__all__ = ["GnmiDevice"]

_SETTLED_NS: Final = 2_000_000_000
"""A sweep takes a round that has been quiet for so long; a device sends the samples of an interval together."""
_SWAPS: Final = 64  # between two sweeps
_ROOM: Final = 500_000
"""Rows of one device between two sweeps: some 50 MB. Then the stream waits, and the device's own queue grows."""


class GnmiDevice:
    """One target, and what must be remembered of it from sweep to sweep.

    Args:
        target: the device.
        interval_s: of the sweeps.
        now: our clock, in nanoseconds.
    """

    def __init__(self, target: Target, interval_s: float, now: Callable[[], int] = time.time_ns) -> None:
        self.target, self.now = target, now
        self._subscriber = Subscriber(target, self, interval_s)
        self._task: asyncio.Task[None] | None = None
        self._mirror: Mirror | None = None
        self._rows: Rows | None = None
        self._layout: Layout | None = None
        self._laid = self._known = -1
        self._absences = Absences()
        self._had: set[str] = set()
        self._former: list[tuple[Decoded, datetime]] = []
        self._error: str | None = None
        self._lost: tuple[int, str] | None = None
        self._gaps: list[Gap] = []
        self._heard_at = 0
        self._updates = 0
        self._lldp: Lldp | None = None
        self._settled, self._room = asyncio.Event(), asyncio.Event()
        self._room.set()

    async def poll(self, known: Installations, *, deadline_s: float, doubts: int = 0, stream: bool = True) -> Poll:
        """What the device has told since the last sweep, or all of it once.

        Args:
            known: installations as they stand.
            deadline_s: for its first answer.
            doubts: bits of `Quality` that hold for everything of this sweep.
            stream: go on listening.

        Raises:
            IngestError: nothing has come, and why.
            TimeoutError: the deadline passed.
        """
        if stream:
            self.listen()
        try:
            async with asyncio.timeout(deadline_s):
                await (self._settled.wait() if stream else self._subscriber.once())
        except TimeoutError:
            if self._mirror is None or not stream:
                raise
            self._settled.set()  # it has begun, and not told all: later sweeps do not wait for that
        return self.empty(known, doubts, last=not stream)

    def listen(self) -> None:
        """Stream from now on, until `close`."""
        if self._task is None:
            self._task = asyncio.create_task(self._subscriber.for_ever())

    def empty(self, known: Installations, doubts: int = 0, *, last: bool = False) -> Poll:
        """Take what is there.

        Args:
            known: installations as they stand.
            doubts: bits of `Quality` that hold for all of it.
            last: also a round that may not be whole yet.
        """
        mirror = self._mirror
        if mirror is None or self._rows is None:
            return Poll(self.target, error=self._error or "nothing has come yet")
        if last or self.now() - mirror.quiet_since > _SETTLED_NS:
            mirror.end_round()
        lanes, ports = self._rows.take()
        self._room.set()
        poll = Poll(
            self.target, profile=mirror.family.name, lanes=_doubted(lanes, doubts), ports=_doubted(ports, doubts)
        )
        poll.decoded, poll.lldp = self._rows.decoded, self._lldp_news()
        poll.refused, self._rows.refused = self._rows.refused, []
        poll.events, poll.gaps, self._gaps = self._events.take(), self._gaps, []
        poll.varbinds, self._updates = mirror.updates - self._updates, mirror.updates
        poll.error = self._error
        if poll.error is None and not mirror.synced:
            poll.error = "it has not said yet that it has told all (sync_response)"
        poll.partial = poll.error is not None and bool(poll.lane_count + poll.port_count)
        self._inventory(poll, known, doubts)
        poll.notes = self._notes()
        return poll

    @property
    def heard_of(self) -> tuple[Mirror, Layout | None] | None:
        """What has come so far, and where it belongs; None where nothing has."""
        return None if self._mirror is None else (self._mirror, self._layout)

    def close(self) -> None:
        """Listen no more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def began(self, family: Family) -> None:
        """A subscription begins: see `Listener`."""
        if self._mirror is None or self._mirror.family is not family:
            where = self.target.site, self.target.device
            self._mirror = Mirror(family, self._take)
            self._rows = Rows(*where, self._mirror.clock)
            self._events = Events(*where, self._mirror.clock)
            self._layout, self._laid = None, -1
        self._mirror.begin()

    async def heard(self, message: Notification) -> None:
        """A notification: see `Listener`."""
        assert self._mirror is not None and self._rows is not None  # noqa: S101, PT018 - it has begun
        self._heard_at = self.now()
        self._mirror.take(message, self._heard_at)
        if self._mirror.synced:
            self._tell(missed=False)
        if self._rows.count >= _ROOM:
            self._room.clear()
            await self._room.wait()

    def synced(self) -> None:
        """The device has told all: see `Listener`."""
        assert self._mirror is not None  # noqa: S101 - it has begun
        now = self.now()
        self._mirror.sync(now)
        self._tell(missed=True)
        if self._lost is not None:
            since, why = self._lost
            self._gaps.append(Gap(moment(since), moment(now), why))
        self._lost = self._error = None
        self._settled.set()

    def ended(self, error: IngestError) -> None:
        """The subscription has ended: see `Listener`."""
        if self._mirror is not None:
            self._mirror.end_round()
        if self._lost is None and self._heard_at:
            self._lost = self._heard_at, str(error)
        self._error = str(error)
        self._settled.set()

    def _take(self, one: Round) -> None:
        assert self._mirror is not None and self._rows is not None  # noqa: S101, PT018 - it has begun
        facts = self._facts()
        self._lay_out(facts)
        self._rows.add(one, facts, self._events.flaps)

    def _facts(self) -> Facts:
        assert self._mirror is not None  # noqa: S101 - it has begun
        if self._known != self._mirror.told:
            self._stood, self._known = Facts(self._mirror.standing), self._mirror.told
        return self._stood

    def _lay_out(self, facts: Facts) -> Layout:
        assert self._mirror is not None and self._rows is not None  # noqa: S101, PT018 - it has begun
        if self._layout is None or self._laid != self._mirror.moved:
            before, self._laid = self._layout, self._mirror.moved
            zero = before is not None and before.zero_based
            self._layout = Layout(self._mirror.family, facts, self._mirror.leaves.values(), zero_based=zero)
            self._rows.lay_out(self._layout)
            old = self._rows.decoded
            swapped = old is not None and self._mirror.synced and _serials(old.map) != _serials(self._layout.map)
            if old is not None and swapped and len(self._former) < _SWAPS:
                self._former.append((old, datetime.now(UTC)))
        return self._layout

    def _tell(self, *, missed: bool) -> None:
        """Events of what has changed."""
        assert self._mirror is not None  # noqa: S101 - it has begun
        changes = self._mirror.changes()
        if changes:
            facts = self._facts()
            layout = self._lay_out(facts)
            for change in changes:
                self._events.add(change, layout, facts, missed=missed)

    def _inventory(self, poll: Poll, known: Installations, doubts: int) -> None:
        """Installations that follow: none before the device has told all, and none of what a dead stream lacks."""
        if poll.decoded is None or poll.error is not None:
            return
        now = datetime.now(UTC)
        origin = Origin(
            self.target.site, self.target.device, now, now, source="gnmi", quality=doubts & ~Quality.PARTIAL_POLL
        )
        have = set(poll.decoded.map.serials)
        gone = self._absences.gone(self._had, have, now)
        self._had = have
        for decoded, at in self._former:  # a module that was swapped twice since the last sweep was in between, too
            rows = known.changes(decoded, replace(origin, time=at, received_at=at))
            poll.modules += rows
            known.accept(rows)
        self._former = []
        poll.modules += known.changes(poll.decoded, origin) + known.removed(gone, origin)
        alive = poll.decoded.alive
        lit = {reading.interface for reading in poll.decoded.readings if reading.value is not None}
        poll.coverage = len(lit) / len(alive) if alive else None

    def _notes(self) -> list[str]:
        """What should be looked at; the poller says each once."""
        assert self._mirror is not None  # noqa: S101 - it has begun
        device = self.target.device
        notes = [f"{device}: readings without their keys belong to nobody: {name}" for name in self._mirror.refused]
        unplaced = self._layout.places.unplaced if self._layout is not None else []
        if unplaced and self._mirror.synced:
            notes.append(f"{device}: components with a transceiver at no port: {', '.join(unplaced)}")
        return notes

    def _lldp_news(self) -> Lldp | None:
        if self._mirror is None or not self._mirror.synced or self._layout is None:
            return None
        heard = lldp_of(self._facts(), self._layout.places)
        if heard == self._lldp:
            return None
        self._lldp = heard
        return heard


def _serials(device: DeviceMap) -> dict[str, str | None]:
    return {cage: module.serial for cage, module in device.inventory.items()}


def _doubted(rows: pa.Table, doubts: int) -> pa.Table:
    if not doubts:
        return rows
    at = rows.schema.get_field_index("quality")
    return rows.set_column(at, rows.schema.field(at), pc.bit_wise_or(rows["quality"], pa.scalar(doubts, pa.int16())))
