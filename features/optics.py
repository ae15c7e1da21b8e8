"""Features of light and current: shifts, drifts, scatter, margins and first passage of a port's lanes.

Each is a small frozen value that names its column and its direction; see `features.catalogue`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features.look import Look
from features.physics import passage_deviates

__all__ = [
    "Dip",
    "FirstPassage",
    "LocalShift",
    "Margin",
    "OneLane",
    "Restless",
    "Scatter",
    "Shift",
    "Significance",
    "Slope",
]

Floats = NDArray[np.float32]

_SIGMA_FLOOR: Final = {
    metric: np.float32(sigma)
    for metric, sigma in {"tx": 0.03, "rx": 0.03, "bias": 0.004, "ber": 0.05, "temp": 0.3, "volt": 0.003}.items()
}
"""Smallest scatter believed, near the repeatability of DOM (0.05 dB, 0.2 % of bias: optics reference 4.7)."""


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
