"""Features of distance to a limit: what is left, what has been used up, and when it will be over.

Limits are the module's own low warnings, its bias warning, and the bit error ratio that its FEC carries. Each feature
is a small frozen value that names its column and its direction; see `features.catalogue`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from features.look import DAY_H, Look
from features.optics import SIGMA_FLOOR
from features.physics import passage_deviates, q_factor_db

__all__ = ["Closing", "FirstPassage", "LightUsed", "Margin", "Spent"]

Floats = NDArray[np.float32]

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
        sigma = np.maximum(look.window(self.metric, self.hours, "scatter"), SIGMA_FLOOR[self.metric])
        slope_sigma = sigma * np.float32(np.sqrt(12.0 / self.hours) / (self.hours / 24.0))
        deviates = passage_deviates(margin, slope, sigma, slope_sigma, self.horizon_h)
        return look.worst(self.metric, deviates, "max")


_LEAST_LEFT: Final = {"rx": 0.5, "tx": 0.5, "bias": 0.02, "ber": 0.3, "q": 0.2}
"""A limit is not nearer than so much: readings are no better (dB, dB, log, decades, dB) [judgement]."""


def _read(metric: str) -> str:
    """The series that a metric is computed from: the Q factor is another scale of the bit error ratio."""
    return "ber" if metric == "q" else metric


def _way(look: Look, metric: str, hours: int, ago_h: int = 0) -> tuple[Floats, Floats]:
    """Shape (series, times) each: how far a metric has gone from its baseline towards its limit, and what is left."""
    series = _read(metric)
    scale = q_factor_db if metric == "q" else np.asarray
    towards = np.float32(-1.0 if metric == "q" else _TOWARDS[metric])
    value = scale(look.window(series, hours, "mean", ago_h))
    read = scale(look.window("bias_raw", hours, "mean", ago_h)) if metric == "bias" else value
    base, limit = look.base(series), _limit(look, series)
    if metric == "q":
        base = look.once(("q", "base"), lambda: q_factor_db(look.base(series)))
        limit = look.once(("q", "limit"), lambda: q_factor_db(_limit(look, series)))
    return towards * (value - base), np.maximum(towards * (limit - read), np.float32(_LEAST_LEFT[metric]))


@dataclass(frozen=True, slots=True)
class Spent:
    """Share of the way from its baseline to its limit that the worst lane has gone; below 0 it went away from it."""

    metric: str
    hours: int

    @property
    def name(self) -> str:
        return f"{self.metric}_spent_{self.hours}h"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        gone, left = _way(look, self.metric, self.hours)
        share = np.where((gone <= 0) & (left > 0), np.maximum(gone, -1), gone / (np.maximum(gone, 0) + left))
        return look.worst(_read(self.metric), share.astype(np.float32), "max")


@dataclass(frozen=True, slots=True)
class Closing:
    """What the worst lane goes in a day, as a share of what is left to its limit (log10): -1 is ten days to go.

    Missing until the last repair is longer ago than what is compared.
    """

    metric: str
    hours: int

    @property
    def name(self) -> str:
        return f"{self.metric}_closing_{self.hours}h"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        gone, left = _way(look, self.metric, _NOW_H)
        before, _ = _way(look, self.metric, _NOW_H, self.hours)
        touched = look.history.since_touch_h[look.owner(_read(self.metric))] < self.hours + _NOW_H
        a_day = np.where(touched, np.float32(np.nan), (gone - before) * np.float32(DAY_H / self.hours) / left)
        a_day = np.minimum(np.maximum(a_day, np.float32(3e-3)), np.float32(30))
        return look.worst(_read(self.metric), np.log10(a_day), "max")


_NOW_H: Final = 6


@dataclass(frozen=True, slots=True)
class LightUsed:
    """Received light lost (dB) as a share of that and of the decibels that the bit error ratio leaves."""

    hours: int

    @property
    def name(self) -> str:
        return f"light_used_{self.hours}h"

    @property
    def sign(self) -> int:
        return 1

    def values(self, look: Look) -> Floats:
        lost, _ = _way(look, "rx", self.hours)
        _, left = _way(look, "q", self.hours)
        drop = np.maximum(np.nan_to_num(look.worst("rx", lost, "max")), 0)
        return (drop / (drop + look.worst("ber", left, "min"))).astype(np.float32)
