"""EOS ``show interfaces transceiver detail | json`` (and ``dom``), also inside an answer of eAPI.

A lane of a cage is an interface of its own there (Ethernet49/1 to Ethernet49/4), all with the same serial number: they
become lanes of the first. ``updateTime`` is when the module was read.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from ingest.decode.slots import Quantity
from ingest.dumps.format import JsonFormat
from ingest.dumps.numbers import decimal, told
from ingest.dumps.reading import Reading
from ingest.dumps.source import Document, Dump, Json
from ingest.quarantine import Kind

__all__ = ["JSON"]

_DEEPEST: Final = 8
_MEASURES: Final[Mapping[str, Quantity]] = {
    "rxPower": "rx_power_dbm",
    "txPower": "tx_power_dbm",
    "txBias": "tx_bias_ma",
    "temperature": "temperature_c",
    "voltage": "voltage_v",
    "preFecBer": "pre_fec_ber",
}
_OF_MODULE: Final = ("temperature", "voltage")
_LEVELS: Final = {"highAlarm": "high_alarm", "lowAlarm": "low_alarm", "highWarn": "high_warn", "lowWarn": "low_warn"}
_TEXTS: Final = {"vendorSn": "serial", "mediaType": "media", "vendorName": "vendor", "vendorPn": "part_number"}
_CHANNEL: Final = re.compile(r"(.+)/(\d{1,4})")
_MARKS: Final = ("rxPower", "txBias", "mediaType", "parameters", "vendorSn")
_YEARS: Final = (946_684_800.0, 4_102_444_800.0)  # 2000 to 2100


def _interfaces(value: object, depth: int = 0) -> dict[str, object] | None:
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        found = value.get("interfaces")
        if isinstance(found, dict) and any(_is_module(item) for item in found.values()):
            return found
        value = list(value.values())
    for part in value if isinstance(value, list) else []:
        if isinstance(part, dict | list) and (inner := _interfaces(part, depth + 1)) is not None:
            return inner
    return None


def _is_module(item: object) -> bool:
    return isinstance(item, dict) and any(mark in item for mark in _MARKS)


def _knows(value: Json) -> bool:
    return _interfaces(value) is not None


def _read(document: Document, dump: Dump) -> Iterator[Reading]:
    modules: dict[str, Mapping[str, object]] = {}
    for name, item in (_interfaces(document.value) or {}).items():
        if isinstance(item, dict):
            modules[name] = item
        else:
            dump.doubt(Kind.ROW, dump.line_of(document, name), "not an interface's object", item)
    cages = _cages(modules)
    readings: dict[str, Reading] = {}
    for name, item in modules.items():
        cage, lane = cages[name]
        reading = readings.setdefault(cage, Reading(document.line, interface=cage))
        for reason, key in _take(reading, item, lane):
            dump.doubt(Kind.VALUE, dump.line_of(document, name, key), reason, item.get(key), key)
    yield from readings.values()


def _cages(modules: Mapping[str, Mapping[str, object]]) -> dict[str, tuple[str, int]]:
    """By interface its cage and lane: several that share a serial number are lanes of the first."""
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for name, item in modules.items():
        if (found := _CHANNEL.fullmatch(name)) and told(item.get("vendorSn")):
            groups.setdefault((found[1], str(item["vendorSn"])), []).append((int(found[2]), name))
    cages = {name: (name, 0) for name in modules}
    for members in groups.values():
        if len(members) > 1:
            first = min(members)
            cages |= {name: (first[1], number - first[0] + 1) for number, name in members}
    return cages


def _take(reading: Reading, item: Mapping[str, object], lane: int) -> Iterator[tuple[str, str]]:
    """Take what one interface says; gives what cannot be read, with its key."""
    for key, column in _TEXTS.items():
        reading.say(column, str(item[key]) if told(item.get(key)) else None)
    time = decimal(item.get("updateTime"))
    if time is not None and _YEARS[0] < time < _YEARS[1]:
        told_at = datetime.fromtimestamp(time, UTC)
        reading.time = told_at if reading.time is None else max(reading.time, told_at)
    details = item.get("details")
    parameters = item.get("parameters")
    for key, quantity in _MEASURES.items():
        yield from _measure(reading, item, key, lane)
        for holder in (details, parameters):
            part = holder.get(key) if isinstance(holder, dict) else None
            if isinstance(part, dict):
                _limits(reading, quantity, part.get("threshold", part))
                _channels(reading, quantity, part.get("channels"), lane)


def _measure(reading: Reading, item: Mapping[str, object], key: str, lane: int) -> Iterator[tuple[str, str]]:
    value = item.get(key)
    number = decimal(value)
    if number is None and told(value) and not isinstance(value, dict):
        yield "not a number", key
    reading.put(_MEASURES[key], number, 0 if key in _OF_MODULE else lane)


def _limits(reading: Reading, quantity: Quantity, part: object) -> None:
    for name, level in _LEVELS.items() if isinstance(part, dict) else ():
        reading.limit(quantity, level, decimal(part.get(name)) if isinstance(part, dict) else None)


def _channels(reading: Reading, quantity: Quantity, channels: object, lane: int) -> None:
    """Lanes by number; "-" is the module."""
    for name, value in channels.items() if isinstance(channels, dict) else ():
        reading.put(quantity, decimal(value), int(name) if str(name).isdecimal() and len(str(name)) < 3 else lane)  # noqa: PLR2004 - lanes have two digits at most


JSON: Final = JsonFormat("eos-json", _knows, _read)
