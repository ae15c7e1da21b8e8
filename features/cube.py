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

from features import counter_kernels
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
        start: the first hour's index (`hour_index`).
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


@dataclass(frozen=True)
class LakeTiles:
    """Tiles in a lake, read for a set of times as they would have been read at each."""

    lake: Lake

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

    def _read(self, table: Table, since: datetime, until: datetime, columns: Sequence[str]) -> pl.DataFrame:
        picked = [*table.key, "received_at", *columns]
        tiles = self.lake.scan(table, since=since, until=until).filter(pl.col("kernel") == KERNEL).select(picked)
        return tiles.with_columns(pl.col(PORT).cast(pl.Categorical)).collect()


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
    start = hour_index(since)
    hours = hour_index(until) - start
    names = pl.concat([lanes.select(PORT), ports.select(PORT)]).unique().with_columns(pl.col(PORT).cast(pl.String))
    names = names.sort(PORT)
    index = names.with_columns(pl.col(PORT).cast(pl.Categorical)).with_row_index("p")
    # Only the keys are joined: wide frames are copied by a join.
    port_row = ports.select(PORT).join(index, on=PORT, maintain_order="left")["p"]
    of_lane = lanes.select(*PORT, "lane").join(index, on=PORT, maintain_order="left").select("p", "lane")
    series = of_lane.unique().sort("p", "lane").with_row_index("s")
    lane_row = of_lane.join(series, on=["p", "lane"], maintain_order="left")["s"]
    lanes, lane_at = _placed(lanes, lane_row, start, (series.height, hours))
    ports, port_at = _placed(ports, port_row, start, (names.height, hours))
    serials = np.full((names.height, hours), -1, np.int32)
    serials[port_at] = ports["serial"].cast(pl.Categorical).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    return Cube(
        start,
        names,
        series["p"].to_numpy().astype(np.int64),
        {c: _scatter(lanes[c], lane_at, (series.height, hours)) for c in _LANE_COLUMNS},
        _states(ports, port_at, (names.height, hours)),
        serials,
    )


def _placed(
    tiles: pl.DataFrame, row: pl.Series, start: int, shape: tuple[int, int]
) -> tuple[pl.DataFrame, tuple[NDArray[Any], Ints]]:
    """Tiles with the row and hour of each: of those of one place the latest received comes last, and so wins."""
    where = row.to_numpy(), (tiles["hour"].dt.epoch("s") // 3600).to_numpy() - start
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
    dense = np.full(shape, np.nan, kind)
    dense[where] = values.cast(pl.Float64 if kind is np.float64 else pl.Float32).fill_null(float("nan")).to_numpy()
    return dense
