"""The features: each a small frozen value that names its column, its direction and what it means.

``sign`` is the physics: +1 where more of it can only mean more risk, -1 where less can, 0 where both may.
Relative quantities travel between vendors and sites; no device, vendor, part number or serial is among them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from features.look import DAY_H, Look
from features.physics import passage_deviates

__all__ = ["CATALOGUE", "Feature"]

Floats = NDArray[np.float32]

_SIGMA_FLOOR: Final = {
    metric: np.float32(sigma)
    for metric, sigma in {"tx": 0.03, "rx": 0.03, "bias": 0.004, "ber": 0.05, "temp": 0.3, "volt": 0.003}.items()
}
"""Smallest scatter believed, near the repeatability of DOM (0.05 dB, 0.2 % of bias: optics reference 4.7)."""


class Feature(Protocol):
    """A column of the feature table."""

    @property
    def name(self) -> str:
        """Its column."""

    @property
    def sign(self) -> int:
        """+1, -1 or 0; see the module's docstring."""

    def values(self, look: Look) -> Floats:
        """Shape (ports, times)."""


def _direction(side: str) -> int:
    return 1 if side == "max" else -1


@dataclass(frozen=True, slots=True)
class Shift:
    """How far the worst lane's last hours lie from its own baseline (dB, decades of BER, log of bias)."""

    metric: str
    hours: int
    side: str

    @property
    def name(self) -> str:
        return f"{self.metric}_{self.side}_shift_{self.hours}h"

    @property
    def sign(self) -> int:
        return _direction(self.side)

    def values(self, look: Look) -> Floats:
        return look.worst(self.metric, look.shift(self.metric, self.hours), self.side)


@dataclass(frozen=True, slots=True)
class LocalShift:
    """The same, less what the median port of the device did: heat and load move all of them together."""

    metric: str
    hours: int
    side: str

    @property
    def name(self) -> str:
        return f"{self.metric}_{self.side}_local_shift_{self.hours}h"

    @property
    def sign(self) -> int:
        return _direction(self.side)

    def values(self, look: Look) -> Floats:
        shift = look.shift(self.metric, self.hours)
        return look.worst(self.metric, shift, self.side) - look.common(look.middle(self.metric, shift))


@dataclass(frozen=True, slots=True)
class Significance:
    """The worst lane's shift in units of its own hourly scatter."""

    metric: str
    hours: int
    side: str

    @property
    def name(self) -> str:
        return f"{self.metric}_{self.side}_sigmas_{self.hours}h"

    @property
    def sign(self) -> int:
        return _direction(self.side)

    def values(self, look: Look) -> Floats:
        noise: Floats = np.maximum(look.noise(self.metric), _SIGMA_FLOOR[self.metric])
        return np.clip(look.worst(self.metric, look.shift(self.metric, self.hours) / noise, self.side), -100, 100)


@dataclass(frozen=True, slots=True)
class OneLane:
    """How far the worst lane has moved beyond the mean of its module: one laser or receiver, not the fibre."""

    metric: str
    hours: int
    side: str

    @property
    def name(self) -> str:
        return f"{self.metric}_{self.side}_one_lane_{self.hours}h"

    @property
    def sign(self) -> int:
        return 0

    def values(self, look: Look) -> Floats:
        shift = look.shift(self.metric, self.hours)
        return look.worst(self.metric, shift, self.side) - look.middle(self.metric, shift)


@dataclass(frozen=True, slots=True)
class Slope:
    """The worst lane's drift per day over a window."""

    metric: str
    hours: int
    side: str

    @property
    def name(self) -> str:
        return f"{self.metric}_{self.side}_slope_{self.hours}h"

    @property
    def sign(self) -> int:
        return _direction(self.side)

    def values(self, look: Look) -> Floats:
        return look.worst(self.metric, look.window(self.metric, self.hours, "slope"), self.side)


@dataclass(frozen=True, slots=True)
class Scatter:
    """Scatter of the most restless lane about its own trend, in units of its usual scatter (log)."""

    metric: str
    hours: int

    @property
    def name(self) -> str:
        return f"{self.metric}_scatter_{self.hours}h"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        noise: Floats = np.maximum(look.noise(self.metric), _SIGMA_FLOOR[self.metric])
        ratio = look.window(self.metric, self.hours, "scatter") / noise
        return np.log(np.maximum(look.worst(self.metric, ratio, "max"), 0.1))


@dataclass(frozen=True, slots=True)
class Restless:
    """Scatter of the most restless lane about its own trend, in its own unit (log10): good optics stand still."""

    metric: str
    hours: int

    @property
    def name(self) -> str:
        return f"{self.metric}_restless_{self.hours}h"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        scatter = look.worst(self.metric, look.window(self.metric, self.hours, "scatter"), "max")
        return np.log10(np.maximum(scatter, _SIGMA_FLOOR[self.metric]))


@dataclass(frozen=True, slots=True)
class Dip:
    """The deepest single reading of received power below the baseline: intermittent light."""

    hours: int

    @property
    def name(self) -> str:
        return f"rx_dip_{self.hours}h"

    @property
    def sign(self) -> int:
        return -1

    def values(self, look: Look) -> Floats:
        return look.worst("rx", look.window("rx_low", self.hours, "min") - look.base("rx"), "min")


_FAR_ENOUGH: Final = {"rx": 4.0, "tx": 3.0, "bias": 0.25, "ber": 4.0}
"""Margins beyond this are all the same: more would only tell modules apart (dB, dB, log, decades) [judgement]."""
_TOWARDS: Final = {"rx": -1.0, "tx": -1.0, "bias": 1.0, "ber": 1.0}


def _limit(look: Look, metric: str) -> Floats:
    """Shape (series, times): the limit a metric runs towards, in the metric's own unit."""
    table, which = look.history.table, look.history.installation
    if metric == "ber":
        limit = table.fec_limit[which]
    else:
        limit = table.limits[{"rx": "rx_low", "tx": "tx_low", "bias": "bias_high"}[metric]][which]
        if metric == "bias":
            limit = np.log(limit)
    rows: Floats = limit[look.owner(metric)].astype(np.float32)
    return rows


def _margin(look: Look, metric: str, hours: int) -> Floats:
    value = look.window("bias_raw" if metric == "bias" else metric, hours, "mean")
    return (_limit(look, metric) - value) * np.float32(_TOWARDS[metric])


@dataclass(frozen=True, slots=True)
class Margin:
    """Distance of the worst lane to its limit (module's low warning, FEC threshold), positive while inside."""

    metric: str
    hours: int

    @property
    def name(self) -> str:
        return f"{self.metric}_margin_{self.hours}h"

    @property
    def sign(self) -> int:
        return -1

    def values(self, look: Look) -> Floats:
        margin = look.worst(self.metric, _margin(look, self.metric, self.hours), "min")
        return np.minimum(margin, np.float32(_FAR_ENOUGH[self.metric]))


@dataclass(frozen=True, slots=True)
class FirstPassage:
    """Standard deviates by which the worst lane, drifting on as it does, is beyond its limit at the horizon."""

    metric: str
    hours: int
    horizon_h: int

    @property
    def name(self) -> str:
        return f"{self.metric}_passage_{self.hours}h_to_{self.horizon_h}h"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        towards = np.float32(_TOWARDS[self.metric])
        margin = _margin(look, self.metric, min(self.hours, 6))
        slope = towards * look.window(self.metric, self.hours, "slope")
        sigma = np.maximum(look.window(self.metric, self.hours, "scatter"), _SIGMA_FLOOR[self.metric])
        slope_sigma = sigma * np.float32(np.sqrt(12.0 / self.hours) / (self.hours / 24.0))
        deviates = passage_deviates(margin, slope, sigma, slope_sigma, self.horizon_h)
        return look.worst(self.metric, deviates, "max")


@dataclass(frozen=True, slots=True)
class Grown:
    """Growth of a counter in the last hours (log1p)."""

    counter: str
    hours: int

    @property
    def name(self) -> str:
        return f"{self.counter}_{self.hours}h"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        return np.log1p(look.counted(self.counter, self.hours))


@dataclass(frozen=True, slots=True)
class Accelerating:
    """Growth of a counter in the last day against the daily rate of the week before."""

    counter: str

    @property
    def name(self) -> str:
        return f"{self.counter}_accelerating"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        day, week = look.counted(self.counter, DAY_H), look.counted(self.counter, 8 * DAY_H)
        before = np.maximum(week - day, 0)  # float32 rounds each of them
        ratio: Floats = np.log((day + 1.0) / (before / 7.0 + 1.0))
        return ratio


@dataclass(frozen=True, slots=True)
class Share:
    """Share of samples in a state over the last hours."""

    state: str
    hours: int

    @property
    def name(self) -> str:
        return f"{self.state}_share_{self.hours}h"

    @property
    def sign(self) -> int:
        return 0 if self.state == "admin_down" else 1

    def values(self, look: Look) -> Floats:
        with np.errstate(invalid="ignore"):
            return look.state(self.state, self.hours) / look.state("rows", self.hours)


@dataclass(frozen=True, slots=True)
class Dark:
    """Share of readings without light on the darkest lane."""

    hours: int

    @property
    def name(self) -> str:
        return f"rx_dark_share_{self.hours}h"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        dark, rows = (look.lane_sum(column, self.hours) for column in ("rx_dark", "rows"))
        with np.errstate(invalid="ignore"):
            return look.worst("rx", dark / rows, "max")


@dataclass(frozen=True, slots=True)
class Missing:
    """Readings missing in the last hours against the day before, less what the whole device missed (log ratio)."""

    hours: int

    @property
    def name(self) -> str:
        return f"missing_{self.hours}h"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        now = np.nan_to_num(look.state("rows", self.hours)) / self.hours
        usual = look.state("rows", 7 * DAY_H) / (7 * DAY_H)  # NaN for ports that others' times brought in
        lack = np.log(usual + np.float32(0.1)) - np.log(now + np.float32(0.1))
        return lack - look.common(lack)


@dataclass(frozen=True, slots=True)
class VoltageDip:
    """Lowest supply voltage of the last hours below its baseline: a bad contact."""

    hours: int

    @property
    def name(self) -> str:
        return f"volt_dip_{self.hours}h"

    @property
    def sign(self) -> int:
        return -1

    def values(self, look: Look) -> Floats:
        return look.state("volt_min", self.hours, "min") - look.worst("volt", look.base("volt"), "min")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something the records say of the port; see `_FACTS`."""

    name: str
    sign: int = 0

    def values(self, look: Look) -> Floats:
        return _FACTS[self.name](look)


_FACTS: Final[dict[str, Callable[[Look], Floats]]] = {
    "age_days": lambda look: np.clip(look.history.age_days, 0, 30),
    "since_touch_h": lambda look: np.minimum(look.history.since_touch_h, 14 * DAY_H),
    "link_tickets_30d": lambda look: look.history.tickets_within(timedelta(days=30)),
    "neighbour_touches_48h": lambda look: look.history.neighbour_touches,
    "lot_excess": lambda look: np.clip(np.round(look.history.lot_excess), -1, 3),
    "technology": lambda look: look.history.table.technology[look.history.installation],
    "lanes": lambda look: look.lanes(DAY_H),
}
"""Days since installation up to a month (infant deaths), hours since a swap at either end or a repair up to a
fortnight, tickets of the link within 30 days (repeat offenders), repairs on other ports of the device within two
days (hands disturb neighbours), log2 of the lot's tickets over those expected in whole steps, laser technology
(a code), media lanes that report."""

_OPTICAL: Final = (("rx", "min"), ("tx", "min"), ("bias", "max"), ("ber", "max"))

CATALOGUE: Final[tuple[Feature, ...]] = (
    *(Shift(metric, hours, side) for metric, side in _OPTICAL for hours in (1, 6, 24)),
    Shift("bias", 6, "min"),
    Shift("volt", 24, "min"),
    *(LocalShift(metric, 6, side) for metric, side in (("bias", "max"), ("ber", "max"), ("temp", "max"))),
    *(Significance(metric, hours, side) for metric, side in _OPTICAL for hours in (6, 24)),
    *(OneLane(metric, 6, side) for metric, side in _OPTICAL),
    *(Slope(metric, hours, side) for metric, side in _OPTICAL for hours in (24, 72)),
    *(Scatter(metric, 24) for metric, _ in _OPTICAL),
    *(Restless(metric, 24) for metric, _ in _OPTICAL),
    Dip(6),
    Dip(24),
    *(Margin(metric, 6) for metric, _ in _OPTICAL),
    *(FirstPassage(metric, hours, 24) for metric in ("rx", "bias", "ber") for hours in (24, 72)),
    FirstPassage("ber", 72, 72),
    FirstPassage("rx", 72, 72),
    *(Grown("flaps", hours) for hours in (1, 6, 24, 72, 168)),
    *(Grown("uncorrected", hours) for hours in (1, 6, 24, 168)),
    Grown("crc", 24),
    Grown("symbol", 24),
    Grown("readerr", 24),
    Accelerating("flaps"),
    Accelerating("uncorrected"),
    *(Share(state, hours) for state in ("down", "los", "fault") for hours in (1, 24)),
    Share("admin_down", 6),
    Dark(24),
    Missing(6),
    VoltageDip(24),
    *(Fact(name) for name in _FACTS),
)
"""Every feature of one end of a link, in column order."""
