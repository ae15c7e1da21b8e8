"""What may be believed of a device's readings: rules over all its ports at one time, as arrays.

Rules carry the rows of field_faults.md that they answer; a reading that cannot be believed becomes NaN, never 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ingest.decode.slots import QUANTITIES
from ingest.units import NO_LIGHT_DBM

__all__ = [
    "BIAS_EPSILON_MA",
    "LIMIT_NAMES",
    "Flags",
    "Floats",
    "Rows",
    "across",
    "judge",
    "plausible_limits",
]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

BIAS_EPSILON_MA = 0.1
"""Below it a laser is off: a shut laser was seen to report one bit, 0.002 mA (row 10); lasers start at some mA."""

LIMIT_NAMES = ("low_alarm", "low_warn", "high_warn", "high_alarm")

_RX, _TX, _BIAS, _LASER, _BER, _SNR, _TEMPERATURE, _VOLTAGE, _HOST_SNR = range(len(QUANTITIES))
_POWERS: Final = [_RX, _TX]
_WINDOWS = {
    # -40 dBm is the floor of SFF-8472; what devices say below it (to -100) is no light, beyond is a sentinel (row 12).
    "rx_power_dbm": (-100.0, 15.0),
    "tx_power_dbm": (-100.0, 15.0),
    "tx_bias_ma": (0.0, 1_000.0),
    "temperature_c": (-50.0, 125.0),
    "laser_temperature_c": (-50.0, 125.0),
    "voltage_v": (0.5, 6.5),  # supplies are 3.3 V, XFP and XENPAK 5 V; an exact 0 of a running module is "none"
    "pre_fec_ber": (0.0, 1.0),
    "snr_db": (0.0, 100.0),
    "host_snr_db": (0.0, 100.0),
}
_LOW, _HIGH = (np.array([_WINDOWS[name][i] for name in QUANTITIES]) for i in (0, 1))
_SATURATED = {
    # 0xFFFF in SFF-8472's units of 0.1 uW, 2 uA and 0.1 mV: the register's end, not a reading (row 68).
    "rx_power_dbm": 10 * math.log10(6.5535),
    "tx_power_dbm": 10 * math.log10(6.5535),
    "tx_bias_ma": 131.07,
}
_ENDS = np.array([_SATURATED.get(name, math.inf) for name in QUANTITIES])
_SATURATION_SLACK = 1e-3


@dataclass(frozen=True)
class Rows:
    """The rows of a grid: a port and a lane each, sorted, all rows of a port together.

    Attributes:
        port: number of each row's port, ascending without gaps, shape (rows,).
        lane: of each row, ascending within a port; 0 is the module's own.
    """

    port: npt.NDArray[np.int64]
    lane: npt.NDArray[np.int8]

    @classmethod
    def of(cls, port: Sequence[int], lane: Sequence[int]) -> "Rows":
        """Rows from two columns."""
        return cls(np.asarray(port, np.int64), np.asarray(lane, np.int8))

    @property
    def ports(self) -> int:
        """How many ports there are."""
        return int(self.port[-1]) + 1 if len(self.port) else 0

    @property
    def first(self) -> npt.NDArray[np.int64]:
        """Each port's first row."""
        return np.searchsorted(self.port, np.arange(self.ports))

    def any(self, rows: Flags) -> Flags:
        """By port whether any of its rows is so; (rows,) in, (ports,) out."""
        return np.asarray(np.logical_or.reduceat(rows, self.first)) if self.ports else rows[:0]


def across(flags: Flags) -> Flags:
    """By row whether any column is so; (rows, n) in, (rows,) out."""
    return np.asarray(flags.any(axis=1))


def judge(values: Floats, zero: Flags, rows: Rows, up: npt.NDArray[np.int8]) -> tuple[Floats, Flags]:
    """The readings with what cannot be believed set to NaN and no light to -40 dBm; and which only echo the lanes'.

    Args:
        values: shape (rows, quantities), in the order of `QUANTITIES`; a power of -inf is no light, NaN no reading.
        zero: the device's own number was exactly 0.
        rows: which port and lane each row is.
        up: by port 1 up, 0 down, -1 unknown.
    """
    values = _windowed(values, zero)
    values[rows.any(_silent(values, zero, rows))[rows.port]] = np.nan
    _judge_zeros(values, zero, rows, up[rows.port])
    echoes = _echoes(values, zero, rows)
    values[echoes] = np.nan
    return values, echoes


def _windowed(values: Floats, zero: Flags) -> Floats:
    values = values.copy()
    powers = values[:, _POWERS]
    powers[powers == -np.inf] = NO_LIGHT_DBM
    values[:, _POWERS] = powers
    with np.errstate(invalid="ignore"):
        outside = (values < _LOW) | (values > _HIGH) | (np.abs(values - _ENDS) < _SATURATION_SLACK)
    outside[:, _VOLTAGE] &= ~zero[:, _VOLTAGE]
    values[outside] = np.nan
    values[:, _POWERS] = np.maximum(values[:, _POWERS], NO_LIGHT_DBM)
    return values


def _silent(values: Floats, zero: Flags, rows: Rows) -> Flags:
    """Rows of ports that say 0 to everything, temperature or supply among it: no module, or none with DOM (34, 67)."""
    given = ~np.isnan(values)
    speaks = rows.any(across(given & ~zero))
    asked = rows.any(across(given[:, [_TEMPERATURE, _LASER, _VOLTAGE]]))
    return np.asarray((~speaks & asked)[rows.port])


def _judge_zeros(values: Floats, zero: Flags, rows: Rows, up: npt.NDArray[np.int8]) -> None:
    """What an exact 0 means, in place.

    * Row 67: 0 V is "not read", and 0 C with a running laser too.
    * Row 6: 0.00 dBm is no light on a port that is down and a legal milliwatt on one that is up; where the port's
      state is unknown, so is the reading. Zero watts were an honest "no light" already.
    * Row 34: on a port that is up a lane that says 0 to everything is copper, and a laser without current does not
      shine.
    """
    with np.errstate(invalid="ignore"):
        running = rows.any(values[:, _BIAS] >= BIAS_EPSILON_MA)[rows.port]
    nothing = values[:, [_RX, _TX, _BIAS]] == 0.0
    dark = nothing.all(axis=1)
    values[zero[:, _VOLTAGE], _VOLTAGE] = np.nan
    values[zero[:, _TEMPERATURE] & running, _TEMPERATURE] = np.nan
    for power, unlit in ((_RX, dark), (_TX, dark | zero[:, _BIAS])):
        exact = values[:, power] == 0.0
        values[exact & (up == 0), power] = NO_LIGHT_DBM
        values[exact & ((up < 0) | ((up > 0) & unlit)), power] = np.nan
    values[dark & (up > 0), _BIAS] = np.nan


def _echoes(values: Floats, zero: Flags, rows: Rows) -> Flags:
    """The module's own values that only repeat or hide what its lanes say (row 14).

    One beside two or more lanes that says something of its own is an aggregate, and stays, with lane 0.
    """
    module = (rows.lane == 0)[:, None]
    if not rows.ports or module.all():
        return np.zeros_like(zero)
    given = ~np.isnan(values)
    beside = np.add.reduceat((given & ~module).astype(np.int64), rows.first, axis=0)[rows.port]
    return np.asarray(module & ((beside == 1) | ((beside > 1) & (zero | ~given))))


def plausible_limits(limits: Mapping[str, float], quantity: str) -> dict[str, float]:
    """The limits that can be a module's own; empty where they contradict each other (rows 21 and 30).

    A limit of 0 is one (row 28), unless all are 0; minus infinity is none (row 29).
    """
    low, high = _WINDOWS[quantity]
    power = quantity.endswith("_power_dbm")
    floor = NO_LIGHT_DBM - 5.0 if power else low - 10.0
    slack = 0.0 if power else 50.0
    kept = {name: value for name, value in limits.items() if floor <= value <= high + slack}
    if not any(kept.values()):
        return {}
    alarm_low, warn_low, warn_high, alarm_high = (kept.get(name) for name in LIMIT_NAMES)
    ordered = [value for value in (alarm_low, warn_low, warn_high, alarm_high) if value is not None]
    lows = [value for value in (alarm_low, warn_low) if value is not None]
    highs = [value for value in (warn_high, alarm_high) if value is not None]
    if ordered != sorted(ordered) or (lows and highs and max(lows) >= min(highs)):
        return {}
    return kept
