"""The pure function from a day's hour tiles to its day tiles; nothing here knows of the lake.

A day tile is asked for a day after its day has ended or later: the first version is made of what had been received by
then. Each later hour in which something of the day was received makes another, of the ports it was received of.
"""

import hashlib
import inspect
import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features import baseline_kernels, counter_kernels, day_tables, dense
from features.baseline_kernels import day_centres
from features.counter_kernels import elapsed, growth
from features.day_tables import DAY_STATS, LANE_DAYS, PORT_DAY_SUMS, PORT_DAYS
from features.dense import PORT, Grid, Placed, arrange, placed
from features.fleet import polars_schema
from features.physics import BIAS_PER_C, log_ber_from_counter
from features.tile_maker import KERNEL
from features.tile_tables import COUNTERS
from ingest.schema import Table

__all__ = [
    "DAY_KERNEL",
    "LANE_HOUR_COLUMNS",
    "MADE_AFTER",
    "PORT_HOUR_COLUMNS",
    "DayCounter",
    "day_counter",
    "day_sum",
    "days_of",
    "lane_gauges",
    "port_gauges",
    "serial_hours",
]

Floats = NDArray[np.float32]
Floats64 = NDArray[np.float64]
Ints = NDArray[np.int64]

MADE_AFTER: Final = timedelta(days=1)
"""A day's tiles are made so long after it has ended, and nobody asks for them before."""

_HOURS: Final = 24
_HOUR_US: Final = 3_600_000_000
_DAY_US: Final = _HOURS * _HOUR_US
_HEAD: Final = ("hour", "received_at")
LANE_HOUR_COLUMNS: Final = (*PORT, "lane", *_HEAD, "tx_mean", "rx_mean", "bias_mean", "ber_mean", "rows")
PORT_HOUR_COLUMNS: Final = (
    *(*PORT, *_HEAD, "serial", "temp_mean", "volt_mean", "pber_mean", "last_s"),
    *(f"{counter}_{part}" for counter in COUNTERS for part in ("first", "last", "grown")),
    *PORT_DAY_SUMS,
)
"""What of the hour tiles is looked at."""


def days_of(lanes: pl.DataFrame, ports: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Day tiles of one day.

    Args:
        lanes: its rows of ``lane_tiles``, every version, in the order in which they were committed.
        ports: likewise of ``port_tiles``.

    Returns:
        Rows of `LANE_DAYS` and of `PORT_DAYS`; a port of which something came late has one more of each for each hour
        in which something did.
    """
    hours = pl.concat([lanes.select("hour"), ports.select("hour")])["hour"].to_physical()
    if hours.len() == 0:
        return polars_schema(LANE_DAYS).to_frame(), polars_schema(PORT_DAYS).to_frame()
    day_us = int(hours.min()) // _DAY_US * _DAY_US  # type: ignore[arg-type]  # there is one
    due = day_us + _DAY_US + int(MADE_AFTER / timedelta(microseconds=1))
    lanes, ports = (_known(tiles, due) for tiles in (lanes, ports))
    on_time = pl.col("known") <= due
    versions = [_make(lanes.filter(on_time), ports.filter(on_time), day_us)]
    late = pl.concat(tiles.filter(~on_time).select(*PORT, "known") for tiles in (lanes, ports)).unique()
    for receipt in late["known"].unique().sort():
        changed = late.filter(pl.col("known") == receipt)
        of_lanes, of_ports = (
            tiles.filter(pl.col("known") <= receipt).join(changed, on=PORT, how="semi", maintain_order="left")
            for tiles in (lanes, ports)
        )
        versions.append(_make(of_lanes, of_ports, day_us))
    made_lanes, made_ports = zip(*versions, strict=True)
    return pl.concat(made_lanes), pl.concat(made_ports)


def _known(tiles: pl.DataFrame, due: int) -> pl.DataFrame:
    """With the time from which each is known: times that are asked for are whole hours."""
    received = tiles["received_at"].to_physical().to_numpy()
    return tiles.with_columns(
        pl.col(PORT).cast(pl.Categorical),
        known=np.maximum(-(-received // _HOUR_US) * _HOUR_US, due),
    )


def _make(lanes: pl.DataFrame, ports: pl.DataFrame, day_us: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    names = arrange([lanes], [ports])
    of_lanes, of_ports = (
        placed(tiles, row, (tiles["hour"].to_physical().to_numpy() - day_us) // _HOUR_US, (count, _HOURS))
        for tiles, row, count in (
            (lanes, names.lane_rows[0], names.lanes.height),
            (ports, names.port_rows[0], names.ports.height),
        )
    )
    received = np.zeros(names.ports.height, np.int64)
    np.maximum.at(received, names.port_rows[0], ports["received_at"].to_physical().to_numpy())
    lane_port = names.lane_port
    np.maximum.at(received, lane_port[names.lane_rows[0]], lanes["received_at"].to_physical().to_numpy())
    head = names.ports.with_columns(
        time=pl.lit(day_us).cast(pl.Datetime("us", "UTC")),
        received_at=pl.Series(received).cast(pl.Datetime("us", "UTC")),
        kernel=pl.lit(DAY_KERNEL, pl.Int32),
    )
    temp = of_ports.dense("temp_mean")
    lane_days = head[lane_port].with_columns(lane=names.lanes["lane"], **_of_lanes(of_lanes, temp[lane_port]))
    spoken = np.zeros(names.ports.height, np.bool_)
    spoken[names.port_rows[0]] = True
    port_days = head.with_columns(**_of_ports(of_ports)).filter(pl.Series(spoken))
    return _in_schema(lane_days, LANE_DAYS), _in_schema(port_days, PORT_DAYS)


def _in_schema(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    return rows.select(pl.col(name).cast(kind) for name, kind in polars_schema(table).items())


def _centres(name: str, hourly: Floats) -> dict[str, pl.Series]:
    stats = day_centres(hourly)
    return {f"{name}_{stat}": pl.Series(stats[k]).fill_nan(None) for k, stat in enumerate(DAY_STATS)}


def day_sum(hourly: NDArray[Any]) -> Floats64:
    """The sum of each row; NaN where it holds nothing."""
    total = np.nansum(hourly, axis=1, dtype=np.float64)
    return np.where(np.isnan(hourly).all(axis=1), np.nan, total)


def lane_gauges(lanes: Grid, temp: Floats) -> dict[str, Floats]:
    """Hourly values of `LANE_DAY_GAUGES`; `temp` is that of each lane's port."""
    raw = np.log(lanes.dense("bias_mean"))
    gauges = {"bias": (raw - BIAS_PER_C * temp).astype(np.float32), "bias_raw": raw}
    return gauges | {name: lanes.dense(f"{name}_mean") for name in ("tx", "rx", "ber")}


def port_gauges(ports: Grid, corrected: Floats) -> dict[str, Floats]:
    """Hourly values of `PORT_DAY_GAUGES`; `corrected` is the growth of that counter in each hour of a day."""
    seconds = elapsed(np.where(np.isnan(corrected), np.float32(np.nan), ports.dense("last_s")), _HOURS)
    counted = log_ber_from_counter(corrected, seconds, np.ones_like(corrected))
    return {"cber": counted} | {name: ports.dense(f"{name}_mean") for name in ("temp", "volt", "pber")}


@dataclass(frozen=True, slots=True)
class DayCounter:
    """A counter on some days: its first and last reading, its growth in each hour, and in all."""

    first: Floats64
    last: Floats64
    hourly: Floats
    grown: Floats64


def day_counter(ports: Grid, counter: str) -> DayCounter:
    """A counter, from hours of days."""
    first, last, within = (ports.dense(f"{counter}_{part}", np.float64) for part in ("first", "last", "grown"))
    hourly = growth(first, last, within, _HOURS)
    return DayCounter(_end(first), _end(last[:, ::-1]), hourly, day_sum(hourly))


def _of_lanes(lanes: Placed, temp: Floats) -> dict[str, pl.Series]:
    columns = {"rows": _or_nan(day_sum(lanes.dense("rows")))}
    for name, hourly in lane_gauges(lanes, temp).items():
        columns |= _centres(name, hourly)
    return columns


def _of_ports(ports: Placed) -> dict[str, pl.Series]:
    columns = {name: _or_nan(day_sum(ports.dense(name))) for name in PORT_DAY_SUMS}
    found = {counter: day_counter(ports, counter) for counter in COUNTERS}
    for counter, one in found.items():
        columns |= {f"{counter}_{part}": _or_nan(getattr(one, part)) for part in ("first", "last", "grown")}
    for name, hourly in port_gauges(ports, found["corrected"].hourly).items():
        columns |= _centres(name, hourly)
    return columns | _serials(ports)


def _or_nan(values: Floats64) -> pl.Series:
    return pl.Series(values).fill_nan(None)


def _end(hourly: Floats64) -> Floats64:
    """The first value of each row."""
    first: Floats64 = np.take_along_axis(hourly, np.argmax(~np.isnan(hourly), axis=1)[:, None], axis=1)[:, 0]
    return first


def serial_hours(codes: NDArray[np.int32]) -> dict[str, Ints]:
    """The hours of a day in which the first and the last serial, and the last other one than before, were read.

    Args:
        codes: shape (rows, hours of the day), -1 where none was.

    Returns:
        Shape (rows,) each, -1 where there is no such hour.
    """
    seen = codes >= 0
    hour = np.where(seen, np.arange(_HOURS), -1)
    newest = np.maximum.accumulate(hour, axis=1)
    before = np.concatenate([np.full((codes.shape[0], 1), -1), newest[:, :-1]], axis=1)
    changed = seen & (before >= 0) & (np.take_along_axis(codes, np.maximum(before, 0), axis=1) != codes)
    return {
        "first": np.where(seen.any(axis=1), seen.argmax(axis=1), -1),
        "last": newest[:, -1],
        "changed": np.where(changed, np.arange(_HOURS), -1).max(axis=1),
    }


def _serials(ports: Placed) -> dict[str, pl.Series]:
    """The first and the last serial read, and the hours in which they, and the last other one than before, were."""
    codes = ports.codes("serial")
    tile = np.zeros(codes.shape, np.int64)
    tile[ports.where] = np.arange(ports.rows.height)
    hours = serial_hours(codes)
    out = {f"serial_{which}_h": _or_null(pl.Series(found), found) for which, found in hours.items()}
    for which in ("first", "last"):
        at = np.take_along_axis(tile, np.maximum(hours[which], 0)[:, None], axis=1)[:, 0]
        told = ports.rows["serial"].gather(at) if ports.rows.height else pl.Series([None] * at.size, dtype=pl.String)
        out[f"serial_{which}"] = _or_null(told, hours[which])
    return out


def _or_null(values: pl.Series, place: Ints) -> pl.Series:
    return pl.select(pl.when(pl.Series(place >= 0)).then(values)).to_series()


def _fingerprint() -> int:
    """31 bits of a digest of every line of code that decides what a day tile says."""
    modules = (baseline_kernels, counter_kernels, day_tables, dense, sys.modules[__name__])
    sources = [str(KERNEL), str(BIAS_PER_C), inspect.getsource(log_ber_from_counter), *map(inspect.getsource, modules)]
    digest = hashlib.sha256("\n".join(sources).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


DAY_KERNEL: Final = _fingerprint()
"""Which code made a day tile: those of other code are not read, and made anew."""
