"""Ports of a whole fabric, in columns: a hundred thousand ports of forty columns fit into some tens of megabytes."""

import math
import sys
from array import array
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from ingest.dumps.ib_names import Node, port_names
from ingest.dumps.reading import Cable, Port, Reading

__all__ = ["IbPorts"]

MOST_PORTS: Final = 1_000_000
_PORT_BITS: Final = 8
_MOST_PORT: Final = (1 << _PORT_BITS) - 1
_MISSING: Final = math.nan


class IbPorts:
    """What a fabric's tools say of nodes, ports and links."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.time: datetime | None = None
        self._rows: dict[int, int] = {}
        self._lines = array("q")
        self._numbers: dict[str, array[float]] = {}
        self._texts: dict[str, dict[int, str]] = {}
        self._links: list[tuple[int, int, int]] = []

    def row(self, guid: int, port: int, line: int) -> int | None:
        """The row of a port; None where it has none: port 0 manages a switch, and there are only so many ports."""
        if not 0 < port <= _MOST_PORT:
            return None
        key = guid << _PORT_BITS | port
        found = self._rows.get(key)
        if found is None and len(self._rows) < MOST_PORTS:
            found = self._rows[key] = len(self._lines)
            self._lines.append(line)
        return found

    def number(self, row: int, column: str, value: float) -> None:
        """Set a number; counters above 2^53 lose their last digits, which no difference needs."""
        column_ = self._numbers.setdefault(column, array("d"))
        if len(column_) <= row:
            column_.extend([_MISSING] * (len(self._lines) - len(column_)))
        column_[row] = value

    def text(self, row: int, column: str, value: str) -> None:
        """Set a text; most are said of many ports."""
        self._texts.setdefault(column, {})[row] = sys.intern(value)

    def link(self, a: tuple[int, int], z: tuple[int, int], line: int) -> None:
        """A link between two ports, each a node and a number."""
        if 0 < a[1] <= _MOST_PORT and 0 < z[1] <= _MOST_PORT and len(self._links) < MOST_PORTS:
            self._links.append((a[0] << _PORT_BITS | a[1], z[0] << _PORT_BITS | z[1], line))

    def readings(self) -> Iterator[Reading]:
        """Every port of which something is known, by name."""
        names = port_names(self.nodes)
        for key, row in self._rows.items():
            device, interface = _port(names, key)
            reading = Reading(self._lines[row], device=device, interface=interface, time=self.time)
            self._fill(reading, row)
            if not reading.empty:
                node = self.nodes.get(key >> _PORT_BITS)
                if node is not None and reading.module:
                    reading.say("role", "switch" if node.is_switch else "nic")
                yield reading

    def cables(self) -> Iterator[Cable]:
        """Every link whose two ends are known nodes, with its cable's kind and serial number."""
        names = port_names(self.nodes)
        for a, z, line in self._links:
            if a >> _PORT_BITS in names and z >> _PORT_BITS in names:
                yield Cable(line, _port(names, a), _port(names, z), self._kind(a, z), self._cable_id(a, z), self.time)

    def _fill(self, reading: Reading, row: int) -> None:
        for column, values in self._numbers.items():
            value = values[row] if row < len(values) else _MISSING
            if not math.isnan(value):
                _put(reading, column, value)
        for column, texts in self._texts.items():
            if row in texts and not column.startswith("cable_"):
                reading.say(column, texts[row])

    def _told(self, column: str, key: int) -> str | None:
        row = self._rows.get(key)
        return None if row is None else self._texts.get(column, {}).get(row)

    def _kind(self, a: int, z: int) -> str | None:
        return self._told("cable_kind", a) or self._told("cable_kind", z)

    def _cable_id(self, a: int, z: int) -> str | None:
        """Ends that share a serial number are one cable."""
        serial = self._told("serial", a)
        return serial if serial and serial == self._told("serial", z) else None


def _port(names: object, key: int) -> Port:
    assert isinstance(names, dict)  # noqa: S101 - made by `port_names`
    guid, port = key >> _PORT_BITS, key & _MOST_PORT
    device, interface = names.get(guid, (f"0x{guid:016x}", ""))
    if not interface:
        return device, str(port)
    return device, interface if port == 1 else f"{interface}/{port}"


def _put(reading: Reading, column: str, value: float) -> None:
    """A number by the name of its column: ``lane/3/rx_power_dbm``, ``count/crc_errors``, ``bin/4``, ``limit/…``."""
    kind, _, rest = column.partition("/")
    if kind == "count":
        reading.count(rest, int(value))
    elif kind == "state":
        reading.states[rest] = bool(value)
    elif kind == "flag":
        reading.flag(rest, value=bool(value))
    elif kind == "bin":
        bins = reading.fec_bins = reading.fec_bins or [0] * 16
        bins[int(rest)] = int(value)
    elif kind == "limit":
        quantity, _, level = rest.partition("/")
        reading.limit(quantity, level, value)  # type: ignore[arg-type]
    elif kind == "assumed":
        from ingest.schema import Quality  # here: the agent of a host reads dumps without loading Arrow

        reading.quality |= int(Quality.UNCALIBRATED)
    elif kind == "speed":
        reading.say("speed_gbps", value)
    elif kind == "lane":
        lane, _, quantity = rest.partition("/")
        if quantity.endswith("_mw"):
            reading.put_milliwatts(f"{quantity.removesuffix('_mw')}_dbm", value, int(lane))  # type: ignore[arg-type]
        else:
            reading.put(quantity, value, int(lane))  # type: ignore[arg-type]
