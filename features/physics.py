"""What optics says of a reading: margins to limits, bit error ratios from counters, first passage.

Units are in the names; arrays are float32 with NaN for missing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtri

from features.fleet import COPPER_MEDIA
from ingest.schema import LIMITS

__all__ = [
    "BIAS_PER_C",
    "Technology",
    "fec_limit_log10",
    "installation_table",
    "installations",
    "log_ber_from_counter",
    "passage_deviates",
    "q_factor_db",
    "speed_gbps",
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


_REACH: Final = re.compile(
    r"(?<![A-Z])(?:[EX]|OPEN)?(SR|SX|VR|SWDM|BIDI|AOC|CWDM|PSM|PLR|LR|LX|ER|ZR|DR|FR)(?=\d|\W|_|M|$)", re.IGNORECASE
)
_SPEED: Final = re.compile(r"(?<![\d.])(?:(\d+)\s*X\s*)?(\d+(?:\.\d+)?)([GT])(?!HZ)", re.IGNORECASE)
_COPPER: Final = re.compile(COPPER_MEDIA)
_MULTIMODE: Final = frozenset({"SR", "SX", "VR", "SWDM", "BIDI", "AOC"})
_DIRECT: Final = frozenset({"CWDM", "LR", "LX", "ER"})  # below 200G: directly modulated


@cache
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
    kind = _reach(media)
    if kind in _MULTIMODE:
        return Technology.VCSEL
    if kind in _DIRECT and (speed_gbps(media) or 0) < _PAM4_GBPS:
        return Technology.DML
    return Technology.EML_SIPH if kind else Technology.UNKNOWN


@cache
def _reach(media: str | None) -> str:
    found = _REACH.search(media or "")
    return found.group(1).upper() if found else ""


@cache
def speed_gbps(media: str | None) -> float | None:
    """Line rate that a media name says, of all its parts together.

    >>> speed_gbps("400GBASE-DR4"), speed_gbps("OSFP-2x400G-FR4"), speed_gbps("1.6T-DR8"), speed_gbps("AOC")
    (400.0, 800.0, 1600.0, None)
    """
    found = _SPEED.search(media or "")
    if found is None:
        return None
    return int(found.group(1) or 1) * float(found.group(2)) * (1000.0 if found.group(3) in "tT" else 1.0)


@cache
def fec_limit_log10(media: str | None, gbps: float | None, fec_mode: str | None = None) -> float:
    """Decimal logarithm of the pre-FEC BER at which frames begin to be lost.

    By the FEC where it is told, else KR4 below 200 Gb/s (NRZ) and KP4 from there on (PAM4) and for single-lambda
    100G, which is PAM4 too.
    """
    speed = gbps or speed_gbps(media)
    slow = speed is not None and speed < _PAM4_GBPS and _reach(media) not in {"DR", "FR"}
    if told := re.search(r"KP4|544|KR4|528", fec_mode or "", re.IGNORECASE):
        slow = told.group(0).upper() in {"KR4", "528"}
    return float(np.log10(_KR4_LIMIT if slow else _KP4_LIMIT))


@dataclass(frozen=True)
class Installations:
    """Facts of each installation as arrays, row *i* of ``frame`` at index *i*; the last row is "unknown"."""

    frame: pl.DataFrame
    limits: dict[str, Floats]
    fec_limit: Floats
    technology: Floats
    speed_gbps: Floats


def installation_table(modules: pl.DataFrame) -> Installations:
    """Limits and technology of every installation; see `installations`."""
    given = modules.select(LIMITS).cast(pl.Float32).to_numpy()
    named = (modules[name].to_list() for name in ("media", "speed_gbps", "fec_mode"))
    return installations(modules, given, *named)


def installations(
    frame: pl.DataFrame,
    given: Floats,
    media: Sequence[str | None],
    speeds: Sequence[float | None],
    modes: Sequence[str | None],
) -> Installations:
    """Limits and technology, with fall-backs by media where the module gives no limit.

    Limits that no module can have (low not below high, warning outside alarm) are treated as not given.

    Args:
        frame: the records, for whoever asks for more of them.
        given: shape (n, limits), columns as `LIMITS`; NaN where none is given.
        media: of each its media name.
        speeds: of each its line rate in Gb/s.
        modes: of each its FEC.
    """
    media, speeds, modes = [*media, None], [*speeds, None], [*modes, None]
    table = _plausible(np.vstack([given, np.full((1, len(LIMITS)), np.nan, np.float32)]))
    limits = {name: np.ascontiguousarray(table[:, j]) for j, name in enumerate(LIMITS)}
    low = _either(limits["rx_power_low_warn_dbm"], limits["rx_power_low_alarm_dbm"])
    limits["rx_low"] = _either(low, np.array([_RX_LOW_DBM.get(_reach(m), np.nan) for m in media], np.float32))
    limits["tx_low"] = _either(limits["tx_power_low_warn_dbm"], limits["tx_power_low_alarm_dbm"])
    bias = _either(limits["tx_bias_high_warn_ma"], limits["tx_bias_high_alarm_ma"])
    limits["bias_high"] = np.where(bias > 0, bias, np.float32(np.nan))
    limits["temp_high"] = _either(limits["temperature_high_warn_c"], limits["temperature_high_alarm_c"])
    gbps = [s if s is not None and s > 0 else speed_gbps(m) for s, m in zip(speeds, media, strict=True)]
    return Installations(
        frame,
        limits,
        np.array([fec_limit_log10(*facts) for facts in zip(media, gbps, modes, strict=True)], np.float32),
        np.array([technology(m) for m in media], np.float32),
        np.array([np.nan if s is None else s for s in gbps], np.float32),
    )


def _plausible(table: Floats) -> Floats:
    """Columns as `LIMITS`, quantity by quantity; those of a quantity are NaN where they contradict each other."""
    quantities = np.where(np.isfinite(table), table, np.float32(np.nan)).reshape(table.shape[0], -1, 4)
    low_warn, low_alarm, high_warn, high_alarm = np.moveaxis(quantities, 2, 0)
    wrong = (low_alarm > low_warn) | (high_warn > high_alarm)
    wrong |= np.fmax(low_warn, low_alarm) >= np.fmin(high_warn, high_alarm)
    return np.where(wrong[..., None], np.float32(np.nan), quantities).reshape(table.shape)


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


_WORST: Final = np.log10(0.45)


def q_factor_db(log_ber: Floats) -> Floats:
    """Optical decibels of the Q factor that gives a bit error ratio (log10), as if noise were thermal.

    Q then rises with received power, so a decibel of light is a decibel here (optics reference 4.5); bit error ratios
    beyond 1e-15 and 0.45 read as those.
    """
    ber = 10.0 ** np.minimum(np.maximum(log_ber.astype(np.float64), -15.0), _WORST)
    return (10.0 * np.log10(-ndtri(ber))).astype(np.float32)


def passage_deviates(margin: Floats, slope_per_day: Floats, sigma: Floats, slope_sigma: Floats, hours: float) -> Floats:
    """Standard deviates by which a quantity that drifts on as it does is beyond its limit in `hours`.

    The quantity is taken to move on along its fitted line; the error of the extrapolated level is the noise and
    the slope's error over the horizon, added as normal deviates.

    Args:
        margin: distance to the limit, positive while inside.
        slope_per_day: movement towards the limit.
        sigma: standard deviation of one hourly value about the line, in the unit of `margin`; above 0.
        slope_sigma: standard error of the slope.
        hours: horizon.

    Returns:
        Deviates, clipped to 30 either way; NaN where margin or slope is.
    """
    days = np.float32(hours / 24.0)
    deviates: Floats = np.clip((slope_per_day * days - margin) / np.hypot(sigma, slope_sigma * days), -30, 30)
    return deviates
