"""A feature's value in an operator's words: what was measured, and how much, with its unit.

Features are on the scales that a model learns from (logarithms, shares, standard deviates); here they are turned back
into decibels, times, counts and percent.
"""

from collections.abc import Callable
from math import expm1, isnan
from typing import Any, Final

from features.catalogue import CATALOGUE, Fact
from features.optics import Age, Dip, LanesMoved, LocalShift, OneLane, Restless, Scatter, Shift, Significance, Slope
from features.passage import Closing, FirstPassage, LightUsed, Margin, Spent
from features.signals import Accelerating, Dark, Grown, Missing, Share, VoltageDip

__all__ = ["told"]

Say = Callable[[float], str]

_METRIC: Final = {
    "rx": "received light",
    "tx": "launched light",
    "bias": "laser current at equal temperature",
    "ber": "bit errors before correction",
    "q": "signal quality (Q)",
    "temp": "temperature",
    "volt": "supply voltage",
}
_COUNTER: Final = {
    "flaps": "flaps",
    "uncorrected": "codewords lost",
    "crc": "frames lost (CRC)",
    "symbol": "symbol errors",
    "readerr": "failed reads of the module's memory",
}
_STATE: Final = {
    "down": "link down",
    "los": "light lost (LOS)",
    "fault": "transmitter fault",
    "admin_down": "switched off by hand",
}
_UNIT: Final = {"rx": "dB", "tx": "dB", "temp": "°C", "volt": "V"}
_GREAT: Final = 100
"""From here on digits after the point say nothing."""


def told(column: str, value: float | None) -> tuple[str, str]:
    """What a column of `features.pipeline.FeaturePipeline` measures, and the value with its unit.

    >>> told("rx_min_shift_6h", -2.13)
    ('received light, 6 h against the baseline', '-2.1 dB')
    >>> told("flaps_24h", 2.4849)
    ('flaps in 24 h', '11')

    Args:
        column: of one end, without ``peer_``, or of the link.
        value: as the column has it; NaN or None where it is not known.

    Raises:
        KeyError: there is no such column.
    """
    what, say = _TOLD[column]
    return what, "not known" if value is None or isnan(value) else say(value)


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if abs(value) >= _GREAT else f"{value:+.2g}"


def _times(factor: float) -> str:
    return f"{factor:,.0f}-fold" if factor >= _GREAT else f"{factor:.2g}-fold"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _grown(value: float) -> str:
    return _count(expm1(value))


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _sigmas(value: float) -> str:
    return f"{value:+.1f} standard deviations"


def _change(metric: str) -> Say:
    """A difference of a metric, in the unit that people use: bias is a logarithm, the error ratio decades."""
    if metric == "bias":
        return lambda value: f"{100 * expm1(value):+.1f} %"
    if metric == "ber":
        return lambda value: _times(10.0**value)
    return lambda value: f"{_signed(value)} {_UNIT[metric]}"


def _daily(metric: str) -> Say:
    say = _change(metric)
    return lambda value: f"{say(value)} a day"


_KINDS: Final[dict[type, Callable[[Any], tuple[str, Say]]]] = {
    Shift: lambda one: (f"{_METRIC[one.metric]}, {one.hours} h against the baseline", _change(one.metric)),
    LocalShift: lambda one: (
        f"{_METRIC[one.metric]}, {one.hours} h against the baseline, less what the device's other ports did",
        _change(one.metric),
    ),
    Significance: lambda one: (
        f"{_METRIC[one.metric]}, {one.hours} h against the baseline, in units of its own scatter",
        _sigmas,
    ),
    OneLane: lambda one: (f"{_METRIC[one.metric]}, worst lane against its module's others", _change(one.metric)),
    LanesMoved: lambda one: (f"{_METRIC[one.metric]}: what the mean lane moved, of the worst lane's", _share),
    Age: lambda one: (
        f"{_METRIC[one.metric]}: since it had gone {one.percent} % of the way",
        lambda value: f"{_grown(value)} h",
    ),
    Slope: lambda one: (f"{_METRIC[one.metric]}, drift over {one.hours} h", _daily(one.metric)),
    Scatter: lambda one: (
        f"{_METRIC[one.metric]}, scatter of {one.hours} h against what is usual",
        lambda value: _times(1.0 + expm1(value)),
    ),
    Restless: lambda one: (
        f"{_METRIC[one.metric]}, scatter of {one.hours} h",
        lambda value: _change(one.metric)(10.0**value).removeprefix("+"),
    ),
    Dip: lambda one: (f"received light, lowest reading of {one.hours} h against the baseline", _change("rx")),
    Margin: lambda one: (f"{_METRIC[one.metric]}, left to the limit", _change(one.metric)),
    FirstPassage: lambda one: (
        f"{_METRIC[one.metric]}, beyond its limit in {one.horizon_h} h if it drifts on as in {one.hours} h",
        _sigmas,
    ),
    Spent: lambda one: (f"{_METRIC[one.metric]}, gone of the way from baseline to limit, {one.hours} h", _share),
    Closing: lambda one: (
        f"{_METRIC[one.metric]}, goes in a day of what is left to the limit, over {one.hours} h",
        lambda value: _share(10.0**value),
    ),
    LightUsed: lambda one: (f"received light, lost of what the errors leave, {one.hours} h", _share),
    Grown: lambda one: (f"{_COUNTER[one.counter]} in {one.hours} h", _grown),
    Accelerating: lambda one: (
        f"{_COUNTER[one.counter]}, last day against the week before",
        lambda value: _times(1.0 + expm1(value)),
    ),
    Share: lambda one: (f"{_STATE[one.state]}, of the readings of {one.hours} h", _share),
    Dark: lambda one: (f"readings without light, of {one.hours} h", _share),
    Missing: lambda one: (
        f"readings in {one.hours} h against what is usual, less what the whole device missed",
        lambda value: _times(1.0 + expm1(-value)),
    ),
    VoltageDip: lambda one: (f"supply voltage, lowest of {one.hours} h against the baseline", _change("volt")),
}
_FACTS: Final[dict[str, tuple[str, Say]]] = {
    "age_days": ("since installation, up to a month", lambda value: f"{value:.1f} days"),
    "since_touch_h": ("since a swap or repair at either end, up to a fortnight", lambda value: f"{_count(value)} h"),
    "link_tickets_30d": ("tickets of the link in 30 days", _count),
    "neighbour_touches_48h": ("repairs on other links of the device in two days", _count),
    "lot_excess": ("tickets of its lot against those of the fleet", lambda value: _times(2.0**value)),
    "technology": ("what makes the light (a code)", _count),
    "lanes": ("media lanes that reported within a day", _count),
}
_OF_LINK: Final[dict[str, tuple[str, Say]]] = {
    "loss_rise_in_6h": ("loss of the path into the end, 6 h against the baseline", _change("rx")),
    "loss_rise_out_6h": ("loss of the path out of the end, 6 h against the baseline", _change("rx")),
    "loss_rise_both_6h": ("loss of both directions, 6 h against the baseline, the lesser", _change("rx")),
    "flaps_both_24h": ("flaps seen by both ends in 24 h", _grown),
    "has_peer": ("far end that reports", _count),
}
_TOLD: Final = {
    **{one.name: _FACTS[one.name] if isinstance(one, Fact) else _KINDS[type(one)](one) for one in CATALOGUE},
    **_OF_LINK,
}
