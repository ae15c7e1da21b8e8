"""Features of counters, states and presence: what a port counts, says of itself, and fails to say.

Each is a small frozen value that names its column and its direction; see `features.catalogue`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features.look import DAY_H, Look

__all__ = ["Accelerating", "Dark", "Grown", "Missing", "Share", "VoltageDip"]

Floats = NDArray[np.float32]


_WINDOWS_H: Final = (72, 24, 6, 1)


@dataclass(frozen=True, slots=True)
class Grown:
    """Growth of a counter in the last hours (log1p); after a repair in the longest shorter window that is newer."""

    counter: str
    hours: int

    @property
    def name(self) -> str:
        return f"{self.counter}_{self.hours}h"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        grown = look.counted(self.counter, self.hours)
        shorter = [hours for hours in _WINDOWS_H if hours < self.hours]
        since = look.history.since_touch_h
        for longest, hours in zip((self.hours, *shorter), (*shorter, 0), strict=True):
            newer = look.counted(self.counter, hours) if hours else np.float32(0)
            grown = np.where(since < longest, newer, grown)
        return np.log1p(grown)


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
        days = look.span(8 * DAY_H) / DAY_H - 1
        ratio: Floats = np.log((day + 1.0) / (before / days + 1.0))
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
    """Readings missing in the last hours against the week before, less what the whole device missed (log ratio)."""

    hours: int

    @property
    def name(self) -> str:
        return f"missing_{self.hours}h"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        now = np.nan_to_num(look.state("rows", self.hours)) / self.hours
        usual = look.state("rows", 7 * DAY_H) / look.span(7 * DAY_H)  # NaN for ports that others' times brought in
        lack: Floats = np.log(usual + np.float32(0.1)) - np.log(now + np.float32(0.1))
        lacking: Floats = lack - look.common(lack)
        return lacking


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
