"""Slots: where a device keeps each quantity, found once and read at every poll.

Discovery turns a profile and a device's answers into slots; a poll then looks at nothing but their cells.
"""

from dataclasses import dataclass, field
from typing import Final, Literal, get_args

__all__ = ["COUNTERS", "QUANTITIES", "Counter", "Kind", "Quantity", "Slot"]

Quantity = Literal[
    "rx_power_dbm",
    "tx_power_dbm",
    "tx_bias_ma",
    "laser_temperature_c",
    "pre_fec_ber",
    "snr_db",
    "temperature_c",
    "voltage_v",
    "host_snr_db",
]
QUANTITIES: Final[tuple[Quantity, ...]] = get_args(Quantity)
"""Readings, in the order of a grid's columns; lane 0 of the last three is the module's own."""

Counter = Literal[
    "fec_corrected",
    "fec_uncorrected",
    "crc_errors",
    "symbol_errors",
    "link_flaps",
    "in_packets",
    "out_packets",
    "read_errors",
]
COUNTERS: Final[tuple[Counter, ...]] = get_args(Counter)
"""Cumulative counters of a port, in the order of a grid's columns."""

Kind = Literal["sensor", "number", "text"]
"""What a column's cells are: a sensor's integer with its sentinels, a plain number, or text that holds one."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One quantity of one lane: which cell it is, and what that cell's number means.

    Attributes:
        interface: ifName of the port.
        lane: from 1; 0 where the device gives one value for the module.
        quantity: of `QUANTITIES` or `COUNTERS`.
        column: OID of the column.
        index: row in it.
        part: position in the cell's text where that holds several lanes, from 0.
        multiplier, divisor: the value is ``raw * multiplier / divisor``; dividing is exact where 0.01 is not.
        watts: the value so scaled is milliwatts, and becomes dBm.
        status: OID of the column in which this row must say 1 (ok).
        absent: raw numbers that stand for "no reading".
        no_light: raw numbers that stand for no power at all.
        limits: low_alarm, low_warn, high_warn, high_alarm in the quantity's unit, where the device gives them.
    """

    interface: str
    lane: int
    quantity: str
    column: str
    index: str
    kind: Kind = "number"
    part: int = 0
    multiplier: float = 1.0
    divisor: float = 1.0
    watts: bool = False
    status: str | None = None
    separator: str | None = None
    absent: tuple[float, ...] = ()
    no_light: tuple[float, ...] = ()
    limits: dict[str, float] = field(default_factory=dict, compare=False)
