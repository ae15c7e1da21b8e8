"""NX-OS ``show interface transceiver details | json``, also inside an answer of NX-API.

A table of one row is an object and not a list; every number is text; a module's temperature and voltage stand in each
lane's row. Powers of dark lanes are "N/A" or below -30.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ingest.decode.slots import Quantity
from ingest.dumps.format import JsonFormat
from ingest.dumps.numbers import decimal, told, whole
from ingest.dumps.reading import MOST_LANES, Reading
from ingest.dumps.source import Document, Dump, Json
from ingest.quarantine import Kind

__all__ = ["JSON"]

_DEEPEST: Final = 12
_OF_MODULE: Final[Mapping[str, Quantity]] = {"temperature": "temperature_c", "voltage": "voltage_v"}
_OF_LANE: Final[Mapping[str, Quantity]] = {
    "current": "tx_bias_ma",
    "tx_pwr": "tx_power_dbm",
    "rx_pwr": "rx_power_dbm",
    "pre_fec_ber_cur": "pre_fec_ber",
    "snr": "snr_db",
}
_LIMITS: Final[Mapping[str, Quantity]] = {
    "temp": "temperature_c",
    "volt": "voltage_v",
    "current": "tx_bias_ma",
    "tx_pwr": "tx_power_dbm",
    "rx_pwr": "rx_power_dbm",
}
_LEVELS: Final = {"alrm_hi": "high_alarm", "alrm_lo": "low_alarm", "warn_hi": "high_warn", "warn_lo": "low_warn"}
_TEXTS: Final = {"name": "vendor", "partnum": "part_number", "serialnum": "serial", "type": "media"}


def _rows(table: object, name: str) -> list[object]:
    """Rows of ``TABLE_x``, whose ``ROW_x`` is an object where there is one row only."""
    found: list[object] = []
    for part in table if isinstance(table, list) else [table]:
        row = part.get(name) if isinstance(part, dict) else None
        found += row if isinstance(row, list) else [] if row is None else [row]
    return found


def _interfaces(value: object, depth: int = 0) -> list[object] | None:
    """Rows of the table of interfaces, wherever it lies in an answer."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        rows = _rows(value.get("TABLE_interface"), "ROW_interface")
        if any(isinstance(row, dict) and ("sfp" in row or "TABLE_lane" in row) for row in rows):
            return rows
        value = list(value.values())
    for part in value if isinstance(value, list) else []:
        if isinstance(part, dict | list) and (found := _interfaces(part, depth + 1)) is not None:
            return found
    return None


def _knows(value: Json) -> bool:
    return _interfaces(value) is not None


def _read(document: Document, dump: Dump) -> Iterator[Reading]:
    for row in _interfaces(document.value) or []:
        if not isinstance(row, dict) or not told(row.get("interface")):
            dump.doubt(Kind.ROW, document.line, "a row without interface", row)
            continue
        name = str(row["interface"])
        if str(row.get("sfp", "present")).strip().lower() != "present":
            continue
        reading = Reading(document.line, interface=name)
        for key, column in _TEXTS.items():
            reading.say(column, str(row[key]) if told(row.get(key)) else None)
        lanes = [lane for lane in _rows(row.get("TABLE_lane"), "ROW_lane") if isinstance(lane, dict)]
        for lane in lanes or [row]:
            _lane(reading, lane, document, dump)
        yield reading


def _lane(reading: Reading, row: Mapping[str, object], document: Document, dump: Dump) -> None:
    number = whole(row.get("lane_number")) or 0
    if not 0 <= number <= MOST_LANES:
        line = dump.line_of(document, str(reading.interface))
        dump.doubt(Kind.ROW, line, "not a lane that a module can have", number)
        return
    for key, quantity in [*_OF_MODULE.items(), *_OF_LANE.items()]:
        value = decimal(row.get(key))
        if value is None and told(row.get(key)):
            line = dump.line_of(document, str(reading.interface), key, str(row[key]))
            dump.doubt(Kind.VALUE, line, "not a number", row[key], key)
        reading.put(quantity, value, 0 if key in _OF_MODULE else number)
    for stem, quantity in _LIMITS.items():
        for level, name in _LEVELS.items():
            reading.limit(quantity, name, decimal(row.get(f"{stem}_{level}")))


JSON: Final = JsonFormat("nxos-json", _knows, _read)
