"""Features of light and current: shifts, drifts and scatter of a port's lanes.

Each is a small frozen value that names its column and its direction; see `features.catalogue`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features.look import Look

__all__ = [
    "SIGMA_FLOOR",
    "Age",
    "Dip",
    "LanesMoved",
    "LocalShift",
    "OneLane",
    "Restless",
    "Scatter",
    "Shift",
    "Significance",
    "Slope",
]

Floats = NDArray[np.float32]

SIGMA_FLOOR: Final = {
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
        noise: Floats = np.maximum(look.noise(self.metric), SIGMA_FLOOR[self.metric])
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
        noise: Floats = np.maximum(look.noise(self.metric), SIGMA_FLOOR[self.metric])
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
        return np.log10(np.maximum(scatter, SIGMA_FLOOR[self.metric]))


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


_MOVED: Final = {"rx": (-1.0, 0.3), "ber": (1.0, 0.2)}
"""Where a metric goes when it goes wrong, and how far at least if it has moved (dB, decades) [judgement]."""


@dataclass(frozen=True, slots=True)
class LanesMoved:
    """How far the mean lane has moved for what the worst has, 0 to 1: a fibre moves all, a laser one.

    Missing where none has moved.
    """

    metric: str
    hours: int

    @property
    def name(self) -> str:
        return f"{self.metric}_lanes_moved_{self.hours}h"

    @property
    def sign(self) -> int:
        return 0

    def values(self, look: Look) -> Floats:
        towards, least = _MOVED[self.metric]
        moved = np.float32(towards) * look.shift(self.metric, self.hours)
        worst = look.worst(self.metric, moved, "max")
        mean = look.middle(self.metric, np.maximum(moved, 0))
        return np.where(worst >= least, mean / np.maximum(worst, np.float32(least)), np.float32(np.nan))


@dataclass(frozen=True, slots=True)
class Age:
    """Hours since the worst lane had gone no more than a part of the way from its baseline (log1p): sudden or slow.

    Looks back three days; missing where it has not moved.
    """

    metric: str
    percent: int

    @property
    def name(self) -> str:
        return f"{self.metric}_age_{self.percent}"

    @property
    def sign(self) -> int:
        return 0

    def values(self, look: Look) -> Floats:
        age = look.age(self.metric, self.percent / 100, *_MOVED[self.metric])
        return np.log1p(look.worst(self.metric, age, "min"))
