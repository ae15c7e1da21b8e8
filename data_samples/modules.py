"""Modules: what one transceiver is born with, from its maker, its lot and chance."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data_samples.config import FleetConfig
from data_samples.layout import Link
from data_samples.media import Vendor

__all__ = ["Module", "Modules", "limits"]

_LOTS: Final = ("2448", "2503", "2517", "2530", "2541", "2602", "2611", "2614")

_YOUNG: Final = 0.05
"""Modules that were new when the window began [judgement]."""
_DULL: Final = 0.05
"""Receivers that are one to three dB duller than the rest from birth [judgement]."""
_FLOOR = {"KP4": -8.0, "KR4": -12.0, "none": -16.0}
"""log10 of the BER that more light does not cure, by FEC: TDECQ, RIN, MPI; without FEC next to no bad frame
[judgement]."""


@dataclass(slots=True)
class Module:
    """One transceiver; arrays are per lane.

    ``sensitivity_db`` is how much better its receiver is than typical, ``floor_log10`` the BER that no power
    cures, ``headroom_db`` the loss of efficiency its power control can make good before bias hits its limit.
    """

    serial: str
    vendor: Vendor
    part_number: str
    lot: str
    bad_lot: bool
    installed_at: datetime
    first: int
    last: int
    tx_dbm: NDArray[np.float32]
    bias_ma: NDArray[np.float32]
    sensitivity_db: NDArray[np.float32]
    floor_log10: NDArray[np.float32]
    tx_error_db: NDArray[np.float32]
    rx_error_db: NDArray[np.float32]
    headroom_db: float
    bias_per_c: float
    voltage_v: float
    temperature_error_c: float
    tx_noise_db: float
    bias_noise: float


class Modules:
    """Makes modules; knows which lots are bad."""

    def __init__(self, config: FleetConfig) -> None:
        self.config = config
        rng = np.random.default_rng([config.seed, 5])
        pairs = [(vendor.prefix, lot) for vendor in config.vendors for lot in _LOTS]
        bad = max(1, round(config.bad_lot_share * len(pairs)))
        self.bad_lots = {pairs[int(i)] for i in rng.choice(len(pairs), bad, replace=False)}

    def make(self, rng: np.random.Generator, link: Link, end: int, generation: int, at: int | None = None) -> Module:
        """A module for an end; from step `at`, or installed long before the start where None."""
        config, media = self.config, link.media
        vendor = config.vendors[int(rng.choice(len(config.vendors), p=[v.share for v in config.vendors]))]
        lot, lanes = str(rng.choice(_LOTS)), media.lanes
        days = rng.uniform(1, 10) if rng.random() < _YOUNG else rng.uniform(20, 1000)
        age = timedelta(days=float(days))
        born = (config.start - age).replace(hour=0, minute=0, second=0, microsecond=0)
        shared = media.laser == "siph"
        bias = (
            media.bias_ma
            * vendor.bias_factor
            * rng.lognormal(0, 0.05)
            * rng.lognormal(0, 0.01 if shared else 0.04, lanes)
        )
        floor = _FLOOR[media.fec] + rng.normal(0, 0.25) + rng.normal(0, 0.2, lanes)
        dull = rng.uniform(1.0, 3.0) if rng.random() < _DULL else 0.0
        sensitivity = rng.uniform(-media.spread_db, media.spread_db) - dull + rng.normal(0, 0.2, lanes)
        return Module(
            serial=f"SN{link.index:05d}{end}{_letters(generation)}",
            vendor=vendor,
            part_number=f"{vendor.prefix}-{media.name}",
            lot=lot,
            bad_lot=(vendor.prefix, lot) in self.bad_lots,
            installed_at=config.time(at) if at is not None else born,
            first=at if at is not None else 0,
            last=config.steps,
            tx_dbm=(media.tx_dbm + rng.normal(0, 0.25) + rng.normal(0, 0.3, lanes)).astype(np.float32),
            bias_ma=bias.astype(np.float32),
            sensitivity_db=sensitivity.astype(np.float32),
            floor_log10=floor.astype(np.float32),
            tx_error_db=(vendor.tx_offset_db + rng.normal(0, 0.4) + rng.normal(0, 0.2, lanes)).astype(np.float32),
            rx_error_db=(rng.normal(0, 0.4) + rng.normal(0, 0.2, lanes)).astype(np.float32),
            headroom_db=float(rng.uniform(1.0, 1.8)),
            bias_per_c=float(rng.uniform(0.0045, 0.0065)),
            voltage_v=float(rng.normal(3.295, 0.015)),
            temperature_error_c=float(rng.normal(0, 1.0)),
            tx_noise_db=float(rng.uniform(0.03, 0.09)),
            bias_noise=float(rng.uniform(0.004, 0.010)),
        )


def _letters(generation: int) -> str:
    """A, B, … Z, AA: how a cage's modules are told apart."""
    first, last = divmod(generation, 26)
    return (chr(ord("A") + first - 1) if first else "") + chr(ord("A") + last)


def limits(module: Module, link: Link) -> dict[str, float | None]:
    """The module's own warning and alarm limits as an inventory lists them."""
    media, vendor = link.media, module.vendor
    slack, alarm = vendor.limit_slack_db, vendor.alarm_slack_db
    bias = media.bias_ma * vendor.bias_factor
    hot = 80.0 if media.form_factor == "OSFP" else 75.0
    return {
        "tx_low_alarm_dbm": round(media.tx_low_dbm - slack - alarm, 2),
        "tx_low_warn_dbm": round(media.tx_low_dbm - slack, 2),
        "tx_high_warn_dbm": round(media.tx_high_dbm + slack, 2),
        "tx_high_alarm_dbm": round(media.tx_high_dbm + slack + 1.0, 2),
        "rx_low_alarm_dbm": round(media.rx_low_dbm - slack - alarm, 2),
        "rx_low_warn_dbm": round(media.rx_low_dbm - slack, 2),
        "rx_high_warn_dbm": round(media.rx_high_dbm + slack, 2),
        "rx_high_alarm_dbm": round(media.rx_high_dbm + slack + 1.0, 2),
        "tx_bias_high_alarm_ma": round(bias * 1.9, 2),
        "tx_bias_high_warn_ma": round(bias * 1.7, 2),
        "temperature_high_alarm_c": hot,
        "temperature_high_warn_c": hot - 5.0,
    }
