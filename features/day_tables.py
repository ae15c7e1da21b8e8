"""What a day tile says, and the tables that day tiles are kept in.

Of each gauge's hourly means a day keeps how many there are, their median and their scatter about it; of counters the
first and last reading and the growth between; of states the number of samples; and the serials that were read.
"""

from typing import Final

import pyarrow as pa

from features.tile_tables import COUNTERS, STATES
from ingest.schema import TIME, Table

__all__ = ["COUNTER_ENDS", "DAY_STATS", "LANE_DAYS", "LANE_DAY_GAUGES", "PORT_DAYS", "PORT_DAY_GAUGES", "PORT_DAY_SUMS"]

DAY_STATS: Final = ("n", "centre", "scatter")
"""Of a gauge's hourly means: how many, their median, 1.4826 times the median distance from it."""

LANE_DAY_GAUGES: Final = ("tx", "rx", "bias", "bias_raw", "ber")
"""``bias`` is the logarithm of the current at equal temperature, of the hours that have one; ``bias_raw`` as it is."""
PORT_DAY_GAUGES: Final = ("temp", "volt", "pber", "cber")
"""``cber`` is what corrected codewords imply at a line rate of 1 Gb/s."""
COUNTER_ENDS: Final = ("first", "last", "grown")
PORT_DAY_SUMS: Final = ("rows", *STATES)
"""Samples in a state, and all."""

_PORT: Final = ("site", "device", "interface")


def _table(name: str, key: tuple[str, ...], columns: list[tuple[str, pa.DataType]]) -> Table:
    keys = [(k, pa.int8() if k == "lane" else pa.string()) for k in key]
    fields = [*keys, ("time", TIME), ("received_at", TIME), ("kernel", pa.int32()), *columns]
    return Table(name, pa.schema(fields), (*key, "time"), "time", history=True)


def _gauges(names: tuple[str, ...]) -> list[tuple[str, pa.DataType]]:
    return [(f"{name}_{stat}", pa.float32()) for name in names for stat in DAY_STATS]


LANE_DAYS: Final = _table("lane_days", (*_PORT, "lane"), [*_gauges(LANE_DAY_GAUGES), ("rows", pa.int32())])
PORT_DAYS: Final = _table(
    "port_days",
    _PORT,
    [
        *_gauges(PORT_DAY_GAUGES),
        *((f"{counter}_{end}", pa.float64()) for counter in COUNTERS for end in COUNTER_ENDS),
        *((name, pa.int32()) for name in PORT_DAY_SUMS),
        *((f"serial_{which}", pa.string()) for which in ("first", "last")),
        *((f"serial_{which}_h", pa.int8()) for which in ("first", "last", "changed")),
    ],
)
