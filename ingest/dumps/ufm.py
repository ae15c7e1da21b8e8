"""UFM telemetry as CSV: a row a port and time, from its endpoints (``/csv/metrics``, ``/csv/xcset/…``) or its files.

``timestamp`` is in microseconds since 1970. Names of nodes stand in the row where UFM was asked for them, else the GUID
is the device. Powers and currents of lanes are not taken: the file does not tell their units.
"""

import csv
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from ingest.dumps.format import TextFormat
from ingest.dumps.ib_names import Node, guid, port_names
from ingest.dumps.numbers import decimal, told, whole
from ingest.dumps.reading import Reading
from ingest.dumps.source import Dump
from ingest.quarantine import Kind
from ingest.units import NOT_MEASURED_BER

__all__ = ["TEXT"]

_PORTS: Final = ("port_num", "port_number", "port", "aport")
_DESCRIPTIONS: Final = ("node_description", "node_desc", "node_name", "nodedesc")
_COUNTERS: Final = {
    "linkdownedcounterextended": "link_flaps",
    "linkdownedcounter": "link_flaps",
    "link_down_counter": "link_flaps",
    "phy_symbol_errors": "symbol_errors",
    "symbolerrorcounterextended": "symbol_errors",
    "symbolerrorcounter": "symbol_errors",
    "portrcvpktsextended": "in_packets",
    "portxmitpktsextended": "out_packets",
    "rs_fec_corrected_blocks": "fec_corrected",
    "rs_fec_uncorrectable_blocks": "fec_uncorrected",
}
_TEXTS: Final = {
    "sn": "serial",
    "pn": "part_number",
    "vendor": "vendor",
    "fw_version": "firmware",
    "cable_type": "media",
}
_TEMPERATURES: Final = ("cableinfo.temperature", "module_temperature", "temperature")
_BIN: Final = re.compile(r"(?:rs_)?hist(?:_|\[)?(\d{1,2})\]?")
_MOST_BINS: Final = 16
_MICROSECONDS: Final = 1e6
_YEARS: Final = (946_684_800.0, 4_102_444_800.0)


def _header(line: str) -> list[str] | None:
    names = [name.strip().strip('"').lower() for name in line.split(",")]
    return names if "node_guid" in names and any(name in names for name in _PORTS) else None


def _knows(head: str) -> bool:
    return any(_header(line) is not None for line in head.splitlines()[:20])


def _read(dump: Dump) -> Iterator[Reading]:
    header: list[str] | None = None
    for number, line in dump.lines():
        if not line.strip() or line.startswith("#"):
            continue
        if names := _header(line):
            header = names
            continue
        if header is None:
            continue
        cells = next(csv.reader([line]), []) if '"' in line else line.split(",")
        if len(cells) != len(header):
            dump.doubt(Kind.ROW, number, "not as many cells as the header has", line)
            continue
        reading = _row(number, dict(zip(header, (cell.strip() for cell in cells), strict=True)), dump)
        if reading is not None:
            yield reading


def _row(line: int, row: dict[str, str], dump: Dump) -> Reading | None:
    node = guid(row["node_guid"])
    port = next((whole(row[name]) for name in _PORTS if told(row.get(name))), None)
    if node is None or port is None or port < 0:
        dump.doubt(Kind.ROW, line, "a row without node or port", ",".join(row.values()))
        return None
    reading = Reading(line)
    reading.device, reading.interface = _named(node, port, row)
    stamp = decimal(row.get("timestamp"))
    if stamp is not None:
        seconds = stamp / _MICROSECONDS if stamp > _YEARS[1] else stamp
        if not _YEARS[0] < seconds < _YEARS[1]:
            dump.doubt(Kind.ROW, line, "not a time", row["timestamp"])
            return None
        reading.time = datetime.fromtimestamp(seconds, UTC)
    elif told(row.get("timestamp")):
        dump.doubt(Kind.ROW, line, "not a time", row["timestamp"])
        return None
    _fill(reading, row)
    return reading if port > 0 else None


def _named(node: int, port: int, row: dict[str, str]) -> tuple[str, str]:
    """Device and interface: by the node's description where the row has one."""
    text = next((row[name] for name in _DESCRIPTIONS if told(row.get(name))), "")
    is_switch = row.get("node_type", "").lower() in ("2", "switch") or ";" in text
    device, interface = port_names({node: Node(is_switch or " " not in text, text)})[node]
    if not interface:
        return device, str(port)
    return device, interface if port == 1 else f"{interface}/{port}"


def _fill(reading: Reading, row: dict[str, str]) -> None:
    ratio = decimal(row.get("raw_ber"))
    if ratio is not None and (ratio == 0.0 or ratio > NOT_MEASURED_BER):
        reading.put("pre_fec_ber", ratio)
    reading.put("temperature_c", next((decimal(row[name]) for name in _TEMPERATURES if told(row.get(name))), None))
    for name, column in _COUNTERS.items():
        if told(row.get(name)) and column not in reading.counters:
            reading.count(column, whole(row[name]))
    for name, column in _TEXTS.items():
        reading.say(column, row.get(name))
    for name, cell in row.items():
        if (found := _BIN.fullmatch(name)) and int(found[1]) < _MOST_BINS and (count := whole(cell)) is not None:
            bins = reading.fec_bins = reading.fec_bins or [0] * _MOST_BINS
            bins[int(found[1])] = max(count, 0)


TEXT: Final = TextFormat("ufm-telemetry-csv", _knows, _read)
