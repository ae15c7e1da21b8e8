"""Tiles as dense arrays: one row a lane or port, one column an hour or day; what had been received by a time only."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from typing import Final, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features import counter_kernels
from features.day_cube import Days, dense_days, no_days, swaps
from features.day_maker import DAY_KERNEL, MADE_AFTER
from features.day_tables import LANE_DAYS, PORT_DAYS
from features.dense import PORT, Grid, arrange, placed
from features.tile_maker import KERNEL
from features.tile_tables import COUNTERS, LANE_TILES, PORT_TILES
from ingest.lake import Lake
from ingest.lake.delta import DataFile
from ingest.schema import Table

__all__ = ["CARRY_H", "HOUR", "LANE_COLUMNS", "PORT", "Cube", "LakeTiles", "hour_index", "port_states"]

HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_MICROSECOND: Final = timedelta(microseconds=1)
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

CARRY_H: Final = 48
"""A counter's last reading serves so many hours across a gap."""

LANE_COLUMNS: Final = ("tx_mean", "rx_mean", "rx_min", "bias_mean", "ber_mean", "rx_dark", "rows")
_PORT_COLUMNS: Final = (
    *("temp_mean", "volt_mean", "volt_min", "pber_mean"),
    *("rows", "down", "admin_down", "los", "fault", "last_s"),
)
_COUNTER_PARTS: Final = ("first", "last", "grown")
_COUNTER_COLUMNS: Final = tuple(f"{c}_{part}" for c in COUNTERS for part in _COUNTER_PARTS)


def hour_index(time: datetime) -> int:
    """Whole hours since 1970; a time within an hour belongs to that hour."""
    return int(time.timestamp() // 3600)


@dataclass(frozen=True)
class Cube:
    """Hourly tiles of every lane and port that spoke, over some hours, and tiles of the days before.

    Attributes:
        start: index (`hour_index`) of the first hour asked for, or of the first tile where that is later.
        ports: site, device, interface; row *p* of every port array.
        lane_port: shape (lanes,), the port of each lane, ascending.
        lanes: name to array of shape (lanes, hours).
        states: name to array of shape (ports, hours); of a counter its growth in each hour, and ``corrected_s``,
            the seconds in which ``corrected`` grew.
        serials: shape (ports, hours), code of the serial seen in that hour, -1 where none was.
        days: tiles of whole days, rows as those of the hours.
    """

    start: int
    ports: pl.DataFrame
    lane_port: Ints
    lanes: dict[str, Floats]
    states: dict[str, Floats]
    serials: NDArray[np.int32]
    days: Days = field(default_factory=no_days)

    @cached_property
    def port_of(self) -> dict[tuple[str, str, str], int]:
        """Row of each port by its name."""
        return {(str(s), str(d), str(i)): p for p, (s, d, i) in enumerate(self.ports.iter_rows())}

    @cached_property
    def device(self) -> Ints:
        """Shape (ports,): number of each port's device, ascending as the ports are sorted."""
        return self.ports.select("site", "device").to_struct().rank("dense").cast(pl.Int64).to_numpy()

    @cached_property
    def newest_s(self) -> NDArray[np.float64]:
        """Shape (ports,): seconds since 1970 of each port's newest reading."""
        last = self.states["last_s"]
        newest = np.where(np.isnan(last), -1, np.arange(last.shape[1])).max(axis=1)
        taken = np.take_along_axis(last, np.maximum(newest, 0)[:, None], axis=1)[:, 0]
        stamp: NDArray[np.float64] = (self.start + newest) * 3600.0 + np.nan_to_num(taken)
        return stamp

    @cached_property
    def swapped_s(self) -> dict[tuple[str, str, str], list[float]]:
        """By port, when another serial than before was read, in seconds since 1970: known when its hour ends."""
        names, found = list(self.port_of), dict[tuple[str, str, str], list[float]]()
        for p, hour in swaps(self.days, self.serials, self.start):
            found.setdefault(names[p], []).append((hour + 1) * 3600.0)
        return found


@dataclass(frozen=True)
class LakeTiles:
    """Tiles in a lake, read for a set of times as they would have been read at each.

    Attributes:
        lake: where they are.
        devices: names from the first on and before the second, None where there is no such bound; all by default.
        files: by table what is read, see `pinned`; the newest version at each reading where not given.
    """

    lake: Lake
    devices: tuple[str | None, str | None] = (None, None)
    files: Mapping[str, Sequence[DataFile]] | None = None

    def pinned(self, at: datetime, reach: timedelta, days: int) -> "LakeTiles":
        """The same as the lake is now, for one time: whoever reads some devices of it sees one version of all."""
        since = min(_midnight(at) - _DAY * days, at - reach - HOUR * CARRY_H)
        tables = (LANE_TILES, PORT_TILES, LANE_DAYS, PORT_DAYS)
        return replace(self, files={table.name: self.lake.files(table, since=since, until=at) for table in tables})

    def cubes(
        self, at: Sequence[datetime], reach: timedelta, days: int | None = None
    ) -> Iterator[tuple[Cube, list[datetime]]]:
        """The tiles before each time, with the times that see the same ones.

        Late samples make later versions of a tile; times between two such receipts share a cube, so that
        no time sees what was received after it. Without late data there is one cube for all.

        Args:
            at: whole hours, ascending.
            reach: how far back hours go.
            days: how many days before that of a time there are as days, too; then hours begin at a midnight.
                None where not given: hours alone.

        Yields:
            A cube, and the times it serves.
        """
        since, until = at[0] - reach, at[-1]
        first_day = since
        if days is not None:
            since, first_day = _midnight(since), _midnight(at[0]) - _DAY * days
        lanes = self._read(LANE_TILES, since, until, LANE_COLUMNS)
        ports = self._read(PORT_TILES, since - HOUR * CARRY_H, until, (*_PORT_COLUMNS, *_COUNTER_COLUMNS, "serial"))
        tables = [lanes, ports]
        if days is not None:
            tables += [self._read(table, first_day, until - MADE_AFTER) for table in (LANE_DAYS, PORT_DAYS)]
        groups = list(_segments(at, tables))
        for group in groups:
            cube = _cube(since, first_day, group[-1], [_known(table, group) for table in tables])
            if group is groups[-1]:
                del lanes, ports, tables  # else they would stay while features are made
            yield cube, group

    def heard(self, at: datetime, reach: timedelta, days: int) -> tuple[pl.DataFrame, Cube]:
        """The ports with tiles of their own before a time, and a cube of the serials of all of them."""
        since, first_day = _midnight(at - reach), _midnight(at) - _DAY * days
        told = [f"serial_{name}" for name in ("first", "last", "first_h", "last_h", "changed_h")]
        hours = self._read(PORT_TILES, since, at, ("serial",))
        tables = [hours, self._read(PORT_DAYS, first_day, since, told)]
        known = [_known(table, [at]) for table in tables]
        names = arrange([], known)
        start = hour_index(since)
        shape = (names.ports.height, hour_index(at) - start)
        serials = placed(known[0], names.port_rows[0], _hours_of(known[0], start), shape).codes("serial")
        days_told = dense_days(None, known[1], names, hour_index(first_day) // 24, start // 24)
        return names.ports, Cube(start, names.ports, np.empty(0, np.int64), {}, {}, serials, days_told)

    def _read(
        self, table: Table, since: datetime, until: datetime, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        time = str(table.time)
        kernel = KERNEL if time == "hour" else DAY_KERNEL
        files = None if self.files is None else self.files[table.name]
        tiles = self.lake.scan(table, since=since, until=until, files=files).filter(pl.col("kernel") == kernel)
        first, end = self.devices
        if first is not None:
            tiles = tiles.filter(pl.col("device") >= first)
        if end is not None:
            tiles = tiles.filter(pl.col("device") < end)
        if columns is None:
            columns = [name for name in table.schema.names if name not in {*table.key, "received_at", "kernel"}]
        serials = [name for name in columns if name in {"serial", "serial_first", "serial_last"}]
        late = (pl.col("received_at") > pl.col(time) + _wait(time)).alias("late")
        tiles = tiles.select(*table.key, "received_at", *columns, late)
        return tiles.with_columns(pl.col(*PORT, *serials).cast(pl.Categorical)).collect()


def _midnight(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0)


def _wait(time: str) -> timedelta:
    """From the beginning of a tile, by the name of its column, until it is first asked for."""
    return HOUR if time == "hour" else _DAY + MADE_AFTER


def _segments(at: Sequence[datetime], tables: Sequence[pl.DataFrame]) -> Iterator[list[datetime]]:
    """The times, cut wherever late tiles arrived between two of them."""
    receipts = sorted({t for table in tables for t in table.filter("late")["received_at"].unique().to_list()})
    for _, group in groupby(at, lambda time: bisect_right(receipts, time)):
        yield list(group)


def _known(tiles: pl.DataFrame, group: Sequence[datetime]) -> pl.DataFrame:
    """Tiles before the last of the times that were received by the first."""
    time = "hour" if "hour" in tiles.columns else "time"
    wait = _wait(time)
    newest = cast("datetime | None", tiles[time].max())
    if newest is None or (newest + wait <= group[-1] and not tiles["late"].any()):
        return tiles
    return tiles.filter(pl.col(time) + wait <= group[-1], ~pl.col("late") | (pl.col("received_at") <= group[0]))


def _hours_of(tiles: pl.DataFrame, start: int) -> Ints:
    hours: Ints = tiles["hour"].to_physical().to_numpy() // (HOUR // _MICROSECOND) - start
    return hours


def _cube(since: datetime, first_day: datetime, until: datetime, tables: list[pl.DataFrame]) -> Cube:
    """Tables: of hours of lanes and ports, and, where days are asked for, of days of lanes and ports."""
    lanes, ports, *days = tables
    told = pl.concat([tiles.select(pl.col("hour").min()) for tiles in (lanes, ports)])["hour"].min()
    first = None if told is None else hour_index(cast("datetime", told))
    start = hour_index(since) if first is None else max(hour_index(since), first)  # before it all is empty
    names = arrange([lanes, *days[:1]], [ports, *days[1:]])
    end = hour_index(until)
    of_lanes = placed(lanes, names.lane_rows[0], _hours_of(lanes, start), (names.lanes.height, end - start))
    # Counters grow from readings before the first hour.
    before = 0 if first is None else min(CARRY_H, start - min(first, start))
    of_ports = placed(
        ports, names.port_rows[0], _hours_of(ports, start - before), (names.ports.height, end - start + before)
    )
    whole = dense_days(days[0], days[1], names, hour_index(first_day) // 24, end // 24) if days else no_days()
    return Cube(
        start,
        names.ports,
        names.lane_port,
        {c: of_lanes.dense(c) for c in LANE_COLUMNS},
        {name: np.ascontiguousarray(values[:, before:]) for name, values in port_states(of_ports).items()},
        np.ascontiguousarray(of_ports.codes("serial")[:, before:]),
        whole,
    )


def port_states(ports: Grid) -> dict[str, Floats]:
    """Port columns as dense arrays. Counters are read in float64: a step of a counter at 1e12 is lost in float32."""
    states = {c: ports.dense(c) for c in _PORT_COLUMNS}
    for counter in COUNTERS:
        first, last, within = (ports.dense(f"{counter}_{part}", np.float64) for part in _COUNTER_PARTS)
        states[counter] = counter_kernels.growth(first, last, within, CARRY_H)
    counted = np.where(np.isnan(states["corrected"]), np.float32(np.nan), states["last_s"])
    return {**states, "corrected_s": counter_kernels.elapsed(counted, CARRY_H)}
