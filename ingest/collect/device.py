"""Polling one device: discovered once, then read by its map, and discovered again when anything moved."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pyarrow as pa

from ingest.collect.installed import Absences, Installations
from ingest.collect.poll import Poll, Refused
from ingest.config import Target
from ingest.decode.devicemap import DeviceMap, Snapshot
from ingest.decode.discover import Decoded, Plan, columns_to_walk, discover
from ingest.decode.flaps import LAST_CHANGE, STATE_CHANGES, Flaps
from ingest.decode.history import Glitches, History
from ingest.decode.interfaces import text_of
from ingest.decode.lldp import Lldp, walk_lldp
from ingest.decode.profile import Profile, load_profile, profiles_for
from ingest.decode.quality import across
from ingest.decode.samples import Bits, Origin, lane_rows, port_rows
from ingest.decode.slots import COUNTERS, QUANTITIES
from ingest.errors import ConfigError, TransportError
from ingest.schema import Quality
from ingest.snmp.transport import Cell, Column, Transport

__all__ = ["SYS_UP_TIME", "Device"]

SYS_OBJECT_ID: Final = "1.3.6.1.2.1.1.2"
SYS_UP_TIME: Final = "1.3.6.1.2.1.1.3.0"
_LAST_CHANGES: Final = ("1.3.6.1.2.1.47.1.4.1.0", "1.3.6.1.2.1.31.1.5.0")  # entLastChangeTime, ifTableLastChange

_DISCOVER_EVERY_S: Final = 3600.0
"""Limits and neighbours are read by discovery alone, so it comes round; nothing else needs it to."""
_DISCOVER_AGAIN_S: Final = 300.0
"""Soonest after which rows that come and go are worth another discovery; a swap and a reboot are at once."""
_LOOK_AGAIN_S: Final = 600.0
"""While a cage that had a module is found empty, discoveries come so often."""
_LINK_FLAPS: Final = COUNTERS.index("link_flaps")
_CUT_SHORT_POLLS: Final = 3
"""So many polls in a row a table may lack rows whose modules still answer; then that is how the device is."""


class _Walks:
    """Columns of one poll, each walked once, whoever asks."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.cells: dict[str, Column] = {}

    async def get(self, columns: Iterable[str], expect: Mapping[str, Column] | None = None) -> None:
        for column in columns:
            if column not in self.cells:
                rows = len(expect.get(column, ())) if expect else 0
                self.cells[column] = await self._transport.walk(column, rows)


@dataclass
class _Read:
    """Cells of one poll and the map to read them by."""

    device: DeviceMap
    cells: Mapping[str, Column]
    lost: str | None = None  # why the poll is partial
    passing: bool = False  # the map is good for this poll only
    lldp: Lldp | None = None
    gone: list[tuple[str, datetime]] = field(default_factory=list)  # modules that were taken out, and when


class Device:
    """One target, and what must be remembered of it from poll to poll."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._map: DeviceMap | None = None
        self._history: History | None = None
        self._flaps = Flaps()
        self._absences = Absences()
        self._told: dict[str, Cell] = {}
        self._mapped_at = -_DISCOVER_EVERY_S
        self._cut_short = 0

    async def poll(
        self, transport: Transport, known: Installations, *, deadline_s: float = 60.0, doubts: int = 0
    ) -> Poll:
        """Ask the device for its readings.

        A device that stops answering after its readings are in gives a partial poll: its rows stand, marked, and no
        installation follows from what is missing.

        Args:
            transport: to ask by.
            known: installations as they stand.
            deadline_s: for all of it.
            doubts: bits of `Quality` that hold for everything of this poll.

        Raises:
            TransportError: the device did not answer, or not in a way that can be used.
            TimeoutError: the deadline passed before the readings were in.
            ConfigError: a profile that does not exist.
        """
        until = asyncio.get_running_loop().time() + deadline_s
        before = self._map
        read = await self._again(transport, until) if before else None
        if read is None:
            read = await self._discovered(transport, until)
        if read.lost:
            doubts |= Quality.PARTIAL_POLL
        poll = self._made(read, known, doubts)
        poll.discovered = self._map is not before
        poll.varbinds = sum(map(len, read.cells.values()))
        return poll

    def forget(self) -> None:
        """Discover at the next poll."""
        self._map = None

    def _made(self, read: _Read, known: Installations, doubts: int) -> Poll:
        device, now = read.device, datetime.now(UTC)
        snapshot = device.read(read.cells)
        if read.passing:
            history = History(device)
        else:
            if self._history is None or self._map is not device:
                self._map, self._history = device, History(device)
            history = self._history
            self._count_flaps(read, snapshot)
        bits, glitches = history.take(snapshot, now)
        origin = Origin(self.target.site, self.target.device, now, now, quality=doubts)
        decoded = Decoded(device, snapshot)
        lanes = [lane_rows(device, snapshot, origin, bits[device.rows.port])]
        ports = [port_rows(device, snapshot, origin, bits)]
        if glitches:
            again = _glitch_rows(device, glitches, origin)
            lanes.append(again[0])
            ports.append(again[1])
        alive = int(snapshot.alive.sum())
        return Poll(
            self.target,
            profile=device.profile,
            lanes=pa.concat_tables(lanes),
            ports=pa.concat_tables(ports),
            modules=known.changes(decoded, origin) + known.removed(read.gone, origin),
            partial=read.lost is not None,
            error=read.lost,
            coverage=_with_readings(device, snapshot) / alive if alive else None,
            refused=[_refused(device, snapshot, *at) for at in history.refused(snapshot)],
            decoded=decoded,
            lldp=read.lldp,
        )

    def _count_flaps(self, read: _Read, snapshot: Snapshot) -> None:
        """Where the device does not count its links' flaps we do, into the snapshot."""
        device, cells = read.device, read.cells
        changes = device.of_ports(cells, LAST_CHANGE), device.of_ports(cells, STATE_CHANGES)
        up_time = self._told.get(SYS_UP_TIME)
        ours = self._flaps.update(
            device.ports,
            changes[0],
            snapshot.up,
            snapshot.admin,
            changes=changes[1],
            up_time=up_time if isinstance(up_time, int) else None,
        )
        theirs = snapshot.counters[:, _LINK_FLAPS]
        theirs[theirs < 0] = ours[theirs < 0]

    async def _again(self, transport: Transport, until: float) -> _Read | None:
        """The cells that the map names; None where the device has to be discovered again."""
        assert self._map is not None  # noqa: S101 - the caller has looked
        device, walks = self._map, _Walks(transport)
        age_s = asyncio.get_running_loop().time() - self._mapped_at
        if age_s >= _DISCOVER_EVERY_S:
            return None
        async with asyncio.timeout_at(until):
            told = await self._ask(transport, device)
            if self._restarted_or_swapped(told):
                return None
            await walks.get(device.columns, device.cells)
        if device.rescaled(walks.cells):
            return None
        changed = device.changed(walks.cells)
        says_so = any(told.get(oid) != self._told[oid] for oid in _LAST_CHANGES if oid in self._told)
        if (changed or says_so) and age_s >= _DISCOVER_AGAIN_S:
            return None
        self._told = told | {oid: cell for oid, cell in self._told.items() if oid in _LAST_CHANGES}
        return _Read(device, walks.cells, _lacking(device, walks.cells) if changed else None)

    async def _ask(self, transport: Transport, device: DeviceMap) -> dict[str, Cell]:
        """Serial numbers, and when the device last changed or started."""
        known = [oid for oid in (SYS_UP_TIME, *_LAST_CHANGES) if not self._told or oid in self._told]
        return await transport.get([*known, *device.serials.values()])

    def _restarted_or_swapped(self, told: Mapping[str, Cell]) -> bool:
        up, before = told.get(SYS_UP_TIME), self._told.get(SYS_UP_TIME)
        if isinstance(up, int) and isinstance(before, int) and up < before:
            return True
        serials = (oid for oid in self._told if oid not in {SYS_UP_TIME, *_LAST_CHANGES})
        return any(told.get(oid) != self._told[oid] for oid in serials)

    async def _discovered(self, transport: Transport, until: float) -> _Read:
        walks, before = _Walks(transport), self._map
        async with asyncio.timeout_at(until):
            profile, plan, device = await _profile_of(walks, self.target.snmp.profile if self.target.snmp else None)
        try:
            async with asyncio.timeout_at(until):
                await walks.get(plan.extra)
                device = discover(walks.cells, profile)
                told = await self._ask(transport, device)
                lldp = Lldp.of(await walk_lldp(transport.walk), device.interfaces)
        except (TransportError, TimeoutError) as error:
            self._map = None
            return _Read(device, walks.cells, f"partial: {str(error) or 'not done within its deadline'}", passing=True)
        cut = _missing(before, device, told) if before else []
        if cut and self._cut_short < _CUT_SHORT_POLLS:
            self._cut_short += 1
            lost = f"partial: rows of {cut[0]} and {len(cut) - 1} more are missing, whose modules still answer"
            return _Read(device, walks.cells, lost, passing=True)
        gone = self._absences.gone(before.serials if before else (), device.serials, datetime.now(UTC))
        self._cut_short, self._told, self._mapped_at = 0, told, asyncio.get_running_loop().time()
        if self._absences:
            self._mapped_at -= _DISCOVER_EVERY_S - _LOOK_AGAIN_S
        return _Read(device, walks.cells, lldp=lldp, gone=gone)


async def _profile_of(walks: _Walks, name: str | None) -> tuple[Profile, Plan, DeviceMap]:
    """The first profile that gives readings, its needed columns walked; the first, where none does."""
    first: tuple[Profile, Plan, DeviceMap] | None = None
    if name is None:
        await walks.get([SYS_OBJECT_ID])
        candidates = profiles_for(text_of(walks.cells[SYS_OBJECT_ID].get("0")).strip("."))
    else:
        candidates = [load_profile(name)]
    for profile in candidates:
        plan = columns_to_walk(profile)
        await walks.get(plan.needed)
        device = discover(walks.cells, profile)
        if device.read(walks.cells).given.any():
            return profile, plan, device
        first = first or (profile, plan, device)
    if first is None:
        msg = "no profile to try"
        raise ConfigError(msg)
    return first


def _lacking(device: DeviceMap, cells: Mapping[str, Column]) -> str | None:
    """Why the poll is partial: known rows that did not come."""
    for oid in device.columns:
        lacking = device.cells[oid].keys() - cells.get(oid, {}).keys()
        if lacking:
            return f"partial: {len(lacking)} of {len(device.cells[oid])} rows below {oid} did not come"
    return None


def _missing(before: DeviceMap, after: DeviceMap, told: Mapping[str, Cell]) -> list[str]:
    """Ports that had slots and have none, though the same module still sits in them."""
    have = {slot.interface for slot in after.slots if slot.quantity in QUANTITIES}
    had = {slot.interface for slot in before.slots if slot.quantity in QUANTITIES}
    return sorted(
        name
        for name in had - have
        if name in before.serials and text_of(told.get(before.serials[name])) == before.inventory[name].serial
    )


def _with_readings(device: DeviceMap, snapshot: Snapshot) -> int:
    return int(device.rows.any(across(~np.isnan(snapshot.values))).sum())


def _refused(device: DeviceMap, snapshot: Snapshot, row: int, column: int) -> Refused:
    port, lane = device.ports[device.rows.port[row]], int(device.rows.lane[row])
    return Refused(port, lane, QUANTITIES[column], float(snapshot.raw[row, column]))


def _glitch_rows(device: DeviceMap, glitches: Glitches, origin: Origin) -> tuple[pa.Table, pa.Table]:
    """The glitches' rows once more, marked: of equal keys the one received last counts."""
    judged = Origin(origin.site, origin.device, glitches.time, origin.time, quality=Quality.GLITCH)
    none: Bits = np.zeros(len(device.rows.port), np.int16)
    lanes = lane_rows(device, glitches.snapshot, judged, none, glitches.rows)
    return lanes, port_rows(device, glitches.snapshot, judged, none[: device.rows.ports], glitches.ports)
