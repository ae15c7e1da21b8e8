"""Rows of tables as dense arrays: one row a lane or port, one column an hour or day."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features import kernels

__all__ = ["PORT", "Arranged", "Grid", "Placed", "arrange", "placed"]

PORT: Final = ("site", "device", "interface")
_LANE: Final = (*PORT, "lane")

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Arranged:
    """Ports and lanes of some tables, in the order of their names, and whose each row of the tables is.

    Attributes:
        ports: site, device, interface.
        lanes: ``p``, the row of its port, and ``lane``.
        port_rows: of each table of ports, shape (rows,), into `ports`.
        lane_rows: of each table of lanes, shape (rows,), into `lanes`.
    """

    ports: pl.DataFrame
    lanes: pl.DataFrame
    port_rows: list[NDArray[Any]]
    lane_rows: list[NDArray[Any]]

    @property
    def lane_port(self) -> Ints:
        """Shape (lanes,), the port of each lane, ascending."""
        return self.lanes["p"].to_numpy().astype(np.int64)


def arrange(lanes: Sequence[pl.DataFrame], ports: Sequence[pl.DataFrame]) -> Arranged:
    """Number the ports and lanes of some tables, whose names are categorical.

    Only the keys of runs are joined: wide frames are copied by a join, and most rows follow one of their own series.
    """
    of_lanes, of_ports = [_runs(table, _LANE) for table in lanes], [_runs(table, PORT) for table in ports]
    known = [runs.select(PORT).unique() for runs, _ in (*of_lanes, *of_ports)]
    names = pl.concat(known).unique().with_columns(pl.col(PORT).cast(pl.String)).sort(PORT)
    index = names.with_columns(pl.col(PORT).cast(pl.Categorical)).with_row_index("p")
    port_rows = [
        runs.join(index, on=PORT, maintain_order="left")["p"].to_numpy().repeat(length) for runs, length in of_ports
    ]
    numbered = [runs.join(index, on=PORT, maintain_order="left").select("p", "lane") for runs, _ in of_lanes]
    nobody = pl.DataFrame(schema={"p": pl.get_index_type(), "lane": pl.Int8})
    series = pl.concat([nobody, *(runs.unique() for runs in numbered)]).unique().sort("p", "lane")
    place = series.with_row_index("s")
    lane_rows = [
        runs.join(place, on=["p", "lane"], maintain_order="left")["s"].to_numpy().repeat(length)
        for runs, (_, length) in zip(numbered, of_lanes, strict=True)
    ]
    return Arranged(names, series, port_rows, lane_rows)


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


class Grid(Protocol):
    """Columns as arrays, one row a lane or port, one column an hour."""

    def dense(self, column: str, kind: type[np.floating] = np.float32) -> NDArray[Any]:
        """A column as an array; NaN where there is nothing."""


@dataclass(frozen=True)
class Placed:
    """Rows of a table with the place of each in an array; of those of one place the latest received comes last."""

    rows: pl.DataFrame
    where: tuple[NDArray[Any], Ints]
    shape: tuple[int, int]

    def dense(self, column: str, kind: type[np.floating] = np.float32) -> NDArray[Any]:
        """A column as an array; NaN where there is no row, or null in it."""
        values = self.rows[column]
        flat = values.cast(pl.Float64 if kind is np.float64 else pl.Float32).to_numpy()  # null becomes NaN
        return kernels.scatter(np.asarray(flat, kind), *self.where, *self.shape)

    def codes(self, column: str) -> NDArray[np.int32]:
        """A column of categories as codes; -1 where there is no row, or null in it."""
        found = np.full(self.shape, -1, np.int32)
        found[self.where] = self.rows[column].cast(pl.Categorical).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
        return found


def placed(rows: pl.DataFrame, row: NDArray[Any], column: Ints, shape: tuple[int, int]) -> Placed:
    """Rows at their places; those received later come after the others, and so win."""
    filled = np.zeros(shape, bool)
    filled[row, column] = True
    if np.count_nonzero(filled) < rows.height:
        order = np.argsort(rows["received_at"].to_numpy(), kind="stable")
        return Placed(rows[order], (row[order], column[order]), shape)
    return Placed(rows, (row, column), shape)
