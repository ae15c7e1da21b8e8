"""What a tile says: the quantities, what of them is believed, and the tables that tiles are kept in."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from features import tile_kernels
from ingest.schema import TIME, Table

__all__ = ["COUNTERS", "COUNTER_PARTS", "LANE_GAUGES", "LANE_TILES", "PORT_GAUGES", "PORT_TILES", "STATES", "Gauge"]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A quantity that is sampled, and the readings of it that mean nothing.

    Attributes:
        name: column stem in the tiles.
        column: column of the samples.
        low: below this the module is off or dark, which is a state and not a level.
        high: above this no module can be.
        jump: an isolated sample this far from both neighbours is a glitch.
        step: in a row that is marked as a glitch already, this far is enough; infinite where the mark is never
            about this quantity.
        upward: a marked row is wrong about this quantity only where it lies above its neighbours.
        log: take the decimal logarithm first (bit error ratios span twelve decades).
    """

    name: str
    column: str
    low: float
    high: float
    jump: float
    step: float
    upward: bool = False
    log: bool = False

    def values(self, samples: pl.DataFrame) -> NDArray[np.float32]:
        """The column as the kernel takes it: missing as NaN."""
        column = samples[self.column]
        return self.scaled(column.cast(pl.Float64 if self.log else pl.Float32).to_numpy())

    def scaled(self, read: NDArray[np.floating]) -> NDArray[np.float32]:
        """Readings as the kernel takes them."""
        if not self.log:
            return np.ascontiguousarray(read, np.float32)
        values = np.empty(read.shape[0], np.float32)
        tile_kernels.log10_from(np.ascontiguousarray(read, np.float64), BER_FLOOR, values)
        return values


BER_FLOOR: Final = 1e-18
"""OpenConfig reports anything smaller as 0."""

# Steps are those by which the collector marks glitches (`ingest.decode.history`); of light it marks rises only.
LANE_GAUGES: Final = (
    # SFF-8472 encodes -40 dBm to +8.2 dBm; -40 itself is "no light". Jump: half the way from a good level to it.
    Gauge("tx", "tx_power_dbm", -39.5, 10.0, 15.0, 3.0, upward=True),
    Gauge("rx", "rx_power_dbm", -39.5, 10.0, 15.0, 3.0, upward=True),
    # Below 0.05 mA the laser is off; CMIS reaches 524 mA (131 mA times 4).
    Gauge("bias", "tx_bias_ma", 0.05, 524.0, 30.0, 15.0),
    Gauge("ber", "pre_fec_ber", -18.0, -0.3, 3.0, float("inf"), log=True),
)
PORT_GAUGES: Final = (
    Gauge("temp", "temperature_c", -40.0, 120.0, 15.0, 15.0),
    Gauge("volt", "voltage_v", 1.0, 6.0, 0.5, 0.3),
    Gauge("pber", "pre_fec_ber", -18.0, -0.3, 3.0, float("inf"), log=True),
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

COUNTER_PARTS: Final = ("first", "last", "grown", "burst")

STATES: Final = {
    "down": pl.col("oper_up").not_() & pl.col("admin_up").fill_null(value=True),
    "admin_down": pl.col("admin_up").not_(),
    "los": pl.col("rx_los"),
    "fault": pl.col("tx_fault"),
}
"""States of a port whose samples are counted."""


def _table(name: str, key: tuple[str, ...], columns: list[tuple[str, pa.DataType]]) -> Table:
    keys = [(k, pa.int8() if k == "lane" else pa.string()) for k in key]
    fields = [*keys, ("hour", TIME), ("received_at", TIME), ("kernel", pa.int32()), ("serial", pa.string()), *columns]
    return Table(name, pa.schema(fields), (*key, "hour"), "hour")


def _gauge_columns(gauges: tuple[Gauge, ...]) -> list[tuple[str, pa.DataType]]:
    return [(f"{gauge.name}_{stat}", pa.float32()) for gauge in gauges for stat in tile_kernels.STATS]


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
        *((f"{c}_{part}", pa.float64()) for c in COUNTERS for part in COUNTER_PARTS),
        *((state, pa.int32()) for state in ("rows", *STATES)),
        ("first_s", pa.float32()),
        ("last_s", pa.float32()),
    ],
)
