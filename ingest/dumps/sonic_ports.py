"""Ports of one SONiC device, filled from its databases' tables in whatever order they come."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ingest.dumps.numbers import told
from ingest.dumps.reading import Reading
from ingest.dumps.sonic_keys import BINS, COUNTERS, PORT_TABLES, TABLES, UnreadError, take
from ingest.quarantine import Kind

__all__ = ["SonicPorts", "known_key"]

Doubt = Callable[[Kind, str, str, str, object], None]
"""Called with how much was lost, key, field, reason and what was there."""

_KEY: Final = re.compile(r"([A-Z][A-Z0-9_]+)[|:](.+)")
_PORT: Final = re.compile(r"Ethernet[\w/.-]*\d|\w*Eth\w*\d[\w/.-]*", re.ASCII)
_DIGITS: Final = 9  # of a port's number
_ASIDE: Final = ("last_update_time",)
_NOT_PLUGGABLE: Final = ("RJ45", "RJ-45")


def known_key(key: str) -> tuple[str, str] | None:
    """Table and rest of a database's key, where something is taken from it.

    >>> known_key("TRANSCEIVER_INFO|Ethernet0"), known_key("COUNTERS:oid:0x1000000000012")
    (('TRANSCEIVER_INFO', 'Ethernet0'), ('COUNTERS', 'oid:0x1000000000012'))
    >>> known_key("VLAN|Vlan100")
    """
    if key == "COUNTERS_PORT_NAME_MAP":
        return key, ""
    found = _KEY.fullmatch(key.strip())
    if found and (found[1] in TABLES or found[1] in ("COUNTERS", "RATES", "DEVICE_METADATA")):
        return found[1], found[2]
    return None


class SonicPorts:
    """What the tables say of each port."""

    def __init__(self, line: int, doubt: Doubt) -> None:
        self._line, self._doubt = line, doubt
        self._ports: dict[str, Reading] = {}
        self._cages: dict[str, str] = {}  # port to its number on the front
        self._by_oid: dict[str, Mapping[str, object]] = {}
        self._names: dict[str, str] = {}  # of oid
        self._device: str | None = None
        self._copper: set[str] = set()

    def add(self, table: str, rest: str, fields: Mapping[str, object], *, line: int | None = None) -> None:
        """Take a row of a table."""
        if table == "COUNTERS_PORT_NAME_MAP":
            self._names = {str(oid): name for name, oid in fields.items()}
        elif table in ("COUNTERS", "RATES"):
            self._count(table, rest, fields, line)
        elif table == "DEVICE_METADATA":
            self._device = str(fields["hostname"]) if rest == "localhost" and fields.get("hostname") else self._device
        elif _PORT.fullmatch(rest):
            if table in PORT_TABLES and str(fields.get("index", "")).strip():
                self._cages[rest] = str(fields["index"]).strip()
            if table == "TRANSCEIVER_INFO" and str(fields.get("type")).strip() in _NOT_PLUGGABLE:
                self._copper.add(rest)
            self._take(self._port(rest, line), f"{table}|{rest}", fields)
            self._tell_unknown(table, rest, fields)

    def readings(self) -> Iterator[Reading]:
        """Of every port that has a module or counts; a breakout's module belongs to the first port of its cage."""
        for oid, fields in self._by_oid.items():
            if name := self._names.get(oid):
                self._take(self._port(name, None), f"COUNTERS:{oid}", fields)
        if self._by_oid and not self._names:
            key = f"COUNTERS:{next(iter(self._by_oid))}"
            self._doubt(Kind.ROW, key, "", "counters of ports that no COUNTERS_PORT_NAME_MAP names", len(self._by_oid))
        first = self._first_of_cages()
        for name, reading in self._ports.items():
            reading.device, reading.interface = self._device, name
            if name in self._copper:
                reading.module.clear()
            if (cage := first.get(name, name)) != name:
                self._give(reading, self._ports[cage])
        for reading in self._ports.values():
            if reading.values or reading.counters or reading.fec_bins or reading.limits or "serial" in reading.module:
                yield reading

    def _count(self, table: str, rest: str, fields: Mapping[str, object], line: int | None) -> None:
        if _PORT.fullmatch(rest):  # as gNMI names it
            self._take(self._port(rest, line), f"{table}:{rest}", fields)
            return
        wanted = {key: value for key, value in fields.items() if key in COUNTERS or BINS.fullmatch(key)}
        if table == "RATES" and "FEC_PRE_BER" in fields:
            wanted["FEC_PRE_BER"] = fields["FEC_PRE_BER"]
        if wanted:
            self._by_oid[rest] = {**self._by_oid.get(rest, {}), **wanted}

    def _port(self, name: str, line: int | None) -> Reading:
        return self._ports.setdefault(name, Reading(self._line if line is None else line))

    def _take(self, reading: Reading, key: str, fields: Mapping[str, object]) -> None:
        for name, value in fields.items():
            try:
                take(reading, str(name), value)
            except UnreadError as error:
                self._doubt(Kind.VALUE, key, str(name), str(error), value)

    def _tell_unknown(self, table: str, rest: str, fields: Mapping[str, object]) -> None:
        """Say that a row of readings has nothing that is known, such as names of another release."""
        unknown = [name for name, value in fields.items() if told(value) and name not in _ASIDE]
        if table == "TRANSCEIVER_DOM_SENSOR" and unknown and not self._ports[rest].values:
            self._doubt(Kind.ROW, f"{table}|{rest}", "", "none of its fields is a reading that is known", unknown[:10])

    def _first_of_cages(self) -> dict[str, str]:
        """By port the first port of its cage, where the tables tell cages."""
        cages: dict[str, list[str]] = {}
        for name, index in self._cages.items():
            cages.setdefault(index, []).append(name)
        return {name: first for names in cages.values() for first in [min(names, key=_number)] for name in names}

    @staticmethod
    def _give(part: Reading, whole: Reading) -> None:
        """Let a breakout's port keep its counters and state, and give what is the module's to the first port."""
        whole.values = part.values | whole.values
        whole.zeros |= part.zeros
        whole.limits = part.limits | whole.limits
        whole.module = part.module | whole.module
        part.values, part.zeros, part.limits, part.module = {}, set(), {}, {}


def _number(name: str) -> tuple[int, str]:
    digits = re.findall(r"\d+", name)
    return int(digits[-1][-_DIGITS:]) if digits else 0, name
