"""Tiles as dense arrays: one row a lane or port, one column an hour; what had been received by a time and no more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.tiles import COUNTERS, LANE_TILES, PORT_TILES
from ingest.lake import Lake

__all__ = ["HOUR", "PORT", "Cube", "LakeTiles", "hour_index"]

HOUR: Final = timedelta(hours=1)
PORT: Final = ("site", "device", "interface")
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_LANE_COLUMNS: Final = ("tx_mean", "rx_mean", "rx_min", "bias_mean", "ber_mean", "ber_max", "rx_dark", "rows")
_PORT_COLUMNS: Final = (
    *("temp_mean", "volt_mean", "volt_min", "pber_mean", "pber_max"),
    *("rows", "down", "admin_down", "los", "fault", "first_s", "last_s"),
    *(f"{c}_{part}" for c in COUNTERS for part in ("first", "last", "grown", "burst")),
)


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
        states: name to array of shape (ports, hours).
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
        ports = self._read(PORT_TILES, since, until, (*_PORT_COLUMNS, "serial"))
        for group in _segments(at, [lanes, ports]):
            yield _cube(since, group[-1], _known(lanes, group[0]), _known(ports, group[0])), group

    def _read(self, table: object, since: datetime, until: datetime, columns: Sequence[str]) -> pl.DataFrame:
        assert table in (LANE_TILES, PORT_TILES)  # noqa: S101 - private
        key = LANE_TILES.key if table is LANE_TILES else PORT_TILES.key
        picked = [*key, "received_at", *columns]
        source = LANE_TILES if table is LANE_TILES else PORT_TILES
        return (
            self.lake.scan(source, since=since, until=until, columns=picked)
            .with_columns(pl.col(PORT).cast(pl.Categorical))
            .collect()
        )


_LATE: Final = pl.col("received_at") > pl.col("hour") + HOUR


def _segments(at: Sequence[datetime], tables: Sequence[pl.DataFrame]) -> list[list[datetime]]:
    """The times, cut wherever late tiles arrived between two of them."""
    receipts = sorted({t for table in tables for t in table.filter(_LATE)["received_at"].to_list()})
    groups: list[list[datetime]] = [[at[0]]]
    for before, time in pairwise(at):
        if any(before < receipt <= time for receipt in receipts):
            groups.append([])
        groups[-1].append(time)
    return groups


def _known(tiles: pl.DataFrame, at: datetime) -> pl.DataFrame:
    """On-time tiles, and late ones received by `at`; of equal keys the latest received."""
    late = tiles.filter(_LATE & (pl.col("received_at") <= at))
    on_time = tiles.filter(~_LATE)
    if late.is_empty():
        return on_time
    key = [c for c in ("site", "device", "interface", "lane", "hour") if c in tiles.columns]
    late = late.sort("received_at").unique(key, keep="last")
    return pl.concat([on_time.join(late.select(key), on=key, how="anti"), late])


def _cube(since: datetime, until: datetime, lanes: pl.DataFrame, ports: pl.DataFrame) -> Cube:
    start = hour_index(since.astimezone(UTC))
    hours = hour_index(until) - start
    names = pl.concat([lanes.select(PORT), ports.select(PORT)]).unique().with_columns(pl.col(PORT).cast(pl.String))
    names = names.sort(PORT)
    index = names.with_columns(pl.col(PORT).cast(pl.Categorical)).with_row_index("p")
    lanes, ports = lanes.join(index, on=PORT), ports.join(index, on=PORT)
    series = lanes.select("p", "lane").unique().sort("p", "lane").with_row_index("s")
    lanes = lanes.join(series, on=["p", "lane"])
    lane_at = (lanes["s"].to_numpy(), _hour(lanes, start))
    port_at = (ports["p"].to_numpy(), _hour(ports, start))
    serials = np.full((names.height, hours), -1, np.int32)
    serials[port_at] = ports["serial"].cast(pl.Categorical).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    return Cube(
        start,
        names,
        series["p"].to_numpy().astype(np.int64),
        {c: _scatter(lanes[c], lane_at, (series.height, hours)) for c in _LANE_COLUMNS},
        {c: _scatter(ports[c], port_at, (names.height, hours)) for c in _PORT_COLUMNS},
        serials,
    )


def _hour(tiles: pl.DataFrame, start: int) -> Ints:
    return (tiles["hour"].dt.epoch("s") // 3600).to_numpy() - start


def _scatter(values: pl.Series, where: tuple[Ints, Ints], shape: tuple[int, int]) -> Floats:
    dense = np.full(shape, np.nan, np.float32)
    dense[where] = values.cast(pl.Float32).fill_null(float("nan")).to_numpy()
    return dense
