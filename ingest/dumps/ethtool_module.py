"""``ethtool -m``: a module's EEPROM, as text and as JSON (``ethtool --json -m``).

Neither tells the interface: it is taken of a command's line in the file where there is one, of ``--interface``, or of
the file's name. Flags such as "Laser bias current high alarm" are latched and belong to whoever reads first: left out.
"""

import math
import re
from collections.abc import Iterator
from typing import Final

from ingest.decode.slots import Quantity
from ingest.dumps.ethtool_names import INVENTORY, LEVELS, THRESHOLDS, command_of, key_of, lane_value, level_of
from ingest.dumps.format import JsonFormat, TextFormat
from ingest.dumps.numbers import decimal, flag, lanes_of, power, told
from ingest.dumps.reading import Reading
from ingest.dumps.source import Document, Dump, Json
from ingest.quarantine import Kind
from ingest.units import mw_to_dbm

__all__ = ["JSON", "TEXT"]

_FORM_FACTOR: Final = re.compile(r"\(([^)]+)\)\s*$|^0x\w+\s*\(?(.*?)\)?$")
_LONGEST_HEADING: Final = 100
_MARKS: Final = {"identifier", "vendor_name", "vendor_pn", "vendor_sn"}
_FLAGS: Final = {"rx_loss_of_signal": "rx_los", "tx_fault": "tx_fault", "rx_cdr_loss_of_lock": "cdr_lol"}


def _knows_text(head: str) -> bool:
    keys = {key_of(line.partition(":")[0]) for line in head.splitlines() if line[:1].isspace()}
    return "identifier" in keys and len(keys & _MARKS) > 1


def _read_text(dump: Dump) -> Iterator[Reading]:
    """Modules one after the other: each begins with its identifier."""
    reading, interface = None, None
    for number, line in dump.lines():
        if named := command_of(line) or _heading(line):
            interface = named
            continue
        key, _, value = line.partition(":")
        key = key_of(key)
        if key == "identifier":
            if reading is not None:
                yield reading
            reading, interface = Reading(number, interface=interface), None
        if reading is not None and value.strip():
            _take(reading, key, value.strip())
    if reading is not None:
        yield reading


def _heading(line: str) -> str | None:
    """A line that only names an interface, as loops over interfaces print it: ``eth0:`` or ``=== eth0 ===``."""
    if line.startswith((" ", "\t")) or len(line) > _LONGEST_HEADING:
        return None
    found = re.fullmatch(r"[=#\-\s]*([A-Za-z][\w./-]*\d[\w./-]*)[:=#\-\s]*", line)
    return found[1] if found else None


def _take(reading: Reading, key: str, value: str) -> None:
    if key == "identifier":
        found = _FORM_FACTOR.search(value)
        reading.say("form_factor", (found[1] or found[2]) if found else value)
    elif key in INVENTORY:
        reading.say(INVENTORY[key], value)
    elif key == "module_temperature":
        reading.put("temperature_c", decimal(value))
    elif key == "module_voltage":
        reading.put("voltage_v", decimal(value))
    elif level := level_of(key):
        quantity, name = level
        reading.limit(quantity, name, power(value)[0] if quantity.endswith("dbm") else decimal(value))
    elif at := lane_value(key):
        _put(reading, at[0], at[1], value)


def _put(reading: Reading, quantity: Quantity, lane: int, cell: object) -> None:
    """A lane's value; a power in the text may tell watts, dBm or both."""
    if quantity == "tx_bias_ma":
        reading.put(quantity, decimal(cell), lane)
        return
    value, watts = power(cell)
    reading.put(quantity, value, lane)
    if watts and value is not None:
        reading.watts.add((lane, quantity))
        if math.isinf(value):
            reading.zeros.add((lane, quantity))


def _knows_json(value: Json) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and "identifier" in item and _MARKS & item.keys() for item in items[:8])


def _read_json(document: Document, dump: Dump) -> Iterator[Reading]:
    items = document.value if isinstance(document.value, list) else [document.value]
    interface = None
    for line in document.before.splitlines():
        interface = command_of(line) or _heading(line) or interface
    for item in items:
        if not isinstance(item, dict):
            dump.doubt(Kind.ROW, document.line, "not a module's object", item)
            continue
        named = next((str(item[key]) for key in ("ifname", "interface", "device") if told(item.get(key))), interface)
        reading = Reading(document.line, interface=named)
        for key, value in item.items():
            _take_json(reading, key_of(key), value)
        yield reading


def _take_json(reading: Reading, key: str, value: object) -> None:
    if isinstance(value, dict) and key in THRESHOLDS and LEVELS.keys() & value.keys():
        _limits(reading, THRESHOLDS[key], value)
        value = value.get("values", value.get("value"))
    if key == "identifier_description":
        reading.say("form_factor", str(value))
    elif key in INVENTORY:
        reading.say(INVENTORY[key], str(value) if told(value) else None)
    elif key == "module_temperature":
        reading.put("temperature_c", decimal(value))
    elif key == "module_voltage":
        reading.put("voltage_v", decimal(value))
    elif key in _FLAGS:
        for _, cell in lanes_of(value):
            reading.flag(_FLAGS[key], value=flag(cell))
    elif at := lane_value(key):
        _values(reading, *at, value)


def _values(reading: Reading, quantity: Quantity, lane: int, value: object) -> None:
    """One lane's value, or all lanes' in a list; bare numbers of powers are milliwatts."""
    many = isinstance(value, list | dict)
    for number, cell in lanes_of(value) if many else [(lane, value)]:
        if quantity.endswith("dbm") and not isinstance(cell, str):
            reading.put_milliwatts(quantity, decimal(cell), number)
        else:
            _put(reading, quantity, number, cell)


def _limits(reading: Reading, quantity: Quantity, value: dict[str, object]) -> None:
    for name, level in LEVELS.items():
        number = decimal(value.get(name))
        if number is not None and quantity.endswith("dbm"):
            number = mw_to_dbm(number)
        reading.limit(quantity, level, number)


TEXT: Final = TextFormat("ethtool-module", _knows_text, _read_text)
JSON: Final = JsonFormat("ethtool-module-json", _knows_json, _read_json)
