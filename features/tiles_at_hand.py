"""Hour tiles of readings that are at hand as arrays, by the kernels that make those of the lake."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from features import kernels
from features.counter_kernels import tile_counter
from features.one_lane import lanes_joined
from features.tile_kernels import FOUND, IMPORTED, tile_gauge
from features.tile_maker import SAMPLE_COLUMNS
from features.tile_tables import (
    COUNTER_PARTS,
    COUNTERS,
    LANE_GAUGES,
    LANE_TILES,
    PORT_GAUGES,
    PORT_TILES,
    STATES,
    Gauge,
)
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Quality, Table

__all__ = ["DAY_H", "KINDS", "LANES", "HourTiles", "Laid", "Readings", "hour_tiles", "micros"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]

_HOUR_US: Final = 3_600_000_000
DAY_H: Final = 24
LANES: Final = 256
"""A lane is a number of eight bits."""
_LANE_NAMES: Final = ("rows", *(f"{gauge.name}_{stat}" for gauge in LANE_GAUGES for stat in FOUND))
_PORT_NAMES: Final = (
    *("rows", "last_s", *STATES),
    *(f"{gauge.name}_{stat}" for gauge in PORT_GAUGES for stat in FOUND),
    *(f"{counter}_{part}" for counter in COUNTERS for part in COUNTER_PARTS),
)


def micros(times: Sequence[datetime]) -> Ints:
    """Microseconds since 1970, shape (n,), of times with zones; many at once, for asking each for its offset is slow.

    >>> micros([datetime.fromisoformat("1970-01-01T01:00:00.000001+01:00")])
    array([1])
    """
    return pa.array(times, type=pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Readings:
    """Samples of lanes or of ports, in any order; of those of one lane or port and time the last counts.

    Attributes:
        port: shape (n,), whose they are.
        lane: shape (n,); 0 of ports.
        time_us: shape (n,), microseconds since 1970.
        columns: by the name of a column of ``lane_samples`` or ``port_samples`` shape (n,), NaN where nothing was
            read, flags as 1 and 0, each in the precision of `KINDS`; a column that is missing was never read.
        quality: shape (n,), as `Quality`; None: nothing is marked.
        serial: shape (n,), codes, -1 where none was read; None: none ever was.
    """

    port: Ints
    lane: Ints
    time_us: Ints
    columns: Mapping[str, NDArray[np.floating]]
    quality: NDArray[np.integer] | None = None
    serial: NDArray[np.int32] | None = None

    def take(self, which: NDArray[Any]) -> "Readings":
        """Some of them."""
        quality, serial = (None if x is None else x[which] for x in (self.quality, self.serial))
        columns = {name: values[which] for name, values in self.columns.items()}
        return Readings(self.port[which], self.lane[which], self.time_us[which], columns, quality, serial)

    def column(self, name: str) -> NDArray[np.floating]:
        """NaN where nothing was read."""
        found = self.columns.get(name)
        return np.full(self.port.size, np.nan, np.float32) if found is None else found


@dataclass(frozen=True)
class Laid:
    """Values with the place of each in an array."""

    columns: Columns
    row: Ints
    column: Ints
    shape: tuple[int, int]

    def dense(self, column: str, kind: type[np.floating] = np.float32) -> NDArray[Any]:
        """As `features.dense.Placed.dense`."""
        return kernels.scatter(np.asarray(self.columns[column], kind), self.row, self.column, *self.shape)

    def codes(self, column: str) -> NDArray[np.int32]:
        """As `features.dense.Placed.codes`."""
        found = np.full(self.shape, -1, np.int32)
        if column in self.columns:
            found[self.row, self.column] = self.columns[column]
        return found


@dataclass(frozen=True)
class HourTiles:
    """Hour tiles: whose, of which hour since 1970, and what they say."""

    port: Ints
    lane: Ints
    hour: Ints
    columns: Columns

    def laid(self, row: Ints, since: int, hours: int, rows: int) -> Laid:
        """Those from an hour on, in that many columns; `row` is that of each tile."""
        there = np.flatnonzero(self.hour >= since)
        columns = {name: values[there] for name, values in self.columns.items()}
        return Laid(columns, row[there], self.hour[there] - since, (rows, hours))


def _in_order(read: Readings) -> tuple[Readings, Ints, Ints]:
    """Readings by lane and time, each once; where the tiles of hours begin; and the last one's end."""
    series = read.port * LANES + read.lane
    if not _rise(series, read.time_us).all():
        order = np.lexsort((read.time_us, series))
        order = order[np.append(_rise(series[order], read.time_us[order]), True)]
        read, series = read.take(order), series[order]
    hour = read.time_us // _HOUR_US
    begins = np.flatnonzero(np.append(True, (series[1:] != series[:-1]) | (hour[1:] != hour[:-1])))
    return read, begins, np.append(begins, series.size)


def _rise(series: Ints, time: Ints) -> NDArray[np.bool_]:
    """Of each reading but the last whether the next one is of a later time, or of a later lane."""
    later: NDArray[np.bool_] = (series[1:] > series[:-1]) | ((series[1:] == series[:-1]) & (time[1:] > time[:-1]))
    return later


def hour_tiles(read: Readings, gauges: tuple[Gauge, ...]) -> HourTiles:
    """What `features.tile_maker.tile_day` says of them, as far as features look at it."""
    if read.port.size == 0:
        nobody = np.zeros(0, np.int64)
        names = _PORT_NAMES if gauges is PORT_GAUGES else _LANE_NAMES
        return HourTiles(nobody, nobody, nobody, dict.fromkeys(names, np.zeros(0)))
    if gauges is LANE_GAUGES:
        read = replace(read, lane=lanes_joined(read.port, read.lane, read.time_us // _HOUR_US))
    read, begins, bounds = _in_order(read)
    marked = None if read.quality is None else (read.quality & int(Quality.GLITCH) != 0)
    marks = np.zeros(read.port.size, np.int8) if marked is None else np.where(marked, IMPORTED, 0).astype(np.int8)
    columns: Columns = {"rows": np.diff(bounds)}
    found = np.empty((len(gauges), len(FOUND), begins.size), np.float32)
    for gauge, stats in zip(gauges, found, strict=True):
        of_gauge = (gauge.low, gauge.high, gauge.jump, gauge.step, int(gauge.upward))
        tile_gauge(stats, bounds, gauge.scaled(read.column(gauge.column)), marks, *of_gauge)
        columns |= {f"{gauge.name}_{stat}": stats[k] for k, stat in enumerate(FOUND)}
    if read.serial is not None:
        columns["serial"] = _newest(bounds, read.serial)
    columns |= _of_ports(read, bounds) if gauges is PORT_GAUGES else {}
    return HourTiles(read.port[begins], read.lane[begins], read.time_us[begins] // _HOUR_US, columns)


def _of_ports(read: Readings, bounds: Ints) -> Columns:
    """Counters, states, and when the newest reading was."""
    columns: Columns = {"last_s": (read.time_us[bounds[1:] - 1] % _HOUR_US / 1e6).astype(np.float32)}
    for name, column in COUNTERS.items():
        grown = tile_counter(bounds, np.ascontiguousarray(read.column(column), np.float64))
        columns |= {f"{name}_{part}": grown[:, k] for k, part in enumerate(COUNTER_PARTS)}
    oper, admin, los, fault = (read.column(name) for name in ("oper_up", "admin_up", "rx_los", "tx_fault"))
    states = {"down": (oper == 0) & (admin != 0), "admin_down": admin == 0, "los": los == 1, "fault": fault == 1}
    for name, there in states.items():
        columns[name] = np.add.reduceat(there.astype(np.int32), bounds[:-1], dtype=np.int32)
    return columns


def _newest(bounds: Ints, serial: NDArray[np.int32]) -> NDArray[np.int32]:
    """The newest serial number that each tile has."""
    last = np.maximum.reduceat(np.where(serial >= 0, np.arange(serial.size), -1), bounds[:-1])
    return np.where(last >= 0, serial[np.maximum(last, 0)], -1).astype(np.int32)


def _kinds(table: Table, tiles: Table) -> dict[str, type[np.floating]]:
    head = {"site", "device", "interface", "time", "received_at", "quality", "serial", "lane"}
    names = [name for name in SAMPLE_COLUMNS[tiles.name] if name not in head]
    single = (pa.float32(), pa.bool_())
    return {name: np.float32 if table.schema.field(name).type in single else np.float64 for name in names}


KINDS: Final = {
    LANE_SAMPLES.name: _kinds(LANE_SAMPLES, LANE_TILES),
    PORT_SAMPLES.name: _kinds(PORT_SAMPLES, PORT_TILES),
}
"""By table what of its samples is looked at as numbers, and how precisely: as it has it, whole numbers as doubles."""
