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
from features.optics import (
    Age,
    Dip,
    LanesMoved,
    LocalShift,
    OneLane,
    Restless,
    Scatter,
    Shift,
    Significance,
    Slope,
)
from features.passage import Closing, FirstPassage, LightUsed, Margin, Spent
from features.signals import Accelerating, Dark, Grown, Missing, Share, VoltageDip

__all__ = ["CATALOGUE", "FACTS", "Fact", "Feature"]

Floats = NDArray[np.float32]


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


@dataclass(frozen=True, slots=True)
class Fact:
    """Something the records say of the port, or how many of its lanes report; see `FACTS`."""

    name: str
    sign: int = 0

    def values(self, look: Look) -> Floats:
        return FACTS[self.name][1](look)

    @property
    def recorded(self) -> bool:
        """Whether it is of the records alone: they are looked at as a whole, tiles device by device."""
        return self.name != "lanes"


FACTS: Final[dict[str, tuple[str, Callable[[Look], Floats]]]] = {
    "age_days": (
        "days since installation, up to a month: infant deaths",
        lambda look: np.clip(look.history.age_days, 0, 30),
    ),
    "since_touch_h": (
        "hours since a swap at either end or a repair, up to a fortnight",
        lambda look: np.minimum(look.history.since_touch_h, 14 * DAY_H),
    ),
    "link_tickets_30d": (
        "tickets of the link within 30 days: repeat offenders",
        lambda look: look.history.tickets_within(timedelta(days=30)),
    ),
    "neighbour_touches_48h": (
        "repairs on other links of the device within two days: hands disturb neighbours",
        lambda look: look.history.neighbour_touches,
    ),
    "lot_excess": (
        "tickets of the module's lot over those expected at the fleet's rate (log2, whole steps)",
        lambda look: np.clip(np.round(look.history.lot_excess), -1, 3),
    ),
    "technology": (
        "what makes the light (a code): 0 unknown, 1 VCSEL, 2 DML, 3 EML or silicon photonics, 4 copper",
        lambda look: look.history.table.technology[look.history.installation],
    ),
    "lanes": ("media lanes that reported within a day", lambda look: look.lanes(DAY_H)),
}
"""Column: what it means, and how it is read."""

_OPTICAL: Final = (("rx", "min"), ("tx", "min"), ("bias", "max"), ("ber", "max"))
_LIMITED: Final = ("rx", "tx", "bias", "ber", "q")

CATALOGUE: Final[tuple[Feature, ...]] = (
    *(Shift(metric, hours, side) for metric, side in _OPTICAL for hours in (1, 6, 24)),
    Shift("bias", 6, "min"),
    Shift("volt", 24, "min"),
    *(LocalShift(metric, 6, side) for metric, side in (("bias", "max"), ("ber", "max"), ("temp", "max"))),
    *(Significance(metric, hours, side) for metric, side in _OPTICAL for hours in (6, 24)),
    *(OneLane(metric, 6, side) for metric, side in _OPTICAL),
    *(LanesMoved(metric, 6) for metric in ("rx", "ber")),
    *(Age(metric, percent) for metric, percent in (("rx", 20), ("rx", 50), ("ber", 20))),
    *(Slope(metric, hours, side) for metric, side in _OPTICAL for hours in (24, 72)),
    *(Scatter(metric, 24) for metric, _ in _OPTICAL),
    *(Restless(metric, 24) for metric, _ in _OPTICAL),
    Dip(6),
    Dip(24),
    *(Margin(metric, 6) for metric, _ in _OPTICAL),
    *(FirstPassage(metric, hours, 24) for metric in ("rx", "bias", "ber") for hours in (24, 72)),
    FirstPassage("ber", 72, 72),
    FirstPassage("rx", 72, 72),
    *(Spent(metric, hours) for metric in _LIMITED for hours in (6, 24)),
    *(Closing(metric, hours) for metric in _LIMITED for hours in (24, 66)),
    LightUsed(6),
    LightUsed(24),
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
    *(Fact(name) for name in FACTS),
)
"""Every feature of one end of a link, in column order."""
