"""The pure function from samples to tiles; nothing here knows of the lake."""

import hashlib
import inspect
import sys
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features import counter_kernels, one_lane, runs, tile_kernels, tile_tables
from features.counter_kernels import tile_counter
from features.fleet import polars_schema
from features.one_lane import joined
from features.runs import runs_of
from features.tile_kernels import COLLECTED, FOUND, IMPORTED, STATS, any_late, hour_bounds, latest, tile_gauge
from features.tile_tables import COUNTER_PARTS, COUNTERS, LANE_GAUGES, LANE_TILES, PORT_GAUGES, STATES, Gauge
from ingest.schema import Quality, Table

__all__ = ["KERNEL", "SAMPLE_COLUMNS", "tile_day"]

Ints = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]

_HOUR_US: Final = 3_600_000_000
_PORT: Final = ("site", "device", "interface")
_NAMES: Final = (*_PORT, "serial")
_HEAD: Final = (*_NAMES, "time", "received_at", "quality")
SAMPLE_COLUMNS: Final = {
    "lane_tiles": (*_HEAD, "lane", *(gauge.column for gauge in LANE_GAUGES)),
    "port_tiles": (
        *(*_HEAD, "oper_up", "admin_up", "rx_los", "tx_fault"),
        *(gauge.column for gauge in PORT_GAUGES),
        *COUNTERS.values(),
    ),
}
"""By table of tiles, what of the samples is looked at."""


@dataclass(frozen=True)
class _Ordered:
    """Samples by series and time, each key once.

    Attributes:
        numbers: what was read, and when.
        serials: of the modules.
        time: microseconds.
        bounds: shape (tiles + 1,), where the samples of each tile begin, and where the last ones end.
        keys: of each tile.
    """

    numbers: pl.DataFrame
    serials: pl.Series
    time: Ints
    bounds: Ints
    keys: pl.DataFrame


def _in_order(names: pl.DataFrame, numbers: pl.DataFrame, key: tuple[str, ...]) -> _Ordered:
    """Samples in order; of those of one key the latest received, of these the last."""
    runs = runs_of([(names if name in names.columns else numbers)[name] for name in key])
    time, serials = numbers["time"].to_physical().to_numpy(), names["serial"]
    bounds, owner = hour_bounds(runs.bounds, runs.series, time, _HOUR_US)
    if bounds.size == 0:
        series = np.repeat(runs.series, np.diff(runs.bounds))
        keys = pl.DataFrame({"series": series, "time": time, "received": numbers["received_at"].to_physical()})
        order = keys.select(pl.arg_sort_by("series", "time", "received", maintain_order=True)).to_series().to_numpy()
        series, time = series[order], time[order]
        last = np.append((series[1:] != series[:-1]) | (time[1:] != time[:-1]), True)
        numbers, serials, series, time = numbers[order[last]], serials[order[last]], series[last], time[last]
        begins = np.flatnonzero(np.diff(series, prepend=-1))
        bounds, owner = hour_bounds(np.append(begins, series.size), series[begins], time, _HOUR_US)
    return _Ordered(numbers, serials, time, bounds, runs.keys[owner])


def _marks(samples: pl.DataFrame) -> NDArray[np.int8]:
    """Of each row whether it is marked as a glitch, and by whom: an import sets the receipt to the sample's time."""
    glitch = pl.col("quality").cast(pl.Int16) & int(Quality.GLITCH) != 0
    kind = pl.when(pl.col("received_at") == pl.col("time")).then(IMPORTED).otherwise(COLLECTED)
    return samples.select(pl.when(glitch).then(kind).otherwise(0).cast(pl.Int8)).to_series().to_numpy()


def _gauges(rows: _Ordered, gauges: tuple[Gauge, ...], dark: tuple[str, ...] = ()) -> Columns:
    """Statistics of some quantities, and of those named in `dark` how many samples were below what is a level."""
    marks = _marks(rows.numbers)
    columns: Columns = {}
    found = np.empty((len(gauges), len(FOUND), rows.bounds.size - 1), np.float32)
    for gauge, stats in zip(gauges, found, strict=True):
        of_gauge = (gauge.low, gauge.high, gauge.jump, gauge.step, int(gauge.upward))
        tile_gauge(stats, rows.bounds, gauge.values(rows.numbers), marks, *of_gauge)
        columns |= {f"{gauge.name}_{stat}": stats[k] for k, stat in enumerate(STATS)}
        if gauge.name in dark:
            columns[f"{gauge.name}_dark"] = stats[FOUND.index("dark")].astype(np.int32)
    return columns


def _counters(rows: _Ordered) -> Columns:
    columns: Columns = {}
    for name, column in COUNTERS.items():
        values = rows.numbers[column].cast(pl.Float64).to_numpy()  # null becomes NaN
        grown = tile_counter(rows.bounds, np.ascontiguousarray(values))
        columns |= {f"{name}_{part}": grown[:, k] for k, part in enumerate(COUNTER_PARTS)}
    return columns


def _count(rows: _Ordered, state: pl.Expr) -> NDArray[np.int32]:
    """Of each tile the number of samples in a state; unknown is not in it."""
    there = rows.numbers.select(state.fill_null(value=False)).to_series().to_numpy()
    return np.add.reduceat(there.astype(np.int32), rows.bounds[:-1], dtype=np.int32)


def _tiles(rows: _Ordered, columns: Columns) -> pl.DataFrame:
    """Key, hour, receipt, kernel, serial and number of samples of each tile, and some more; NaN becomes null."""
    first, received = rows.bounds[:-1], rows.numbers["received_at"].to_physical().to_numpy()
    head: Columns = {
        "hour": rows.time[first] // _HOUR_US * _HOUR_US,
        "received_at": latest(rows.bounds, received),
        "rows": np.diff(rows.bounds).astype(np.int32),
        "kernel": np.full(first.size, KERNEL, np.int32),
    }
    found = rows.keys.hstack([_newest_serials(rows)]).hstack(pl.DataFrame(head | columns, nan_to_null=True))
    return found.with_columns(pl.col("hour", "received_at").cast(pl.Datetime("us", "UTC")))


def _newest_serials(rows: _Ordered) -> pl.Series:
    """The newest serial number that each tile has."""
    if not rows.serials.null_count():
        return rows.serials.gather(rows.bounds[1:] - 1)
    newest = latest(rows.bounds, np.where(rows.serials.is_not_null().to_numpy(), np.arange(rows.serials.len()), -1))
    found = rows.serials.gather(np.maximum(newest, 0)).to_frame()
    return found.select(pl.when(pl.Series(newest >= 0)).then("serial").alias("serial")).to_series()


def _lane_tiles(names: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    rows = _in_order(names, joined(names, numbers), (*_PORT, "lane"))
    return _tiles(rows, _gauges(rows, LANE_GAUGES, dark=("rx", "tx")))


def _port_tiles(names: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    rows = _in_order(names, numbers, _PORT)
    second = (rows.time % _HOUR_US / 1e6).astype(np.float32)
    ends = {"first_s": second[rows.bounds[:-1]], "last_s": second[rows.bounds[1:] - 1]}
    states = {name: _count(rows, state) for name, state in STATES.items()}
    return _tiles(rows, _gauges(rows, PORT_GAUGES) | _counters(rows) | states | ends)


def _make(names: pl.DataFrame, numbers: pl.DataFrame, table: Table) -> pl.DataFrame:
    """The tiles of some samples, as of when all of them are in."""
    make = _lane_tiles if table.name == LANE_TILES.name else _port_tiles
    return make(names, numbers).select(table.schema.names)


def tile_day(samples: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Tiles of some samples: on-time ones first, then those of hours that late samples changed.

    Args:
        samples: rows of ``lane_samples`` or ``port_samples``, in any order, keys possibly repeated; columns beyond
            `SAMPLE_COLUMNS` are not looked at. Whole hours: what is missing of one is not in its tile.
        table: `LANE_TILES` or `PORT_TILES`.

    Returns:
        Rows of that table; an hour with late samples has one more for each hour in which some arrived.
    """
    if samples.height == 0:
        return polars_schema(table).to_frame()
    names = samples.select(_NAMES)
    # Numbers are laid end to end once; names of a day are left as they were read: to copy them takes as long as that.
    numbers = samples.select(name for name in SAMPLE_COLUMNS[table.name] if name not in _NAMES).rechunk()
    time, received = (numbers[name].to_physical().to_numpy() for name in ("time", "received_at"))
    if not any_late(time, received, _HOUR_US):
        return _make(names, numbers, table)
    end = (time // _HOUR_US + 1) * _HOUR_US
    # Times that are asked for are whole hours, so what arrives within an hour becomes visible at its end.
    known = np.maximum(end, -(-received // _HOUR_US) * _HOUR_US)
    return _versions(names.hstack(numbers).with_columns(end=end, known=known), table)


def _versions(seen: pl.DataFrame, table: Table) -> pl.DataFrame:
    """A tile as of each hour in which some of its samples came."""
    parts = [seen.filter(pl.col("known") == pl.col("end"))]
    for receipt in seen.filter(pl.col("known") > pl.col("end"))["known"].unique().sort():
        hours = seen.filter(pl.col("known") == receipt).select(*_PORT, "end").unique()
        parts.append(seen.filter(pl.col("known") <= receipt).join(hours, on=[*_PORT, "end"], how="semi"))
    versions = [_make(part.select(_NAMES), part.drop(_NAMES).rechunk(), table) for part in parts if part.height]
    return pl.concat(versions).unique([*table.key, "received_at", "rows"], keep="first", maintain_order=True)


def _fingerprint() -> int:
    """31 bits of a digest of every line of code that decides what a tile says."""
    modules = (counter_kernels, one_lane, runs, tile_kernels, tile_tables, sys.modules[__name__])
    digest = hashlib.sha256("\n".join(inspect.getsource(module) for module in modules).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


KERNEL: Final = _fingerprint()
"""Which code made a tile: tiles of other code are not read, and made anew."""
