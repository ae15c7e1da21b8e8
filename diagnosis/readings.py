"""How the readings of modules changed: the newest hour against the week before it, the worst lane of each."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from diagnosis.fabric import Port
from diagnosis.parts import EndChange
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES

__all__ = ["change", "changes_of"]

_NOW: Final = timedelta(hours=1)
_BEFORE: Final = timedelta(days=7)
_VALUES: Final = ("tx_power_dbm", "tx_bias_ma", "rx_power_dbm", "pre_fec_ber")
_DIMMER_DB: Final = -1.0
_LEAST_BER: Final = 1e-18


def changes_of(lake: Lake, ports: Mapping[int, Port], at: datetime) -> dict[int, EndChange]:
    """Of each link the change of the module that sends on it; only of those that were read."""
    if not ports:
        return {}
    devices = {port[:2] for port in ports.values()}
    columns = ["site", "device", "interface", "lane", "time", "quality", *_VALUES]
    rows = lake.latest(LANE_SAMPLES, since=at - _BEFORE, until=at, columns=columns, devices=devices).collect()
    sound = rows.filter(pl.col("quality") == 0)
    found = {}
    for link, (site, device, interface) in ports.items():
        own = sound.filter(site=site, device=device, interface=interface)
        if own.height:
            found[link] = change(own, at)
    return found


def change(rows: pl.DataFrame, at: datetime) -> EndChange:
    """The change of one module from its readings."""
    fresh = pl.col("time") >= at - _NOW
    lanes = rows.group_by("lane").agg(
        *(pl.col(name).filter(fresh).median().alias(f"{name}_now") for name in _VALUES),
        *(pl.col(name).filter(~fresh).median().alias(f"{name}_before") for name in _VALUES),
    )
    rx = _moved(lanes, "rx_power_dbm")
    bias = lanes["tx_bias_ma_now"] / lanes["tx_bias_ma_before"] - 1.0
    ber = lanes.select(
        pl.col("pre_fec_ber_now").clip(lower_bound=_LEAST_BER).log10()
        - pl.col("pre_fec_ber_before").clip(lower_bound=_LEAST_BER).log10()
    ).to_series()
    return EndChange(
        tx_power_db=_number(_moved(lanes, "tx_power_dbm").min()),
        tx_bias=_number(bias.filter(bias.is_finite()).max()),
        rx_power_db=_number(rx.min()),
        rx_lanes=_number((rx <= _DIMMER_DB).mean()),
        ber_decades=_number(ber.max()),
    )


def _moved(lanes: pl.DataFrame, name: str) -> pl.Series:
    return lanes[f"{name}_now"] - lanes[f"{name}_before"]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
