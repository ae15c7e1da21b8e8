"""Tiles as dense arrays: one row a lane or port, one column an hour; what had been received by a time and no more."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features import counter_kernels, kernels
from features.tile_maker import KERNEL
from features.tile_tables import COUNTERS, LANE_TILES, PORT_TILES
from ingest.lake import Lake
from ingest.schema import Table

__all__ = ["CARRY_H", "HOUR", "PORT", "Cube", "LakeTiles", "hour_index"]

HOUR: Final = timedelta(hours=1)
PORT: Final = ("site", "device", "interface")
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

CARRY_H: Final = 48
"""A counter's last reading serves so many hours across a gap."""

_LANE_COLUMNS: Final = ("tx_mean", "rx_mean", "rx_min", "bias_mean", "ber_mean", "rx_dark", "rows")
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
    """Hourly tiles of every lane and port that spoke, over some hours.

    Attributes:
        start: index (`hour_index`) of the first hour asked for, or of the first tile where that is later.
        ports: site, device, interface; row *p* of every port array.
        lane_port: shape (lanes,), the port of each lane, ascending.
        lanes: name to array of shape (lanes, hours).
        states: name to array of shape (ports, hours); of a counter its growth in each hour, and ``corrected_s``,
            the seconds in which ``corrected`` grew.
        serials: shape (ports, hours), code of the serial seen in that hour, -1 where none was.
    """

    start: int
    ports: pl.DataFrame
    lane_port: Ints
    lanes: dict[str, Floats]
    states: dict[str, Floats]
    serials: NDArray[np.int32]

    @cached_property
    def port_of(self) -> dict[tuple[str, str, str], int]:
        """Row of each port by its name."""
        return {(str(s), str(d), str(i)): p for p, (s, d, i) in enumerate(self.ports.iter_rows())}

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
        for p, hour in _changes(self.serials):
            found.setdefault(names[p], []).append((self.start + hour + 1) * 3600.0)
        return found


@dataclass(frozen=True)
class LakeTiles:
    """Tiles in a lake, read for a set of times as they would have been read at each.

    Attributes:
        lake: where they are.
        devices: names from the first on and before the second, None where there is no such bound; all by default.
    """

    lake: Lake
    devices: tuple[str | None, str | None] = (None, None)

    def cubes(self, at: Sequence[datetime], reach: timedelta) -> Iterator[tuple[Cube, list[datetime]]]:
        """The tiles before each time, with the times that see the same ones.

        Late samples make later versions of a tile; times between two such receipts share a cube, so that
        no time sees what was received after it. Without late data there is one cube for all.

        Args:
            at: whole hours, ascending.
            reach: how far back windows look.

        Yields:
            A cube, and the times it serves.
        """
        since, until = at[0] - reach, at[-1]
        lanes = self._read(LANE_TILES, since, until, _LANE_COLUMNS)
        ports = self._read(PORT_TILES, since, until, (*_PORT_COLUMNS, *_COUNTER_COLUMNS, "serial"))
        groups = list(_segments(at, [lanes, ports]))
        for group in groups:
            cube = _cube(since, group[-1], _known(lanes, group), _known(ports, group))
            if group is groups[-1]:
                del lanes, ports  # else they would stay while features are made
            yield cube, group

    def heard(self, at: datetime, reach: timedelta) -> tuple[pl.DataFrame, Cube]:
        """The ports with tiles of their own before a time, and a cube of the serials of those that had several."""
        since = at - reach
        tiles = self._scan(PORT_TILES, since, at, ("serial",)).filter(~_LATE | (pl.col("received_at") <= at))
        low, high = pl.col("serial").min(), pl.col("serial").max()
        ports = tiles.group_by(PORT).agg((low != high).alias("several")).collect(engine="streaming")
        several = ports.filter("several").select(PORT)
        rows = tiles.join(several.lazy(), on=PORT, how="semi").with_columns(pl.col(PORT).cast(pl.Categorical))
        found = rows.collect(engine="streaming")
        names = several.sort(PORT)
        index = names.with_columns(pl.col(PORT).cast(pl.Categorical)).with_row_index("p")
        row = found.select(PORT).join(index, on=PORT, maintain_order="left")["p"].to_numpy()
        start = hour_index(since)
        shape = (names.height, hour_index(at) - start)
        serials = _serials(*_placed(found, row, start, shape), shape)
        return ports.select(PORT), Cube(start, names, np.empty(0, np.int64), {}, {}, serials)

    def _read(self, table: Table, since: datetime, until: datetime, columns: Sequence[str]) -> pl.DataFrame:
        return self._scan(table, since, until, columns).with_columns(pl.col(PORT).cast(pl.Categorical)).collect()

    def _scan(self, table: Table, since: datetime, until: datetime, columns: Sequence[str]) -> pl.LazyFrame:
        tiles = self.lake.scan(table, since=since, until=until).filter(pl.col("kernel") == KERNEL)
        first, end = self.devices
        if first is not None:
            tiles = tiles.filter(pl.col("device") >= first)
        if end is not None:
            tiles = tiles.filter(pl.col("device") < end)
        return tiles.select(*table.key, "received_at", *columns)


_LATE: Final = pl.col("received_at") > pl.col("hour") + HOUR


def _segments(at: Sequence[datetime], tables: Sequence[pl.DataFrame]) -> Iterator[list[datetime]]:
    """The times, cut wherever late tiles arrived between two of them."""
    receipts = sorted({t for table in tables for t in table.filter(_LATE)["received_at"].unique().to_list()})
    for _, group in groupby(at, lambda time: bisect_right(receipts, time)):
        yield list(group)


def _known(tiles: pl.DataFrame, group: Sequence[datetime]) -> pl.DataFrame:
    """Tiles before the last of the times that were received by the first."""
    known = tiles.select((pl.col("hour") < group[-1]) & (~_LATE | (pl.col("received_at") <= group[0]))).to_series()
    return tiles if known.all() else tiles.filter(known)


def _cube(since: datetime, until: datetime, lanes: pl.DataFrame, ports: pl.DataFrame) -> Cube:
    first = pl.concat([lanes.select("hour"), ports.select("hour")]).select(pl.col("hour").dt.epoch("s").min()).item()
    start = hour_index(since) if first is None else max(hour_index(since), first // 3600)  # before it all is empty
    hours = hour_index(until) - start
    # Only the keys of runs are joined: wide frames are copied by a join, and most tiles follow one of their own series.
    of_lane, lane_runs = _runs(lanes, (*PORT, "lane"))
    of_port, port_runs = _runs(ports, PORT)
    names = pl.concat([of_lane.select(PORT), of_port]).unique().with_columns(pl.col(PORT).cast(pl.String)).sort(PORT)
    index = names.with_columns(pl.col(PORT).cast(pl.Categorical)).with_row_index("p")
    port_row = of_port.join(index, on=PORT, maintain_order="left")["p"].to_numpy().repeat(port_runs)
    of_lane = of_lane.join(index, on=PORT, maintain_order="left").select("p", "lane")
    series = of_lane.unique().sort("p", "lane").with_row_index("s")
    lane_row = of_lane.join(series, on=["p", "lane"], maintain_order="left")["s"].to_numpy().repeat(lane_runs)
    lanes, lane_at = _placed(lanes, lane_row, start, (series.height, hours))
    ports, port_at = _placed(ports, port_row, start, (names.height, hours))
    return Cube(
        start,
        names,
        series["p"].to_numpy().astype(np.int64),
        {c: _scatter(lanes[c], lane_at, (series.height, hours)) for c in _LANE_COLUMNS},
        _states(ports, port_at, (names.height, hours)),
        _serials(ports, port_at, (names.height, hours)),
    )


def _runs(tiles: pl.DataFrame, key: Sequence[str]) -> tuple[pl.DataFrame, Ints]:
    """The key of each run of rows that have the same one, and the lengths of the runs."""
    begins = np.ones(tiles.height, np.bool_)
    if tiles.height:
        begins[1:] = False
    for name in key:
        code = tiles[name].to_physical().to_numpy()
        begins[1:] |= code[1:] != code[:-1]
    at = np.flatnonzero(begins)
    return tiles.select(key)[at], np.diff(np.append(at, tiles.height))


def _serials(ports: pl.DataFrame, where: tuple[Ints, Ints], shape: tuple[int, int]) -> NDArray[np.int32]:
    """A code of each serial, -1 where none was seen; of those of one place the last one stays."""
    serials = np.full(shape, -1, np.int32)
    serials[where] = ports["serial"].cast(pl.Categorical).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    return serials


_WEEK_H: Final = 7 * 24


def _changes(serials: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Port and hour of every serial that differs from one read at most a week before.

    What was read longer ago may lie before the cube, and then no look from a later time would know of the change.
    """
    for p, row in enumerate(serials):
        seen = np.flatnonzero(row >= 0)
        changed = (np.diff(row[seen]) != 0) & (np.diff(seen) <= _WEEK_H)
        yield from ((p, int(hour)) for hour in seen[1:][changed])


def _placed(
    tiles: pl.DataFrame, row: NDArray[Any], start: int, shape: tuple[int, int]
) -> tuple[pl.DataFrame, tuple[NDArray[Any], Ints]]:
    """Tiles with the row and hour of each: of those of one place the latest received comes last, and so wins."""
    where = row, (tiles["hour"].dt.epoch("s") // 3600).to_numpy() - start
    filled = np.zeros(shape, bool)
    filled[where] = True
    if np.count_nonzero(filled) < tiles.height:
        order = np.argsort(tiles["received_at"].to_numpy(), kind="stable")
        return tiles[order], (where[0][order], where[1][order])
    return tiles, where


def _states(ports: pl.DataFrame, where: tuple[Ints, Ints], shape: tuple[int, int]) -> dict[str, Floats]:
    """Port columns as dense arrays. Counters are read in float64: a step of a counter at 1e12 is lost in float32."""
    states = {c: _scatter(ports[c], where, shape) for c in _PORT_COLUMNS}
    for counter in COUNTERS:
        first, last, within = (
            _scatter(ports[f"{counter}_{part}"], where, shape, np.float64) for part in _COUNTER_PARTS
        )
        states[counter] = counter_kernels.growth(first, last, within, CARRY_H)
    counted = np.where(np.isnan(states["corrected"]), np.float32(np.nan), states["last_s"])
    return {**states, "corrected_s": counter_kernels.elapsed(counted, CARRY_H)}


def _scatter(
    values: pl.Series, where: tuple[Ints, Ints], shape: tuple[int, int], kind: type[np.floating] = np.float32
) -> NDArray[Any]:
    flat = values.cast(pl.Float64 if kind is np.float64 else pl.Float32).to_numpy()  # null becomes NaN
    return kernels.scatter(np.asarray(flat, kind), *where, *shape)
