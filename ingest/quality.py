"""What may be believed of a module's readings: pure rules over one port at one time.

Rules carry the rows of field_faults.md that they answer; a reading that cannot be believed becomes None, never 0.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ingest.units import NO_LIGHT_DBM, floor_dbm

__all__ = ["BIAS_EPSILON_MA", "LIMIT_NAMES", "Reading", "believed", "laser_off", "plausible_limits"]

BIAS_EPSILON_MA = 0.1
"""Below it a laser is off: a shut laser was seen to report one bit, 0.002 mA (row 10); lasers start at some mA."""

LIMIT_NAMES = ("low_alarm", "low_warn", "high_warn", "high_alarm")

_POWERS = ("rx_power_dbm", "tx_power_dbm")
_WINDOWS = {
    # -40 dBm is the floor of SFF-8472; what devices say below it (to -100) is no light, beyond is a sentinel (row 12).
    "rx_power_dbm": (-100.0, 15.0),
    "tx_power_dbm": (-100.0, 15.0),
    "tx_bias_ma": (0.0, 1_000.0),
    "temperature_c": (-50.0, 125.0),
    "laser_temperature_c": (-50.0, 125.0),
    "voltage_v": (0.5, 6.5),  # supplies are 3.3 V, XFP and XENPAK 5 V; an exact 0 of a running module is "none"
}
_SATURATED = {
    # 0xFFFF in SFF-8472's units of 0.1 uW, 2 uA and 0.1 mV: the register's end, not a reading (row 68).
    "rx_power_dbm": 10 * math.log10(6.5535),
    "tx_power_dbm": 10 * math.log10(6.5535),
    "tx_bias_ma": 131.07,
}
_SATURATION_SLACK = 1e-3


@dataclass(frozen=True, slots=True)
class Reading:
    """One quantity of one lane, in canonical units; a power of -inf is no light, None is no reading.

    Attributes:
        interface: ifName of the port.
        lane: from 1; 0 where the device gives one value for the module.
        quantity: rx_power_dbm, tx_power_dbm, tx_bias_ma, laser_temperature_c, temperature_c or voltage_v.
        value: as the device has it, scaled; `believed` judges it.
        zero: the device's own number was exactly 0.
        limits: low_alarm, low_warn, high_warn, high_alarm where the device gives them.
    """

    interface: str
    lane: int
    quantity: str
    value: float | None
    zero: bool = False
    limits: dict[str, float] = field(default_factory=dict, compare=False)


def laser_off(bias_ma: float | None) -> bool | None:
    """Whether a laser is off; None where its current is unknown."""
    return None if bias_ma is None else bias_ma < BIAS_EPSILON_MA


def believed(readings: Iterable[Reading], *, oper_up: bool | None) -> list[Reading]:
    """One port's readings with what cannot be believed set to None and no light to -40 dBm."""
    readings = [replace(r, value=_windowed(r)) for r in readings]
    if _is_silent(readings):
        return [replace(r, value=None) for r in readings]
    running = any(laser_off(r.value) is False for r in readings if r.quantity == "tx_bias_ma")
    kept = [replace(r, value=_judged(r, readings, oper_up=oper_up, running=running)) for r in readings]
    return list(_without_echoes(kept))


def _windowed(reading: Reading) -> float | None:
    value = reading.value
    if value is None or math.isnan(value):
        return None
    if reading.quantity in _POWERS and value == -math.inf:
        return NO_LIGHT_DBM
    low, high = _WINDOWS[reading.quantity]
    if not low <= value <= high and not (reading.quantity == "voltage_v" and reading.zero):
        return None
    if abs(value - _SATURATED.get(reading.quantity, math.inf)) < _SATURATION_SLACK:
        return None
    return floor_dbm(value) if reading.quantity in _POWERS else value


def _is_silent(readings: list[Reading]) -> bool:
    """Everything 0, temperature or supply among it: no module, or one without DOM (rows 34 and 67)."""
    given = [r for r in readings if r.value is not None]
    return all(r.zero for r in given) and any(r.quantity in {"temperature_c", "voltage_v"} for r in given)


def _judged(reading: Reading, others: list[Reading], *, oper_up: bool | None, running: bool) -> float | None:
    if reading.value is None or not reading.zero:
        return reading.value
    if reading.quantity == "voltage_v" or (reading.quantity == "temperature_c" and running):
        return None  # row 67: 0 C, and 0 V still more, with a running module is "not read"
    same_lane = {r.quantity: r for r in others if r.lane == reading.lane}
    # Zero watts are an honest "no light"; only 0.00 dBm can stand for "nothing".
    dark = all(q in same_lane and same_lane[q].value == 0.0 for q in (*_POWERS, "tx_bias_ma"))
    if reading.quantity == "tx_bias_ma":
        return None if dark and oper_up else reading.value
    if reading.quantity not in _POWERS or reading.value == NO_LIGHT_DBM:
        return reading.value
    return _zero_dbm(reading.quantity, same_lane, oper_up=oper_up, dark=dark)


def _zero_dbm(quantity: str, same_lane: dict[str, Reading], *, oper_up: bool | None, dark: bool) -> float | None:
    """Exactly 0.00 dBm (row 6): no light on a port that is down, a legal milliwatt on one that is up.

    On a port that is up it is still no reading where the whole lane says 0 (row 34: copper), or where a laser
    without current would shine. Where the port's state is unknown, so is the reading.
    """
    if oper_up is None:
        return None
    if not oper_up:
        return NO_LIGHT_DBM
    bias = same_lane.get("tx_bias_ma")
    unlit = quantity == "tx_power_dbm" and bias is not None and bias.zero
    return None if dark or unlit else 0.0


def _without_echoes(readings: list[Reading]) -> Iterator[Reading]:
    """Drop the module's own value where it only repeats or hides what the lanes say (row 14).

    It stays beside two or more lanes where it says something: it is then an aggregate, with lane 0.
    """
    lanes: dict[str, set[int]] = {}
    for r in readings:
        if r.lane and r.value is not None:
            lanes.setdefault(r.quantity, set()).add(r.lane)
    for r in readings:
        beside = len(lanes.get(r.quantity, ()))
        if r.lane or not beside or (beside > 1 and r.value is not None and not r.zero):
            yield r


def plausible_limits(limits: dict[str, float], quantity: str) -> dict[str, float]:
    """The limits that can be a module's own; empty where they contradict each other (rows 21 and 30).

    A limit of 0 is one (row 28), unless all are 0; minus infinity is none (row 29).
    """
    low, high = _WINDOWS[quantity]
    floor = NO_LIGHT_DBM - 5.0 if quantity in _POWERS else low - 10.0
    slack = 0.0 if quantity in _POWERS else 50.0
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
