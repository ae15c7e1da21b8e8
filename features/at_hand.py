"""Features of readings that are at hand as arrays: the kernels and formulas of the tiles, and no table on the way.

What a fleet's tiles give, bit for bit, for ports of which no records but modules and links are known. Readings are
taken as received when they were read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.baseline_kernels import day_centres
from features.counter_kernels import growth
from features.cube import CARRY_H, LANE_COLUMNS, PORT, Cube, hour_index, port_states
from features.day_cube import CARRY_DAYS, Days
from features.day_maker import day_counter, day_sum, lane_gauges, port_gauges, serial_hours
from features.day_tables import LANE_DAY_GAUGES, PORT_DAY_GAUGES, PORT_DAY_SUMS
from features.look import DAYS, REACH
from features.tile_tables import COUNTERS, LANE_GAUGES, PORT_GAUGES
from features.tiles_at_hand import DAY_H, LANES, HourTiles, Laid, Readings, hour_tiles

__all__ = ["PortName", "cube_of"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
PortName = tuple[str, str, str]


def cube_of(names: Sequence[PortName], lanes: Readings, ports: Readings, at: datetime) -> Cube:
    """The cube that `features.cube.LakeTiles` would give at a whole hour.

    Args:
        names: of the ports, sorted; readings say by number whose they are.
        lanes: of the last `DAYS` days.
        ports: likewise.
        at: nothing was read at this time or later.
    """
    of_lanes, of_ports = hour_tiles(lanes, LANE_GAUGES), hour_tiles(ports, PORT_GAUGES)
    series, row = np.unique(of_lanes.port * LANES + of_lanes.lane, return_inverse=True)
    end, since = hour_index(at), hour_index(at - REACH) // DAY_H * DAY_H
    seen = [h[h >= s] for h, s in ((of_lanes.hour, since), (of_ports.hour, since - CARRY_H))]
    first = min((int(h.min()) for h in seen if h.size), default=since)
    start = max(since, first)
    before = min(CARRY_H, start - first)
    told = of_lanes.laid(row, start, end - start, series.size)
    laid = of_ports.laid(of_ports.port, start - before, end - start + before, len(names))
    cube = Cube(
        start,
        pl.DataFrame(dict(zip(PORT, map(list, zip(*names, strict=True)), strict=True))),
        series // LANES,
        {name: told.dense(name) for name in LANE_COLUMNS},
        {name: np.ascontiguousarray(values[:, before:]) for name, values in port_states(laid).items()},
        np.ascontiguousarray(laid.codes("serial")[:, before:]),
        _days(of_lanes, row, of_ports, (series.size, len(names)), end),
    )
    numbers = {device: k for k, device in enumerate(dict.fromkeys(name[:2] for name in names))}
    cube.__dict__["port_of"] = {name: p for p, name in enumerate(names)}
    cube.__dict__["device"] = np.array([numbers[name[:2]] for name in names], np.int64)
    if ports.serial is None:
        cube.__dict__["swapped_s"] = {}
    return cube


def _days(lanes: HourTiles, row: Ints, ports: HourTiles, rows: tuple[int, int], hour: int) -> Days:
    """What `features.day_cube.dense_days` would say at an hour: of days that ended a day ago or earlier."""
    start = hour // DAY_H - DAYS
    of_lanes, of_ports = _InDays(row, lanes.hour, rows[0], start), _InDays(ports.port, ports.hour, rows[1], start)
    if not of_lanes.which.size + of_ports.which.size:
        return _nothing_told(rows, start)
    laid = _in_days(ports, of_ports)
    found = {counter: day_counter(laid, counter) for counter in COUNTERS}
    gauges = {name: of_ports.centres(x) for name, x in port_gauges(laid, found["corrected"].hourly).items()}
    whose = np.zeros(rows[0], np.int64)
    whose[row] = lanes.port
    heat = of_ports.find(whose[of_lanes.key // DAYS] * DAYS + of_lanes.key % DAYS, laid.dense("temp_mean"))
    told = _in_days(lanes, of_lanes)
    gauges |= {name: of_lanes.centres(x) for name, x in lane_gauges(told, heat).items()}
    sums = {name: of_ports.spread(day_sum(laid.dense(name))) for name in PORT_DAY_SUMS}
    for counter, one in found.items():
        first, last, grown = (of_ports.spread(part) for part in (one.first, one.last, one.grown))
        sums[counter] = growth(first, last, grown, CARRY_DAYS).astype(np.float64)
    serials, hours = _serials(of_ports, laid)
    return Days(start, gauges, sums, serials, hours)


def _in_days(tiles: HourTiles, days: "_InDays") -> Laid:
    """Tiles of days that are looked at, in a row for each pair of lane or port and day."""
    columns = {name: values[days.which] for name, values in tiles.columns.items()}
    return Laid(columns, days.pair, tiles.hour[days.which] % DAY_H, (days.key.size, DAY_H))


def _nothing_told(rows: tuple[int, int], start: int) -> Days:
    """Days of which nothing was read."""
    of_lanes, of_ports = (np.full((3, n, DAYS), np.nan, np.float32) for n in rows)
    sums = dict.fromkeys((*PORT_DAY_SUMS, *COUNTERS), np.full((rows[1], DAYS), np.nan))
    gauges = dict.fromkeys(LANE_DAY_GAUGES, of_lanes) | dict.fromkeys(PORT_DAY_GAUGES, of_ports)
    serials, hours = (np.full((n, rows[1], DAYS), -1, np.int32) for n in (2, 3))
    return Days(start, gauges, sums, serials, hours)


@dataclass(frozen=True)
class _InDays:
    """Which tiles are of whole days that are looked at, and the days of rows that have any.

    Attributes:
        row: shape (tiles,), of each tile.
        hour: shape (tiles,), since 1970.
        rows: how many there are.
        start: the first of `DAYS` days, since 1970.
    """

    row: Ints
    hour: Ints
    rows: int
    start: int

    @cached_property
    def which(self) -> Ints:
        """Tiles of days that are looked at."""
        day = self.hour // DAY_H - self.start
        return np.flatnonzero((day >= 0) & (day < DAYS - 1))

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints]:
        which = self.which
        key, pair = np.unique(self.row[which] * DAYS + self.hour[which] // DAY_H - self.start, return_inverse=True)
        return key, pair

    @property
    def key(self) -> Ints:
        """Shape (pairs,): row and day of each pair that has tiles, as one ascending number."""
        return self._pairs[0]

    @property
    def pair(self) -> Ints:
        """Shape (which,): the pair of each tile."""
        return self._pairs[1]

    def find(self, key: Ints, hourly: Floats) -> Floats:
        """The hours of some pairs, NaN of those without tiles."""
        slot = np.full(self.rows * DAYS, -1, np.int64)
        slot[self.key] = np.arange(self.key.size)
        return np.vstack([hourly, np.full((1, DAY_H), np.nan, np.float32)])[slot[key]]

    def spread(self, values: NDArray[Any], missing: float = np.nan) -> NDArray[Any]:
        """Shape (..., rows, days): values of pairs at their places."""
        out = np.full((*values.shape[:-1], self.rows * DAYS), missing, values.dtype)
        out[..., self.key] = values
        return out.reshape(*values.shape[:-1], self.rows, DAYS)

    def centres(self, hourly: Floats) -> Floats:
        """Shape (3, rows, days): `DAY_STATS` of each pair's hours."""
        found: Floats = self.spread(day_centres(hourly))
        return found


def _serials(days: _InDays, laid: Laid) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Of each day codes of the first and the last serial read, and the hours of `serial_hours`."""
    codes = laid.codes("serial")
    hours = serial_hours(codes)
    ends = [np.take_along_axis(codes, np.maximum(hours[end], 0)[:, None], axis=1)[:, 0] for end in ("first", "last")]
    return days.spread(np.stack(ends), -1), days.spread(np.stack(list(hours.values())).astype(np.int32), -1)
