"""IF-MIB of one poll: what ports are called, how they stand, and which of them a vendor's text means.

ifIndex lives only within a poll (field_faults.md, row 56): what leaves this module is ifName.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from ingest.plain import one_line
from ingest.snmp.transport import Cell, Column

__all__ = ["ADMIN_STATUS", "DOWN", "IF_COLUMNS", "OPER_STATUS", "UP", "Interfaces", "Mention", "text_of"]

_IF_ENTRY, _IF_X_ENTRY = "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1"
_DESCR, _TYPE, ADMIN_STATUS, OPER_STATUS = (f"{_IF_ENTRY}.{column}" for column in (2, 3, 7, 8))
_NAME = f"{_IF_X_ENTRY}.1"
IF_COLUMNS = (_NAME, _DESCR, _TYPE, ADMIN_STATUS, OPER_STATUS)

_NOT_A_CAGE = {24, 53, 131, 135, 136, 150, 161, 166}
"""IANAifType: loopback, propVirtual, tunnel, l2vlan, l3ipvlan, mplsTunnel, LAG, mpls."""

_ETHERNET = re.compile(r"(?:[A-Za-z]*(?:Gig|Ethernet)[A-Za-z]*|[A-Z][a-z]{1,2})(\d+(?:/\d+)*)")
_OPTICS = re.compile(r"optics(\d+(?:/\d+)+)", re.IGNORECASE)
_XR_SLOT = re.compile(r"(?:optics|[a-z]*gig(?:e|abitethernet))(\d+(?:/\d+){3})", re.IGNORECASE)
_XR_DEPTH = 3
"""IOS-XR's rack/slot/instance/port; a broken-out port has a fifth number, from 0."""

UP, DOWN = 1, (2, 5, 6, 7)
"""ifOperStatus: down, dormant, notPresent, lowerLayerDown; testing and unknown are neither up nor down (row 9)."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A port that a text names, and the number behind it where the text goes on `/2`."""

    if_index: int
    suffix: int | None = None


def text_of(cell: Cell | None) -> str:
    """An octet string as text in one line, without the NULs and blanks that EEPROM fields are padded with."""
    if cell is None:
        return ""
    raw = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
    return one_line(raw.replace("\0", "")).strip()


def _norm(name: str) -> str:
    return " ".join(name.split()).casefold()


@dataclass(frozen=True)
class Interfaces:
    """Ports of one device by ifIndex."""

    names: dict[int, str] = field(default_factory=dict)
    by_text: dict[str, int] = field(default_factory=dict)  # ifName and ifDescr, normalised

    @classmethod
    def of(cls, cells: Mapping[str, Column]) -> Self:
        """Join IF-MIB's columns by their index."""
        names: dict[int, str] = {}
        by_text: dict[str, int] = {}
        types = cells.get(_TYPE, {})
        for column in (_NAME, _DESCR):
            for index, cell in cells.get(column, {}).items():
                text = text_of(cell)
                if not text or not index.isdigit() or types.get(index) in _NOT_A_CAGE:
                    continue
                names.setdefault(int(index), text)
                if re.search(r"[a-z].*\d", text, re.IGNORECASE):  # "24" in a text is no port's name
                    by_text.setdefault(_norm(text), int(index))
        return cls(names, by_text)

    def known_as(self, names: Mapping[str, int]) -> Self:
        """The same ports, with further names of theirs; what IF-MIB calls something else stays that."""
        return replace(self, by_text={_norm(name): i for name, i in names.items()} | self.by_text) if names else self

    def mention(self, text: str, prefer: int | None = None) -> Mention | None:
        """The one port that a text names; None where it names none or two.

        Args:
            text: such as "DOM RX Power Sensor for Ethernet49/1".
            prefer: port of the surrounding module, Ethernet49 say: "Ethernet49/1" is then its lane 1 in any case.
        """
        words = text.split()
        found: dict[int, Mention] = {}
        taken = 0
        for start in range(len(words)):
            for stop in range(min(start + 3, len(words)), max(start, taken), -1):
                hit = self._lookup(" ".join(words[start:stop]).strip(",;:"), prefer)
                if hit:
                    found.setdefault(hit.if_index, hit)
                    taken = stop
                    break
        return next(iter(found.values())) if len(found) == 1 else None

    def _lookup(self, candidate: str, prefer: int | None) -> Mention | None:
        key = _norm(candidate)
        head, slash, tail = key.rpartition("/")
        suffix = int(tail) if slash and tail.isdigit() else None
        if suffix is not None and prefer is not None and self.by_text.get(head) == prefer:
            return Mention(prefer, suffix)
        for name in _spellings(key):
            if name in self.by_text:
                return Mention(self.by_text[name])
        if suffix is not None and head in self.by_text:
            return Mention(self.by_text[head], suffix)
        slot = next(filter(None, map(_XR_SLOT.fullmatch, _spellings(key))), None)
        if slot:  # what IF-MIB has there may be of another speed, or broken out
            port = self.at(slot[1])
            return None if port is None else Mention(port)
        # A cage that is named after its first breakout port only: "Ethernet49" with ports Ethernet49/1 to /4.
        if suffix is not None and f"{head}/1" in self.by_text and head not in self.by_text:
            return Mention(self.by_text[f"{head}/1"], suffix)
        first = self.by_text.get(f"{key}/1")
        return None if first is None else Mention(first)

    def at(self, path: str) -> int | None:
        """The one Ethernet port at a slot path, such as 0/0/1; the first of those that IOS-XR breaks it out into."""
        for end in ("", "/0") if path.count("/") == _XR_DEPTH else ("",):
            found = self._by_path.get(path + end, [])
            if found:
                return found[0] if len(found) == 1 else None
        return None

    @cached_property
    def _by_path(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for if_index, name in self.names.items():
            match = _ETHERNET.fullmatch(name)
            if match:
                found.setdefault(match[1], []).append(if_index)
        return found

    def cage(self, if_index: int) -> int:
        """The Ethernet port of an optics controller (IOS-XR's Optics0/0/0/1), where there is exactly one."""
        match = _OPTICS.fullmatch(self.names[if_index])
        port = self.at(match[1]) if match else None
        return if_index if port is None else port

    def lane_of(self, other: int, cage: int) -> int | None:
        """Which lane a breakout port is of a cage that is known by its first one: Ethernet49/3 of Ethernet49/1 is 3."""
        head, slash, tail = _norm(self.names[other]).rpartition("/")
        return int(tail) if slash and tail.isdigit() and f"{head}/1" == _norm(self.names[cage]) else None


def _spellings(key: str) -> Iterator[str]:
    """The text itself, then parts of it where it is in brackets or glued to others by dashes: 0/0-Optics0/0/0/1-Rx."""
    yield key
    parts = key.strip("()[]").split("-")
    for size in range(len(parts), 0, -1):
        for start in range(len(parts) - size + 1):
            yield "-".join(parts[start : start + size])
