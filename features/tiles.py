"""Tiles: an hour of a lane or a port as a few statistics, computed once and kept in the lake.

A tile of hour *h* covers ``h <= time < h + 1 h``. Its ``received_at`` is that of its latest
sample, so that "what was known at a time" is a filter. Samples that come after their hour has
ended make further complete tiles of the same key with a later ``received_at``, one for each hour
in which some came; readers take the latest one received by then, and the earlier ones stay for
whoever asks as of an earlier time. So at each whole hour a reader sees what it would have seen then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from features import tile_kernels
from features.fleet import polars_schema
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, TIME, Table

__all__ = ["COUNTERS", "LANE_GAUGES", "LANE_TILES", "PORT_GAUGES", "PORT_TILES", "Gauge", "tile_day", "update_tiles"]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A quantity that is sampled, and the readings of it that mean nothing.

    Attributes:
        name: column stem in the tiles.
        column: column of the samples.
        low: below this the module is off or dark, which is a state and not a level.
        high: above this no module can be.
        jump: an isolated sample this far from both neighbours is a glitch.
        log: take the decimal logarithm first (bit error ratios span twelve decades).
    """

    name: str
    column: str
    low: float
    high: float
    jump: float
    log: bool = False

    def expr(self) -> pl.Expr:
        """The column as the kernel takes it: float32, missing as NaN."""
        value = pl.col(self.column).cast(pl.Float64)
        if self.log:
            value = value.clip(lower_bound=BER_FLOOR).log10()
        return value.cast(pl.Float32).fill_null(float("nan")).alias(self.name)


BER_FLOOR: Final = 1e-18
"""OpenConfig reports anything smaller as 0."""

LANE_GAUGES: Final = (
    # SFF-8472 encodes -40 dBm to +8.2 dBm; -40 itself is "no light". Jump: half the way from a good level to it.
    Gauge("tx", "tx_power_dbm", -39.5, 10.0, 15.0),
    Gauge("rx", "rx_power_dbm", -39.5, 10.0, 15.0),
    # Below 0.05 mA the laser is off; CMIS reaches 524 mA (131 mA times 4).
    Gauge("bias", "tx_bias_ma", 0.05, 524.0, 30.0),
    Gauge("ber", "pre_fec_ber", -18.0, -0.3, 3.0, log=True),
)
PORT_GAUGES: Final = (
    Gauge("temp", "temperature_c", -40.0, 120.0, 15.0),
    Gauge("volt", "voltage_v", 1.0, 6.0, 0.5),
    Gauge("pber", "pre_fec_ber", -18.0, -0.3, 3.0, log=True),
)
COUNTERS: Final = {
    "corrected": "fec_corrected",
    "uncorrected": "fec_uncorrected",
    "crc": "crc_errors",
    "symbol": "symbol_errors",
    "flaps": "link_flaps",
    "readerr": "read_errors",
}
"""Column stem in the tiles: cumulative counter of the port."""

_STATES: Final = {
    "rows": pl.len(),
    "down": (pl.col("oper_up").not_() & pl.col("admin_up").fill_null(value=True)).sum(),
    "admin_down": pl.col("admin_up").not_().sum(),
    "los": pl.col("rx_los").sum(),
    "fault": pl.col("tx_fault").sum(),
}
"""Counts of samples in a state, each port and hour."""


def _table(name: str, key: tuple[str, ...], columns: list[tuple[str, pa.DataType]]) -> Table:
    keys = [(k, pa.int8() if k == "lane" else pa.string()) for k in key]
    fields = [*keys, ("hour", TIME), ("received_at", TIME), ("serial", pa.string()), *columns]
    return Table(name, pa.schema(fields), (*key, "hour"), "hour")


def _gauge_columns(gauges: tuple[Gauge, ...]) -> list[tuple[str, pa.DataType]]:
    return [(f"{gauge.name}_{stat}", pa.float32()) for gauge in gauges for stat in tile_kernels.STATS]


_HOUR: Final = timedelta(hours=1)
_PORT: Final = ("site", "device", "interface")
LANE_TILES: Final = _table(
    "lane_tiles",
    (*_PORT, "lane"),
    [*_gauge_columns(LANE_GAUGES), ("rows", pa.int32()), ("rx_dark", pa.int32()), ("tx_dark", pa.int32())],
)
PORT_TILES: Final = _table(
    "port_tiles",
    _PORT,
    [
        *_gauge_columns(PORT_GAUGES),
        *((f"{c}_{part}", pa.float64()) for c in COUNTERS for part in ("first", "last", "grown", "burst")),
        *((state, pa.int32()) for state in _STATES),
        ("first_s", pa.float32()),
        ("last_s", pa.float32()),
    ],
)


def _grouped(samples: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """Samples sorted, one row a key and time (the latest received), with ``hour`` and the tile number ``group``."""
    codes = [pl.col(k).cast(pl.Categorical).to_physical() if k != "lane" else pl.col(k) for k in key]
    frame = samples.with_columns(pl.struct(codes).rank("dense").alias("series"))
    frame = frame.sort("series", "time", "received_at", maintain_order=True)  # of equal ones the last committed wins
    last_of_time = (pl.col("series") != pl.col("series").shift(-1)) | (pl.col("time") != pl.col("time").shift(-1))
    frame = frame.filter(last_of_time.fill_null(value=True)).with_columns(hour=pl.col("time").dt.truncate("1h"))
    starts = (pl.col("series") != pl.col("series").shift()) | (pl.col("hour") != pl.col("hour").shift())
    return frame.with_columns(group=starts.fill_null(value=True).cum_sum().cast(pl.Int64) - 1)


def _gauges(frame: pl.DataFrame, gauges: tuple[Gauge, ...]) -> list[pl.Series]:
    values = frame.select(gauge.expr() for gauge in gauges).to_numpy(order="c")
    bounds = [np.array([getattr(g, side) for g in gauges], np.float64) for side in ("low", "high", "jump")]
    stats = tile_kernels.tile_gauges(frame["group"].to_numpy(), np.ascontiguousarray(values, np.float32), *bounds)
    return [
        pl.Series(f"{gauge.name}_{stat}", stats[:, j, k]).fill_nan(None)
        for j, gauge in enumerate(gauges)
        for k, stat in enumerate(tile_kernels.STATS)
    ]


def _counters(frame: pl.DataFrame) -> list[pl.Series]:
    values = frame.select(pl.col(c).cast(pl.Float64).fill_null(float("nan")) for c in COUNTERS.values())
    grown = tile_kernels.tile_counters(frame["group"].to_numpy(), values.to_numpy(order="c"))
    return [
        pl.Series(f"{c}_{part}", grown[:, j, k]).fill_nan(None)
        for j, c in enumerate(COUNTERS)
        for k, part in enumerate(("first", "last", "grown", "burst"))
    ]


def _lane_tiles(samples: pl.DataFrame) -> pl.DataFrame:
    key = (*_PORT, "lane")
    frame = _grouped(samples, key)
    head = frame.group_by("group", maintain_order=True).agg(
        pl.col(*key, "hour").first(),
        pl.col("received_at").max(),
        pl.col("serial").drop_nulls().last(),
        pl.len().cast(pl.Int32).alias("rows"),
        (pl.col("rx_power_dbm") < LANE_GAUGES[1].low).sum().cast(pl.Int32).alias("rx_dark"),
        (pl.col("tx_power_dbm") < LANE_GAUGES[0].low).sum().cast(pl.Int32).alias("tx_dark"),
    )
    return head.with_columns(_gauges(frame, LANE_GAUGES)).select(LANE_TILES.schema.names)


def _port_tiles(samples: pl.DataFrame) -> pl.DataFrame:
    frame = _grouped(samples, _PORT)
    second = (pl.col("time") - pl.col("hour")).dt.total_milliseconds() / 1000.0
    head = frame.group_by("group", maintain_order=True).agg(
        pl.col(*_PORT, "hour").first(),
        pl.col("received_at").max(),
        pl.col("serial").drop_nulls().last(),
        *(count.cast(pl.Int32).alias(state) for state, count in _STATES.items()),
        second.min().cast(pl.Float32).alias("first_s"),
        second.max().cast(pl.Float32).alias("last_s"),
    )
    return head.with_columns(_gauges(frame, PORT_GAUGES) + _counters(frame)).select(PORT_TILES.schema.names)


def tile_day(samples: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Tiles of some samples: on-time ones first, then those of hours that late samples changed.

    Args:
        samples: rows of ``lane_samples`` or ``port_samples``, in any order, keys possibly repeated.
        table: `LANE_TILES` or `PORT_TILES`.

    Returns:
        Rows of that table; an hour with late samples has one more for each hour in which some arrived.
    """
    make = _lane_tiles if table is LANE_TILES else _port_tiles
    end = pl.col("time").dt.truncate("1h") + _HOUR
    # Times that are asked for are whole hours, so what arrives within an hour becomes visible at its end.
    seen = samples.with_columns(end=end, known=pl.max_horizontal(end, _hour_after(pl.col("received_at"))))
    versions = [pl.DataFrame(schema=polars_schema(table))]
    if (on_time := seen.filter(pl.col("known") == pl.col("end"))).height:
        versions.append(make(on_time))
    for receipt in seen.filter(pl.col("known") > pl.col("end"))["known"].unique().sort():
        hours = seen.filter(pl.col("known") == receipt).select(*_PORT, "end").unique()
        versions.append(make(seen.filter(pl.col("known") <= receipt).join(hours, on=[*_PORT, "end"], how="semi")))
    tiles = pl.concat(versions)
    return tiles.unique([*table.key, "received_at", "rows"], keep="first", maintain_order=True)


def _hour_after(time: pl.Expr) -> pl.Expr:
    """The whole hour at or after a time."""
    return (time - timedelta(microseconds=1)).dt.truncate("1h") + _HOUR


_SOURCES: Final = ((LANE_TILES, LANE_SAMPLES), (PORT_TILES, PORT_SAMPLES))


def update_tiles(lake: Lake, *, now: datetime | None = None, progress: Callable[[float], None] | None = None) -> int:
    """Bring the tiles up to date with the samples; only days whose files changed are read.

    Args:
        lake: where samples are and tiles go.
        now: hours that have not ended by then are left for later; the wall clock where not given.
        progress: called with the fraction done.

    Returns:
        Number of tiles written.
    """
    open_hour = (now or datetime.now(UTC)).astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    work = [
        (tiles, source, day, end, transaction)
        for tiles, source in _SOURCES
        for day, end, transaction in _changed_days(lake, tiles, source, open_hour)
    ]
    report = progress or (lambda _: None)
    written = 0
    for i, job in enumerate(work):
        report(i / len(work))
        written += _update_day(lake, *job)
    report(1.0)
    return written


def _changed_days(lake: Lake, tiles: Table, source: Table, open_hour: datetime) -> list[tuple[date, datetime, str]]:
    """Days whose files or whose end have changed since their tiles were made; where each ends, and how to record it."""
    days = []
    for day, digest in sorted(lake.fingerprints(source).items()):
        start = datetime(day.year, day.month, day.day, tzinfo=UTC)
        end = min(start + timedelta(days=1), open_hour)
        if end > start:
            days.append((day, end, f"{digest}:{end.isoformat()}"))
    done = lake.recorded(tiles, [transaction for _, _, transaction in days])
    return [job for job in days if job[2] not in done]


def _update_day(lake: Lake, tiles: Table, source: Table, day: date, end: datetime, transaction: str) -> int:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    fresh = tile_day(lake.scan(source, since=start, until=end).collect(), tiles)
    known = lake.scan(tiles, since=start, until=end).collect()
    if known.height:
        fresh = _news(fresh, known, tiles)
    lake.append(tiles, fresh, transaction=transaction)
    return fresh.height


def _news(fresh: pl.DataFrame, known: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Tiles that say something new: compaction takes superseded samples away, never what was said of them."""
    version = [*table.key, "received_at"]
    fuller = known.group_by(version).agg(pl.col("rows").max().alias("known_rows"))
    fresh = fresh.join(known, on=fresh.columns, how="anti", nulls_equal=True)
    fresh = fresh.join(fuller, on=version, how="left", maintain_order="left")
    return fresh.filter(pl.col("rows") >= pl.col("known_rows").fill_null(0)).drop("known_rows")
