"""``ibdiagnet2.db_csv``: sections between START_X and END_X, each CSV with its own header; read line by line.

Taken are NODES, PORTS, LINKS, PM_INFO, CABLE_INFO and bit error ratios (PM_BER, EFF_BER, or mantissas and exponents of
PHY_DB16: raw, effective, symbol). Powers without a unit are registers of 0.1 uW. The time is the file's "# Timestamp".
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from ingest.dumps.format import Said, TextFormat
from ingest.dumps.ib_cables import take_cable
from ingest.dumps.ib_names import Node, guid
from ingest.dumps.ib_ports import IbPorts
from ingest.dumps.numbers import decimal, told, whole
from ingest.dumps.source import Dump
from ingest.quarantine import Kind
from ingest.units import NOT_MEASURED_BER

__all__ = ["TEXT"]

_SECTION: Final = re.compile(r"(START|END)_(\w+)")
_STAMP: Final = re.compile(r"Timestamp\s*:\s*(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d).*?([+-]\d\d):?(\d\d)\s*$")
_SWITCH: Final = "2"
_ACTIVE: Final = "4"
_COUNTERS: Final = {  # the wider of two that mean the same comes first
    "LinkDownedCounterExt": "link_flaps",
    "LinkDownedCounter": "link_flaps",
    "SymbolErrorCounterExt": "symbol_errors",
    "SymbolErrorCounter": "symbol_errors",
    "PortRcvPktsExtended": "in_packets",
    "PortRcvPkts": "in_packets",
    "PortXmitPktsExtended": "out_packets",
    "PortXmitPkts": "out_packets",
}
_RATIOS: Final = ("Raw BER", "RawBER", "raw_ber")
_RAW: Final = ("field12", "field13")  # of PHY_DB16: mantissa and exponent
_LANES: Final = {"1": 1, "2": 4, "4": 8, "8": 12, "16": 2}  # LinkWidthActv, IBTA 1.5 table 155
_RATES: Final = {"1": 2.5, "2": 5.0, "4": 10.0, "256": 14.0, "512": 25.0, "1024": 50.0, "2048": 100.0, "4096": 200.0}

_Row = Mapping[str, str]


def _knows(head: str) -> bool:
    return any((found := _SECTION.fullmatch(line.strip())) and found[1] == "START" for line in head.splitlines())


def _read(dump: Dump) -> Iterator[Said]:
    ports = IbPorts()
    taken = False
    for section, number, row in _rows(dump, ports):
        taken = True
        if not _TAKERS[section](ports, number, row):
            dump.doubt(Kind.ROW, number, f"a row of {section} without node or port", ",".join(row.values()))
    if not taken:
        reason = f"none of the sections {', '.join(_TAKERS)} has rows"
        dump.doubt(Kind.ROW, 1, reason)
    yield from ports.readings()
    yield from ports.cables()


def _rows(dump: Dump, ports: IbPorts) -> Iterator[tuple[str, int, _Row]]:
    """Rows of the sections that are taken, each with the names of its columns."""
    section, header = None, list[str]()
    for number, line in dump.lines():
        if line.startswith("#"):
            ports.time = ports.time or _stamp(line)
        elif found := _SECTION.fullmatch(line.strip()):
            section, header = (found[2], []) if found[1] == "START" and found[2] in _TAKERS else (None, [])
        elif section is not None and line.strip():
            cells = _cells(line)
            if not header:
                header = cells
            elif len(cells) != len(header):
                dump.doubt(Kind.ROW, number, f"not as many cells as {section} has columns", line)
            else:
                yield section, number, dict(zip(header, cells, strict=True))
    if section is not None:
        dump.doubt(Kind.NOTE, 1, f"the file ends within {section}")


def _cells(line: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    try:
        return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]
    except (csv.Error, StopIteration):
        return []


def _stamp(line: str) -> datetime | None:
    found = _STAMP.search(line)
    try:
        return datetime.fromisoformat(f"{found[1]}T{found[2]}{found[3]}:{found[4]}").astimezone(UTC) if found else None
    except (ValueError, OverflowError):
        return None


def _place(row: _Row, ports: IbPorts, line: int) -> int | None:
    """The row of the port that a line is of; its columns are called NodeGuid and PortNum, or nearly so."""
    node = guid(row.get("NodeGuid") or row.get("NodeGUID") or "")
    port = whole(row.get("PortNum") or row.get("PortNumber"))
    return None if node is None or port is None else ports.row(node, port, line)


def _is_management(row: _Row) -> bool:
    return whole(row.get("PortNum") or row.get("PortNumber")) == 0


def _node(ports: IbPorts, _: int, row: _Row) -> bool:
    number = guid(row.get("NodeGUID") or row.get("NodeGuid") or "")
    if number is not None:
        ports.nodes[number] = Node(row.get("NodeType") == _SWITCH, row.get("NodeDesc", ""))
    return number is not None


def _port(ports: IbPorts, line: int, row: _Row) -> bool:
    place = _place(row, ports, line)
    if place is None:
        return _is_management(row)
    state = row.get("PortState", "")
    if state.isdigit() and state != "0":
        ports.number(place, "state/oper_up", float(state == _ACTIVE))
    lanes, rate = _LANES.get(row.get("LinkWidthActv", "")), _RATES.get(row.get("LinkSpeedActv", ""))
    if lanes and rate and state == _ACTIVE:
        ports.number(place, "speed/", lanes * rate)
    return True


def _link(ports: IbPorts, line: int, row: _Row) -> bool:
    a, z = guid(row.get("NodeGuid1", "")), guid(row.get("NodeGuid2", ""))
    a_port, z_port = whole(row.get("PortNum1")), whole(row.get("PortNum2"))
    if a is None or z is None or a_port is None or z_port is None:
        return False
    ports.link((a, a_port), (z, z_port), line)
    return True


def _counters(ports: IbPorts, line: int, row: _Row) -> bool:
    place = _place(row, ports, line)
    if place is None:
        return _is_management(row)
    taken: set[str] = set()
    for name, column in _COUNTERS.items():
        value = whole(row.get(name)) if told(row.get(name)) else None
        if value is not None and value >= 0 and column not in taken:  # some versions write -1
            ports.number(place, f"count/{column}", float(value))
            taken.add(column)
    return True


def _ratio(ports: IbPorts, line: int, row: _Row) -> bool:
    place = _place(row, ports, line)
    if place is None:
        return _is_management(row)
    value = next((decimal(row[name]) for name in _RATIOS if name in row), None)
    mantissa, exponent = (whole(row.get(name)) for name in _RAW)
    if value is None and mantissa is not None and exponent is not None and 0 <= exponent < 300:  # noqa: PLR2004 - of a double
        value = mantissa * 10.0**-exponent
    if value is not None and (value == 0.0 or NOT_MEASURED_BER < value <= 1.0):
        ports.number(place, "lane/0/pre_fec_ber", value)
    return True


def _cable(ports: IbPorts, line: int, row: _Row) -> bool:
    place = _place(row, ports, line)
    if place is not None:
        take_cable(ports, place, row)
    return place is not None or _is_management(row)


_TAKERS: Final[Mapping[str, Callable[[IbPorts, int, _Row], bool]]] = {
    "NODES": _node,
    "PORTS": _port,
    "LINKS": _link,
    "PM_INFO": _counters,
    "CABLE_INFO": _cable,
    "PM_BER": _ratio,
    "EFF_BER": _ratio,
    "PHY_DB16": _ratio,
}


TEXT: Final = TextFormat("ibdiagnet-db-csv", _knows, _read)
