"""Day tiles as dense arrays: one row a lane or port, one column a day; and what serials tell of swaps."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features import counter_kernels
from features.day_tables import COUNTER_ENDS, DAY_STATS, LANE_DAY_GAUGES, PORT_DAY_GAUGES, PORT_DAY_SUMS
from features.dense import Arranged, Placed, placed
from features.tile_tables import COUNTERS

__all__ = ["CARRY_DAYS", "Days", "dense_days", "no_days", "swaps"]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
Codes = NDArray[np.int32]

CARRY_DAYS: Final = 2
"""A counter's last reading serves so many days across a gap."""
_WEEK_H: Final = 7 * 24


@dataclass(frozen=True)
class Days:
    """Whole days of lanes and ports.

    Attributes:
        start: the first of them, days since 1970.
        gauges: name to array of shape (3, lanes or ports, days): `DAY_STATS`.
        sums: name to array of shape (ports, days): samples in a state, growth of a counter.
        serials: codes of the first and of the last serial read, shape (2, ports, days), -1 where none was.
        serial_h: hours of the day in which these, and the last one that was another than before, were read; shape
            (3, ports, days), -1 where none was.
    """

    start: int
    gauges: dict[str, Floats]
    sums: dict[str, Floats64]
    serials: Codes
    serial_h: Codes


def no_days() -> Days:
    """No day of no port."""
    return Days(0, {}, {}, np.empty((2, 0, 0), np.int32), np.empty((3, 0, 0), np.int32))


def dense_days(lanes: pl.DataFrame | None, ports: pl.DataFrame, names: Arranged, start: int, end: int) -> Days:
    """Day tiles at their places.

    Args:
        lanes: rows of ``lane_days``; None where serials alone are asked for.
        ports: rows of ``port_days``, or as much of them as there is.
        names: whose last tables these are.
        start: the first day, since 1970.
        end: the day after the last one.
    """
    of_ports = _placed(ports, names.port_rows[-1], names.ports.height, start, end)
    serials = np.stack([of_ports.codes(f"serial_{which}") for which in ("first", "last")])
    hours = [of_ports.dense(f"serial_{which}_h") for which in ("first", "last", "changed")]
    serial_h = np.nan_to_num(np.stack(hours), nan=-1.0).astype(np.int32)
    if lanes is None:
        return Days(start, {}, {}, serials, serial_h)
    of_lanes = _placed(lanes, names.lane_rows[-1], names.lanes.height, start, end)
    gauges = {
        name: np.stack([table.dense(f"{name}_{stat}") for stat in DAY_STATS])
        for table, which in ((of_lanes, LANE_DAY_GAUGES), (of_ports, PORT_DAY_GAUGES))
        for name in which
    }
    sums: dict[str, Any] = {name: of_ports.dense(name, np.float64) for name in PORT_DAY_SUMS}
    for counter in COUNTERS:
        first, last, within = (of_ports.dense(f"{counter}_{end}", np.float64) for end in COUNTER_ENDS)
        sums[counter] = counter_kernels.growth(first, last, within, CARRY_DAYS).astype(np.float64)
    return Days(start, gauges, sums, serials, serial_h)


def _placed(tiles: pl.DataFrame, row: NDArray[Any], rows: int, start: int, end: int) -> Placed:
    day = (tiles["time"].dt.epoch("s") // 86_400).to_numpy() - start
    return placed(tiles, row, day, (rows, max(end - start, 0)))


def swaps(days: Days, serials: Codes, start: int) -> Iterator[tuple[int, int]]:
    """Port and hour of the serials that differ from one read at most a week before; of a day as a tile the last.

    What was read longer ago may lie before the days, and then no look from a later time would know of the change.

    Args:
        days: of those that hours reach back to nothing is looked at.
        serials: shape (ports, hours), codes.
        start: the first hour, since 1970; hours are counted likewise.
    """
    code = np.full(serials.shape[0], -1, np.int32)
    hour = np.full(serials.shape[0], -(1 << 40))
    for d in range(min(days.serials.shape[2], start // 24 - days.start)):
        midnight = (days.start + d) * 24
        (first, last), (first_h, last_h, changed_h) = days.serials[:, :, d], days.serial_h[:, :, d].astype(np.int64)
        met = (first >= 0) & (code >= 0) & (first != code) & (midnight + first_h - hour <= _WEEK_H)
        yield from ((int(p), int(midnight + first_h[p])) for p in np.flatnonzero(met))
        yield from ((int(p), int(midnight + changed_h[p])) for p in np.flatnonzero(changed_h >= 0))
        code, hour = np.where(last >= 0, last, code), np.where(last >= 0, midnight + last_h, hour)
    for h in range(serials.shape[1]):
        now = serials[:, h]
        met = (now >= 0) & (code >= 0) & (now != code) & (start + h - hour <= _WEEK_H)
        yield from ((int(p), start + h) for p in np.flatnonzero(met))
        code, hour = np.where(now >= 0, now, code), np.where(now >= 0, start + h, hour)
