"""What optics says of a reading: margins to limits, bit error ratios from counters, first passage.

Units are in the names; arrays are float32 with NaN for missing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr

from ingest.schema import LIMITS

__all__ = [
    "BIAS_PER_C",
    "Technology",
    "fec_limit_log10",
    "first_passage",
    "installation_table",
    "log_ber_from_counter",
    "technology",
]

Floats = NDArray[np.float32]

BIAS_PER_C: Final = 0.0065
"""Relative growth of bias per degree at equal power: 0.4 to 0.9 % (optics reference 4.7, judgement)."""

_KP4_LIMIT: Final = 2.4e-4
"""Pre-FEC BER that RS(544,514) carries (IEEE 802.3 clause 91 with PAM4)."""
_KR4_LIMIT: Final = 5e-5
"""Pre-FEC BER that RS(528,514) carries (IEEE 802.3 clause 91 with NRZ)."""
_PAM4_GBPS: Final = 200.0

_RX_LOW_DBM: Final = {"SR": -10.3, "CWDM": -11.5, "LR": -10.6, "DR": -6.9, "FR": -8.2}
"""Low receive warning by reach, where the module does not say (optics reference 4.2 and 4.3)."""


class Technology:
    """Codes of what makes the light: physics, not identity."""

    UNKNOWN, VCSEL, DML, EML_SIPH, COPPER = range(5)


_REACH: Final = re.compile(r"(SR|CWDM|PSM|LR|ER|ZR|DR|FR)\d*", re.IGNORECASE)
_SPEED: Final = re.compile(r"^(\d+)G", re.IGNORECASE)
_COPPER: Final = re.compile(r"CU|CR\d|DAC|AEC|ACC", re.IGNORECASE)


def technology(media: str | None) -> int:
    """The laser technology that a media name implies.

    >>> technology("400GBASE-SR8") == Technology.VCSEL
    True
    >>> technology(None) == Technology.UNKNOWN
    True
    """
    if not media:
        return Technology.UNKNOWN
    if _COPPER.search(media):
        return Technology.COPPER
    reach = _REACH.search(media)
    kind = reach.group(1).upper() if reach else ""
    if kind == "SR":
        return Technology.VCSEL
    if kind in {"CWDM", "LR", "ER"} and (speed_gbps(media) or 0) < _PAM4_GBPS:
        return Technology.DML
    return Technology.EML_SIPH if kind else Technology.UNKNOWN


def speed_gbps(media: str | None) -> float | None:
    """Line rate that a media name begins with.

    >>> speed_gbps("400GBASE-DR4")
    400.0
    """
    found = _SPEED.match(media or "")
    return float(found.group(1)) if found else None


def fec_limit_log10(media: str | None, gbps: float | None) -> float:
    """Decimal logarithm of the pre-FEC BER at which frames begin to be lost: KR4 for NRZ, KP4 for PAM4."""
    speed = gbps or speed_gbps(media)
    return float(np.log10(_KR4_LIMIT if speed is not None and speed < _PAM4_GBPS else _KP4_LIMIT))


def _rx_low_dbm(media: str | None) -> float:
    reach = _REACH.search(media or "")
    return _RX_LOW_DBM.get(reach.group(1).upper(), float("nan")) if reach else float("nan")


@dataclass(frozen=True)
class Installations:
    """Facts of each installation as arrays, row *i* of ``frame`` at index *i*; the last row is "unknown"."""

    frame: pl.DataFrame
    limits: dict[str, Floats]
    fec_limit: Floats
    technology: Floats
    speed_gbps: Floats


def installation_table(modules: pl.DataFrame) -> Installations:
    """Limits and technology of every installation, with fall-backs by media where the module gives no limit.

    A limit that no module can have (all of a kind equal, warning outside alarm) is treated as not given.
    """
    media = [*modules["media"].to_list(), None]
    given = modules.select(LIMITS).cast(pl.Float32).to_numpy()
    table = np.vstack([given, np.full((1, len(LIMITS)), np.nan, np.float32)])
    limits = {name: np.ascontiguousarray(table[:, j]) for j, name in enumerate(LIMITS)}
    low = _either(limits["rx_power_low_warn_dbm"], limits["rx_power_low_alarm_dbm"])
    limits["rx_low"] = _either(low, np.array([_rx_low_dbm(m) for m in media], np.float32))
    limits["tx_low"] = _either(limits["tx_power_low_warn_dbm"], limits["tx_power_low_alarm_dbm"])
    limits["bias_high"] = _either(limits["tx_bias_high_warn_ma"], limits["tx_bias_high_alarm_ma"])
    limits["temp_high"] = _either(limits["temperature_high_warn_c"], limits["temperature_high_alarm_c"])
    speeds: Sequence[float | None] = [*modules["speed_gbps"].to_list(), None]
    gbps = [s or speed_gbps(m) for s, m in zip(speeds, media, strict=True)]
    return Installations(
        modules,
        limits,
        np.array([fec_limit_log10(m, s) for m, s in zip(media, gbps, strict=True)], np.float32),
        np.array([technology(m) for m in media], np.float32),
        np.array([np.nan if s is None else s for s in gbps], np.float32),
    )


def _either(first: Floats, second: Floats) -> Floats:
    return np.where(np.isnan(first), second, first)


def log_ber_from_counter(grown: Floats, seconds: Floats, gbps: Floats) -> Floats:
    """Bit error ratio (log10) where only corrected codewords are counted: at low BER one error, one codeword.

    Args:
        grown: corrected codewords in each hour.
        seconds: seconds between the readings they were counted over.
        gbps: line rate; 100 where unknown, for only changes matter.

    Returns:
        log10 of the estimate; an hour without any error reads as half an error.
    """
    bits = np.where(np.isnan(gbps), 100.0, gbps) * 1e9 * seconds
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(seconds > 0, np.log10(np.maximum(grown, 0.5) / bits), np.nan).astype(np.float32)


def first_passage(margin: Floats, slope_per_day: Floats, sigma: Floats, slope_sigma: Floats, hours: float) -> Floats:
    """P(a quantity that drifts as it does now crosses its limit within `hours`), from level, slope and their errors.

    The quantity is taken to move on along its fitted line; the error of the extrapolated level is the noise and
    the slope's error over the horizon, added as normal deviates.

    Args:
        margin: distance to the limit, positive while inside.
        slope_per_day: movement towards the limit.
        sigma: standard deviation of one hourly value about the line, in the unit of `margin`.
        slope_sigma: standard error of the slope.
        hours: horizon.

    Returns:
        Probability; NaN where margin or slope is.
    """
    days = hours / 24.0
    spread = np.sqrt(sigma**2 + (slope_sigma * days) ** 2 + 1e-6)
    return ndtr((slope_per_day * days - margin) / spread).astype(np.float32)
