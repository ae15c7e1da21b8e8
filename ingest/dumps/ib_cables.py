"""Cables and modules as ibdiagnet's CABLE_INFO has them: inventory, lanes, limits.

Powers with a unit are what they say, without one registers of 0.1 uW (SFF-8636 rev 2.10a, table 6-8), which is assumed:
their rows are marked as uncalibrated. A zero of every lane is a cable without DOM, as copper is.
"""

import re
from collections.abc import Mapping
from typing import Final

from ingest.dumps.ib_ports import IbPorts
from ingest.dumps.numbers import decimal, power, told, whole
from ingest.units import dbm_to_mw

__all__ = ["cable_kind", "take_cable"]

_TEXTS: Final = {"Vendor": "vendor", "PN": "part_number", "SN": "serial", "FWVersion": "firmware", "TypeDesc": "media"}
_LANE: Final = re.compile(r"(RX|TX)(\d)(Power|Bias)")
_LIMITS: Final = {
    "AlarmTemperatureHighThresh": "temperature_c/high_alarm",
    "AlarmTemperatureLowThresh": "temperature_c/low_alarm",
    "WarnTemperatureHighThresh": "temperature_c/high_warn",
    "WarnTemperatureLowThresh": "temperature_c/low_warn",
    "AlarmVoltageHighThresh": "voltage_v/high_alarm",
    "AlarmVoltageLowThresh": "voltage_v/low_alarm",
    "WarnVoltageHighThresh": "voltage_v/high_warn",
    "WarnVoltageLowThresh": "voltage_v/low_warn",
    "TXBiasHighThresh": "tx_bias_ma/high_alarm",
    "TXBiasLowThresh": "tx_bias_ma/low_alarm",
}
_FLAGS: Final = re.compile(r"RX\d(LatchedLossIndicator|CDRLOL)")
_REGISTER_MW: Final = 1e-4
_MILLIVOLTS: Final = 100.0  # a supply above it is told in millivolts
_KINDS: Final = (
    ("aoc", ("active optical", "aoc")),
    ("acc", ("active copper", "acc", "linear active")),
    ("dac", ("copper", "passive")),
    ("fiber", ("optical", "separated", "sr4", "dr4", "fr4", "lr4", "850", "1310")),
)


def cable_kind(text: str) -> str | None:
    """The kind of a cable by its description.

    >>> cable_kind("Copper cable- passive, unequalized"), cable_kind("Active optical cable"), cable_kind("?")
    ('dac', 'aoc', None)
    """
    text = text.lower()
    return next((kind for kind, words in _KINDS if any(word in text for word in words)), None)


def take_cable(ports: IbPorts, place: int, row: Mapping[str, str]) -> None:
    """Take a row of CABLE_INFO."""
    for name, column in _TEXTS.items():
        if told(row.get(name)):
            ports.text(place, column, row[name])
    if kind := cable_kind(f"{row.get('TypeDesc', '')} {row.get('IdentifierStr', '')}"):
        ports.text(place, "cable_kind", kind)
    if (value := decimal(row.get("Temperature"))) is not None:
        ports.number(place, "lane/0/temperature_c", value)
    if (value := decimal(row.get("SupplyVoltageReporting"))) is not None and value > 0.0:
        ports.number(place, "lane/0/voltage_v", value / 1000.0 if value > _MILLIVOLTS else value)
    for name, column in _LIMITS.items():
        if (value := decimal(row.get(name))) is not None:
            scale = 1000.0 if column.startswith("voltage") and value > _MILLIVOLTS else 1.0
            ports.number(place, f"limit/{column}", value / scale)
    _lanes(ports, place, row)
    _flags(ports, place, row)


def _flags(ports: IbPorts, place: int, row: Mapping[str, str]) -> None:
    """One lane that has lost signal or lock is enough."""
    for name, cell in row.items():
        if (found := _FLAGS.fullmatch(name)) and whole(cell) in (0, 1):
            column = "rx_los" if found[1] == "LatchedLossIndicator" else "cdr_lol"
            if whole(cell) or found[0].startswith("RX1"):
                ports.number(place, f"flag/{column}", float(whole(cell) or 0))


def _lanes(ports: IbPorts, place: int, row: Mapping[str, str]) -> None:
    cells = {found: cell for name, cell in row.items() if (found := _LANE.fullmatch(name)) and told(cell)}
    if not any(decimal(cell) for cell in cells.values()):
        return
    for found, cell in cells.items():
        lane = int(found[2])
        if found[3] == "Bias":
            if (value := decimal(cell)) is not None:
                ports.number(place, f"lane/{lane}/tx_bias_ma", value)
        elif (milliwatts := _milliwatts(cell)) is not None:
            ports.number(place, f"lane/{lane}/{found[1].lower()}_power_mw", milliwatts)
            if milliwatts and not _names_unit(cell):
                ports.number(place, "assumed/power", 1.0)


def _names_unit(cell: str) -> bool:
    return "w" in cell.lower() or "dbm" in cell.lower()


def _milliwatts(cell: str) -> float | None:
    """Watts or dBm where they are named, else a register; decimals without a unit are milliwatts."""
    if _names_unit(cell):
        value, _ = power(cell)
        return None if value is None else dbm_to_mw(value)
    number = decimal(cell)
    if number is None or number < 0.0:
        return None
    return number if "." in cell else number * _REGISTER_MW
