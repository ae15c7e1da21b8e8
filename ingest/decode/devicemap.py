"""What discovery found of one device, and how a poll's cells become arrays by it.

Nothing here looks at a text twice: discovery turned names, units and places into slots, and a poll reads numbers.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.decode.columns import NOT_TOLD, Source
from ingest.decode.entity import Inventory
from ingest.decode.flaps import LAST_CHANGE, STATE_CHANGES
from ingest.decode.interfaces import ADMIN_STATUS, DOWN, OPER_STATUS, UP, Interfaces
from ingest.decode.quality import Flags, Floats, Rows, across, judge
from ingest.decode.sensors import MAX_RAW, NO_RAW
from ingest.decode.slots import COUNTERS, QUANTITIES, Slot
from ingest.decode.tables import SENTINELS
from ingest.schema import Quality
from ingest.snmp.transport import Column

__all__ = ["DeviceMap", "Snapshot", "Told"]


@dataclass(frozen=True, eq=False)
class Told:
    """What a device that streams says besides; one that is polled says nothing of it.

    Attributes:
        row_times, port_times: when each was taken, UTC in microseconds.
        row_doubts, port_doubts: bits of `Quality`.
        flags: rx_los, tx_fault, cdr_lol by port: 1 up, 0 down, -1 unknown.
        bins: FEC's codeword error bins by port, -1 where there is none.
        beside: ports without a module of their own that are in use: a breakout's, beside the cage's first.
    """

    row_times: npt.NDArray[np.datetime64]
    port_times: npt.NDArray[np.datetime64]
    row_doubts: npt.NDArray[np.int16]
    port_doubts: npt.NDArray[np.int16]
    flags: npt.NDArray[np.int8]
    bins: npt.NDArray[np.int64]
    beside: Flags


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One poll of a device: its readings, judged.

    Attributes:
        values: shape (rows, quantities), NaN where there is none.
        given: the device gave a number, whether it could be believed or not.
        raw: the numbers as they came, where `given`.
        counters: shape (ports, counters), -1 where there is none.
        up, admin: by port 1 up, 0 down, -1 unknown.
        alive: ports that say something: a value, or a serial number.
        told: what only streams say.
    """

    values: Floats
    given: Flags
    raw: Floats
    counters: npt.NDArray[np.int64]
    up: npt.NDArray[np.int8]
    admin: npt.NDArray[np.int8]
    alive: Flags
    told: Told | None = None


@dataclass(frozen=True, eq=False)
class DeviceMap:
    """Ports, slots and what is known of the modules of one device.

    Attributes:
        profile: name of the vendor file.
        ports: names, sorted.
        if_index: of each port.
        slots: of readings and counters.
        cells: the columns as discovery saw them.
        inventory: by port.
        interfaces: of the whole device.
        limits: columns of `modules` such as `rx_power_low_alarm_dbm`, by port.
        implausible: ports whose limits contradict each other.
        serials: OID of each port's serial number.
        guards: columns that must stay as they were: a sensor's scale, where a vendor changes it with the value.
        uncalibrated: ports whose module says that its readings need constants that it does not tell.
    """

    profile: str
    ports: tuple[str, ...]
    if_index: tuple[int, ...]
    slots: tuple[Slot, ...]
    cells: Mapping[str, Column]
    inventory: Mapping[str, Inventory] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    implausible: frozenset[str] = frozenset()
    serials: Mapping[str, str] = field(default_factory=dict)
    interfaces: Interfaces = field(default_factory=Interfaces)
    guards: tuple[str, ...] = ()
    uncalibrated: frozenset[str] = frozenset()

    @cached_property
    def rows(self) -> Rows:
        """Ports and lanes of the grid; each port has at least its lane 0."""
        keys = sorted(self._row_numbers, key=self._row_numbers.__getitem__)
        return Rows.of([port for port, _ in keys], [lane for _, lane in keys])

    @cached_property
    def _row_numbers(self) -> dict[tuple[int, int], int]:
        number_of = {name: i for i, name in enumerate(self.ports)}
        keys = {(i, 0) for i in range(len(self.ports))}
        keys |= {(number_of[s.interface], s.lane) for s in self.slots if s.quantity in QUANTITIES}
        return {key: row for row, key in enumerate(sorted(keys))}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """What a poll walks."""
        status = [s.status for s in self.slots if s.status and self.cells.get(s.status)]
        values = [s.column for s in self.slots]
        changes = [oid for oid in (LAST_CHANGE, STATE_CHANGES) if self.cells.get(oid) and not self._counts_flaps]
        return tuple(dict.fromkeys([*values, *status, *self.guards, OPER_STATUS, ADMIN_STATUS, *changes]))

    @cached_property
    def _counts_flaps(self) -> bool:
        return any(s.quantity == "link_flaps" for s in self.slots)

    @cached_property
    def port_names(self) -> pa.Array:
        """Names of the ports."""
        return pa.array(self.ports, pa.string())

    @cached_property
    def port_serials(self) -> pa.Array:
        """Serial number of each port's module, null where it is not told."""
        modules = (self.inventory.get(name) for name in self.ports)
        return pa.array([None if module is None else module.serial for module in modules], pa.string())

    @cached_property
    def doubts(self) -> npt.NDArray[np.int16]:
        """By port what is to be doubted of its module at every poll: bits of `Quality`."""
        bad = np.array([name in self.implausible for name in self.ports], np.bool_)
        raw = np.array([name in self.uncalibrated for name in self.ports], np.bool_)
        return (bad * int(Quality.LIMITS_IMPLAUSIBLE) | raw * int(Quality.UNCALIBRATED)).astype(np.int16)

    def changed(self, cells: Mapping[str, Column]) -> bool:
        """Whether a column has other rows than discovery saw."""
        return any(list(cells.get(oid, ())) != source.values.indices for oid, source in self._sources.items())

    def rescaled(self, cells: Mapping[str, Column]) -> bool:
        """Whether numbers may mean something else than discovery saw."""
        return any(cells.get(guard) != self.cells.get(guard) for guard in self.guards)

    def read(self, cells: Mapping[str, Column]) -> Snapshot:
        """The arrays of one poll; a column or cell that is not there is no reading."""
        raw, value = self._numbers(cells)
        shape = (len(self.rows.port), len(QUANTITIES))
        values, raws = np.full(shape, np.nan), np.full(shape, np.nan)
        first, doubles, target = self._targets
        for one, other in doubles:  # which is which cannot be known, so neither, unless they say the same
            if value[one] != value[other]:
                value[one] = raw[one] = np.nan
        values.flat[target], raws.flat[target] = value[first], raw[first]
        up, admin = self._states(cells, OPER_STATUS), self._states(cells, ADMIN_STATUS)
        values, echoes = judge(values, (raws == 0) & ~np.isnan(values), self.rows, up)
        return Snapshot(
            values=values,
            given=~np.isnan(raws) & ~echoes,
            raw=raws,
            counters=self._counted(cells),
            up=up,
            admin=admin,
            alive=self.rows.any(across(~np.isnan(values))) | self.has_serial,
        )

    @cached_property
    def has_serial(self) -> Flags:
        """By port whether its module's serial number is known."""
        known = (self.inventory.get(name) for name in self.ports)
        return np.array([module is not None and module.serial is not None for module in known], np.bool_)

    @cached_property
    def _readings(self) -> tuple[list[Slot], dict[str, Source]]:
        return self._grouped(s for s in self.slots if s.quantity in QUANTITIES)

    @cached_property
    def _counters(self) -> tuple[list[Slot], dict[str, Source]]:
        return self._grouped(s for s in self.slots if s.quantity in COUNTERS)

    @cached_property
    def _sources(self) -> dict[str, Source]:
        return self._readings[1] | self._counters[1]

    def _grouped(self, slots: Iterable[Slot]) -> tuple[list[Slot], dict[str, Source]]:
        """Slots column by column, and the columns."""
        by_column: dict[str, list[Slot]] = {}
        for slot in slots:
            by_column.setdefault(slot.column, []).append(slot)
        ordered = [slot for same in by_column.values() for slot in same]
        return ordered, {oid: Source(self.cells, same) for oid, same in by_column.items()}

    @cached_property
    def _targets(self) -> tuple[npt.NDArray[np.int64], list[tuple[int, int]], npt.NDArray[np.int64]]:
        """Slots that fill a cell of the grid, pairs that would fill the same, and the cells (flat)."""
        number_of = {name: i for i, name in enumerate(self.ports)}
        taken: dict[int, int] = {}
        doubles = []
        for i, slot in enumerate(self._readings[0]):
            row = self._row_numbers[number_of[slot.interface], slot.lane]
            cell = row * len(QUANTITIES) + QUANTITIES.index(slot.quantity)
            if taken.setdefault(cell, i) != i:
                doubles.append((taken[cell], i))
        return np.array(list(taken.values()), np.int64), doubles, np.array(list(taken), np.int64)

    @cached_property
    def _scaling(self) -> tuple[Floats, Floats, Flags, Flags]:
        slots = self._readings[0]
        return (
            np.array([s.multiplier for s in slots]),
            np.array([s.divisor for s in slots]),
            np.array([s.watts for s in slots], np.bool_),
            np.array([s.kind == "sensor" for s in slots], np.bool_),
        )

    @cached_property
    def _words(self) -> list[tuple[npt.NDArray[np.int64], Floats, float]]:
        """Raw numbers that stand for something: slots, the number, and what it means."""
        meant = [
            (math.nan, [s.absent for s in self._readings[0]]),
            (-math.inf, [s.no_light for s in self._readings[0]]),
        ]
        return [
            (
                np.array([i for i, of in enumerate(raws) for _ in of], np.int64),
                np.array([r for of in raws for r in of]),
                word,
            )
            for word, raws in meant
        ]

    def _numbers(self, cells: Mapping[str, Column]) -> tuple[Floats, Floats]:
        """Raw number and value of each slot, in the slots' order."""
        sources = self._readings[1].items()
        if not sources:
            return np.empty(0), np.empty(0)
        raw = np.concatenate([source.numbers(cells.get(oid, {})) for oid, source in sources])
        ok = np.concatenate([source.ok(cells) for _, source in sources])
        multiplier, divisor, watts, sensor = self._scaling
        none = np.where(sensor, (np.abs(raw) >= MAX_RAW) | np.isin(raw, NO_RAW), np.isin(raw, SENTINELS)) | ~ok
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(multiplier == 1.0, raw / divisor, raw * multiplier)
            value = np.where(watts, 10.0 * np.log10(value), value)  # of 0 -inf, of less NaN
        for at, number_of, word in self._words:
            value[at[raw[at] == number_of]] = word
        value[none] = np.nan
        return raw, value

    @cached_property
    def _counter_cells(self) -> dict[str, tuple[list[int], list[int]]]:
        """Ports and kinds of each column's counters."""
        number_of = {name: i for i, name in enumerate(self.ports)}
        return {
            oid: ([number_of[s.interface] for s in source.slots], [COUNTERS.index(s.quantity) for s in source.slots])
            for oid, source in self._counters[1].items()
        }

    def _counted(self, cells: Mapping[str, Column]) -> npt.NDArray[np.int64]:
        found = np.full((len(self.ports), len(COUNTERS)), NOT_TOLD, np.int64)
        for oid, source in self._counters[1].items():
            found[self._counter_cells[oid]] = source.integers(cells.get(oid, {}))
        return found

    def of_ports(self, cells: Mapping[str, Column], oid: str) -> npt.NDArray[np.int64]:
        """A column of the interface table by port, -1 where there is nothing."""
        column = cells.get(oid, {})
        found = (column.get(index) for index in self._if_rows)
        return np.array([c if isinstance(c, int) else NOT_TOLD for c in found], np.int64)

    @cached_property
    def _if_rows(self) -> list[str]:
        return list(map(str, self.if_index))

    def _states(self, cells: Mapping[str, Column], oid: str) -> npt.NDArray[np.int8]:
        told = self.of_ports(cells, oid)
        return np.where(told == UP, 1, np.where(np.isin(told, DOWN), 0, NOT_TOLD)).astype(np.int8)
