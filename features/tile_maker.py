"""The pure function from samples to tiles; nothing here knows of the lake."""

import hashlib
import inspect
import sys
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features import counter_kernels, tile_kernels, tile_tables
from features.counter_kernels import tile_counter
from features.fleet import polars_schema
from features.tile_kernels import COLLECTED, IMPORTED, STATS, any_late, hour_bounds, tile_gauge
from features.tile_tables import COUNTER_PARTS, COUNTERS, LANE_GAUGES, LANE_TILES, PORT_GAUGES, STATES, Gauge
from ingest.schema import Quality, Table

__all__ = ["KERNEL", "SAMPLE_COLUMNS", "tile_day"]

Ints = NDArray[np.int64]

_HOUR_US: Final = 3_600_000_000
_PORT: Final = ("site", "device", "interface")
_HEAD: Final = (*_PORT, "time", "received_at", "serial", "quality")
SAMPLE_COLUMNS: Final = {
    "lane_tiles": (*_HEAD, "lane", *(gauge.column for gauge in LANE_GAUGES)),
    "port_tiles": (
        *(*_HEAD, "oper_up", "admin_up", "rx_los", "tx_fault"),
        *(gauge.column for gauge in PORT_GAUGES),
        *COUNTERS.values(),
    ),
}
"""By table of tiles, what of the samples is looked at."""


def _series(samples: pl.DataFrame, key: tuple[str, ...]) -> tuple[Ints, pl.DataFrame]:
    """A number for each row's series, in order of first appearance: ascending where series lie together; their keys."""
    starts = np.zeros(samples.height, np.bool_)
    starts[0] = True
    for name in key:
        begin = 0  # chunk by chunk: to lay the names of a day end to end takes as long as to read them
        for chunk in samples[name].get_chunks():
            end = begin + chunk.len()
            starts[begin + 1 : end] |= (chunk[1:] != chunk[:-1]).to_numpy()
            if 0 < begin < end:
                starts[begin] |= samples[name][begin] != samples[name][begin - 1]
            begin = end
    runs = np.flatnonzero(starts)
    names = samples.select(key)[runs]
    numbers = names.unique(maintain_order=True).with_row_index("series")
    code = names.join(numbers, on=key, maintain_order="left")["series"].to_numpy().astype(np.int64)
    return np.repeat(code, np.diff(np.append(runs, samples.height))), numbers.drop("series")


def _in_order(samples: pl.DataFrame, key: tuple[str, ...]) -> tuple[pl.DataFrame, Ints, Ints, pl.DataFrame]:
    """Samples by series and time, each key once (the latest received, of those the last).

    Returns:
        The samples, the bounds of hours, times (us), the key of each hour.
    """
    (series, names), time = _series(samples, key), samples["time"].to_physical().to_numpy()
    bounds = hour_bounds(series, time, _HOUR_US)
    if bounds.size == 0:
        keys = pl.DataFrame({"series": series, "time": time, "received": samples["received_at"].to_physical()})
        order = keys.select(pl.arg_sort_by("series", "time", "received", maintain_order=True)).to_series().to_numpy()
        series, time = series[order], time[order]
        last = np.append((series[1:] != series[:-1]) | (time[1:] != time[:-1]), True)
        samples, series, time = samples[order[last]], series[last], time[last]
        bounds = hour_bounds(series, time, _HOUR_US)
    return samples, bounds, time, names[series[bounds[:-1]]]


def _marks(samples: pl.DataFrame) -> NDArray[np.int8]:
    """Of each row whether it is marked as a glitch, and by whom: an import sets the receipt to the sample's time."""
    glitch = pl.col("quality").cast(pl.Int16) & int(Quality.GLITCH) != 0
    kind = pl.when(pl.col("received_at") == pl.col("time")).then(IMPORTED).otherwise(COLLECTED)
    return samples.select(pl.when(glitch).then(kind).otherwise(0).cast(pl.Int8)).to_series().to_numpy()


def _gauges(samples: pl.DataFrame, bounds: Ints, gauges: tuple[Gauge, ...]) -> dict[str, pl.Series]:
    marks = _marks(samples)
    columns: dict[str, pl.Series] = {}
    for gauge in gauges:
        values = np.ascontiguousarray(samples.select(gauge.expr()).to_series().to_numpy())
        of_gauge = (gauge.low, gauge.high, gauge.jump, gauge.step, int(gauge.upward))
        stats = tile_gauge(bounds, values, marks, *of_gauge)
        columns |= {f"{gauge.name}_{stat}": pl.Series(stats[:, k]).fill_nan(None) for k, stat in enumerate(STATS)}
    return columns


def _counters(samples: pl.DataFrame, bounds: Ints) -> dict[str, pl.Series]:
    columns: dict[str, pl.Series] = {}
    for name, column in COUNTERS.items():
        values = samples[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        grown = tile_counter(bounds, np.ascontiguousarray(values))
        columns |= {f"{name}_{part}": pl.Series(grown[:, k]).fill_nan(None) for k, part in enumerate(COUNTER_PARTS)}
    return columns


def _count(samples: pl.DataFrame, bounds: Ints, state: pl.Expr) -> NDArray[np.int32]:
    """Of each tile the number of samples in a state; unknown is not in it."""
    there = samples.select(state.fill_null(value=False)).to_series().to_numpy()
    return np.add.reduceat(there.astype(np.int32), bounds[:-1], dtype=np.int32)


def _head(samples: pl.DataFrame, bounds: Ints, time: Ints, names: pl.DataFrame) -> pl.DataFrame:
    """Key, hour, receipt, kernel and serial of each tile."""
    first = bounds[:-1]
    newest = bounds[1:] - 1
    if samples["serial"].null_count():
        known = samples["serial"].is_not_null().to_numpy()
        newest = np.maximum.reduceat(np.where(known, np.arange(samples.height), -1), first)
    received = np.maximum.reduceat(samples["received_at"].to_physical().to_numpy(), first)
    serial = samples["serial"].gather(np.maximum(newest, 0)).to_frame()
    return names.with_columns(
        serial.select(pl.when(pl.Series(newest >= 0)).then("serial").alias("serial")).to_series(),
        hour=pl.Series(time[first] // _HOUR_US * _HOUR_US).cast(pl.Datetime("us", "UTC")),
        received_at=pl.Series(received).cast(pl.Datetime("us", "UTC")),
        kernel=pl.lit(KERNEL, pl.Int32),
        rows=pl.Series(np.diff(bounds), dtype=pl.Int32),
    )


def _lane_tiles(samples: pl.DataFrame) -> pl.DataFrame:
    key = (*_PORT, "lane")
    rows, bounds, time, names = _in_order(samples, key)
    dark = {
        f"{gauge.name}_dark": _count(rows, bounds, pl.col(gauge.column) < gauge.low)
        for gauge in LANE_GAUGES
        if gauge.name in {"rx", "tx"}
    }
    return _head(rows, bounds, time, names).with_columns(**_gauges(rows, bounds, LANE_GAUGES), **dark)


def _port_tiles(samples: pl.DataFrame) -> pl.DataFrame:
    rows, bounds, time, names = _in_order(samples, _PORT)
    second = (time % _HOUR_US / 1e6).astype(np.float32)
    states = {name: _count(rows, bounds, state) for name, state in STATES.items()}
    return _head(rows, bounds, time, names).with_columns(
        **_gauges(rows, bounds, PORT_GAUGES),
        **_counters(rows, bounds),
        **states,
        first_s=second[bounds[:-1]],
        last_s=second[bounds[1:] - 1],
    )


def _make(samples: pl.DataFrame, table: Table) -> pl.DataFrame:
    """The tiles of some samples, as of when all of them are in."""
    make = _lane_tiles if table.name == LANE_TILES.name else _port_tiles
    return make(samples).select(table.schema.names)


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
    samples = samples.select(SAMPLE_COLUMNS[table.name])
    time, received = (samples[name].to_physical().to_numpy() for name in ("time", "received_at"))
    if not any_late(time, received, _HOUR_US):
        return _make(samples, table)
    end = (time // _HOUR_US + 1) * _HOUR_US
    # Times that are asked for are whole hours, so what arrives within an hour becomes visible at its end.
    return _versions(samples.with_columns(end=end, known=np.maximum(end, -(-received // _HOUR_US) * _HOUR_US)), table)


def _versions(seen: pl.DataFrame, table: Table) -> pl.DataFrame:
    """A tile as of each hour in which some of its samples came."""
    on_time = seen.filter(pl.col("known") == pl.col("end"))
    versions = [_make(on_time, table)] if on_time.height else []
    for receipt in seen.filter(pl.col("known") > pl.col("end"))["known"].unique().sort():
        hours = seen.filter(pl.col("known") == receipt).select(*_PORT, "end").unique()
        versions.append(
            _make(seen.filter(pl.col("known") <= receipt).join(hours, on=[*_PORT, "end"], how="semi"), table)
        )
    return pl.concat(versions).unique([*table.key, "received_at", "rows"], keep="first", maintain_order=True)


def _fingerprint() -> int:
    """31 bits of a digest of every line of code that decides what a tile says."""
    modules = (counter_kernels, tile_kernels, tile_tables, sys.modules[__name__])
    digest = hashlib.sha256("\n".join(inspect.getsource(module) for module in modules).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


KERNEL: Final = _fingerprint()
"""Which code made a tile: tiles of other code are not read, and made anew."""
