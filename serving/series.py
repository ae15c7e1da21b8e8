"""Readings of one module over time, thinned out for a plot: of each span the lowest, the highest and the mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import polars as pl

from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Table

__all__ = ["Column", "Point", "Series", "read_series"]


class Column(StrEnum):
    """What there is a series of: columns of ``lane_samples``, then of ``port_samples``."""

    TX_POWER_DBM = "tx_power_dbm"
    RX_POWER_DBM = "rx_power_dbm"
    TX_BIAS_MA = "tx_bias_ma"
    PRE_FEC_BER = "pre_fec_ber"
    SNR_DB = "snr_db"
    LASER_TEMPERATURE_C = "laser_temperature_c"
    TEMPERATURE_C = "temperature_c"
    VOLTAGE_V = "voltage_v"
    HOST_SNR_DB = "host_snr_db"
    FEC_CORRECTED = "fec_corrected"
    FEC_UNCORRECTED = "fec_uncorrected"
    LINK_FLAPS = "link_flaps"


_OF_LANES: Final = tuple(Column)[:6]


@dataclass(frozen=True, slots=True)
class Point:
    """What was read in a span that begins at a time."""

    time: datetime
    low: float
    high: float
    mean: float
    readings: int


@dataclass(frozen=True, slots=True)
class Series:
    """A column of one lane; of the module where `lane` is None, or of one port of its breakout."""

    column: str
    lane: int | None
    points: tuple[Point, ...]
    sub_interface: str | None = None


def read_series(
    lake: Lake,
    port: tuple[str, str, str],
    columns: Sequence[Column],
    span: tuple[datetime, datetime],
    points: int,
) -> list[Series]:
    """At most so many points of each column and lane; no extreme between them is lost."""
    since, until = span
    width = max(timedelta(seconds=1), (until - since) / points)
    found: list[Series] = []
    for table in (LANE_SAMPLES, PORT_SAMPLES):
        wanted = [str(name) for name in dict.fromkeys(columns) if (name in _OF_LANES) == (table is LANE_SAMPLES)]
        if wanted:
            found += _of_table(lake, table, port, wanted, span, width)
    return found


def _of_table(
    lake: Lake,
    table: Table,
    port: tuple[str, str, str],
    columns: list[str],
    span: tuple[datetime, datetime],
    width: timedelta,
) -> list[Series]:
    site, device, interface = port
    of_lanes = table is LANE_SAMPLES
    key = ["lane" if of_lanes else "sub_interface"]
    rows = lake.scan(table, since=span[0], until=span[1], devices=[(site, device)])
    rows = rows.filter(pl.col("interface") == interface).select(*key, "time", "received_at", *columns)
    rows = rows.sort("received_at").unique([*key, "time"], keep="last")
    step = (pl.col("time") - span[0]).dt.total_microseconds() // (width // timedelta(microseconds=1))
    long = rows.with_columns(pl.col(columns).cast(pl.Float64)).with_columns(step=step)
    long = long.unpivot(columns, index=[*key, "step"], variable_name="column", value_name="value").drop_nulls("value")
    value = pl.col("value")
    spans = long.group_by("column", *key, "step").agg(
        low=value.min(), high=value.max(), mean=value.mean(), readings=pl.len()
    )
    series: dict[tuple[str, int | None, str | None], list[Point]] = {}
    for row in spans.sort("column", *key, "step").collect().iter_rows(named=True):
        point = Point(span[0] + row["step"] * width, row["low"], row["high"], row["mean"], row["readings"])
        series.setdefault((row["column"], row.get("lane"), row.get("sub_interface")), []).append(point)
    return [Series(column, lane, tuple(points), part) for (column, lane, part), points in series.items()]
