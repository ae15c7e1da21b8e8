"""What a device heard over LLDP (LLDP-MIB, LLDP-V2-MIB): which port sees which port of which neighbour.

A port that cannot be named for certain gives no neighbour: a wrong link blames the wrong optic. Names are the
device's own (ifName) on this side and as the neighbour sends them on the other;
`ingest.collect.links` finds out who is meant.
"""

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from ingest.decode.interfaces import Interfaces, text_of
from ingest.decode.lldp_text import id_text, is_mac, looks_like_port, plain
from ingest.snmp.transport import Column

__all__ = ["LLDP_PROBES", "Lldp", "Neighbour", "is_management", "is_nobody", "one_a_port", "walk_lldp"]

_BASES: Final = ("1.0.8802.1.1.2.1", "1.3.111.2.802.1.1.13.1")
"""LLDP-MIB and LLDP-V2-MIB; below them both number the local system and its port table alike."""

_CHASSIS_KIND, _CHASSIS, _NAME, _PORT_KIND, _PORT, _PORT_DESCR = "3.1", "3.2", "3.3", "3.7.1.2", "3.7.1.3", "3.7.1.4"
_REMOTE: Final = tuple(tuple(f"4.1.1.{first + n}" for n in range(6)) for first in (4, 5))
"""Chassis subtype and id, port subtype, id and description, sysName: one column further on in LLDP-V2-MIB."""

LLDP_PROBES: Final = tuple(
    (f"{base}.{_PORT}", f"{base}.{remote[3]}") for base, remote in zip(_BASES, _REMOTE, strict=True)
)
"""By MIB: a device that has none of these two columns does not speak it."""

_PHYS_ADDRESS: Final = "1.3.6.1.2.1.2.2.1.6"  # ifPhysAddress
_ROUTEROS_PORT: Final = "1.3.6.1.4.1.14988.1.1.11.1.1.8"
"""mtxrNeighborInterfaceID: RouterOS leaves the local port out of lldpRemTable's index and has it here."""

_BY_MAC, _BY_NAME = 3, 5  # LldpPortIdSubtype: macAddress, interfaceName
_MANAGEMENT: Final = re.compile(r"(?i)(mgmt|management|oob|fxp\d|me\d|em\d|eth0$)")
_NOBODY: Final = ("", "(none)", "none", "localhost", "localhost.localdomain", "not received", "not advertised")


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One neighbour at one port.

    Attributes:
        interface: the device's own port (ifName).
        peer_device: the neighbour's sysName as sent; its chassis id where it sends none (a NIC's firmware).
        peer_interface: its port, as named by its id or its description.
        chassis: the neighbour's chassis id as text.
        port_id: the neighbour's port id as text, as its own lldpLocPortId has it.
        description: its port's description.
    """

    interface: str
    peer_device: str
    peer_interface: str
    chassis: str | None = None
    port_id: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class Lldp:
    """What one device says of itself and its neighbours.

    Attributes:
        neighbours: at most one a port.
        chassis: the device's own chassis id as text.
        sys_name: the name that its neighbours know it by.
        ports: port id, as sent to neighbours, to ifName.
        doubts: why a neighbour was left out, a sentence each.
    """

    neighbours: list[Neighbour] = field(default_factory=list)
    chassis: str | None = None
    sys_name: str | None = None
    ports: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, cells: Mapping[str, Column], interfaces: Interfaces) -> Self:
        """Decode the columns of `walk_lldp`; of a device that speaks both MIBs the one that has neighbours."""
        read = [_Mib(cells, interfaces, number) for number in range(len(_BASES))]
        mib = next((mib for mib in read if mib.heard), next((mib for mib in read if mib.local), read[0]))
        found, doubts = mib.neighbours()
        chassis = mib.own(_CHASSIS)
        return cls(
            neighbours=found,
            chassis=id_text(chassis, mac=mib.own(_CHASSIS_KIND) == 4, address=False) or None,  # noqa: PLR2004 - macAddress
            sys_name=text_of(mib.own(_NAME)) or None,
            ports=mib.ports_by_id(),
            doubts=doubts,
        )


async def walk_lldp(walk: Callable[[str], Awaitable[Column]]) -> dict[str, Column]:
    """All that `Lldp.of` reads of a device, with two walks where it speaks neither MIB (four, with LLDP-V2-MIB).

    Raises:
        TransportError: from `walk`.
    """
    cells: dict[str, Column] = {}
    for number, base in enumerate(_BASES):
        for column in LLDP_PROBES[number]:
            cells[column] = await walk(column)
        if any(cells[column] for column in LLDP_PROBES[number]):
            local = (_CHASSIS_KIND, _CHASSIS, _NAME, _PORT_KIND, _PORT_DESCR)
            for part in (*local, *_REMOTE[number]):
                if f"{base}.{part}" not in cells:
                    cells[f"{base}.{part}"] = await walk(f"{base}.{part}")
            cells[_PHYS_ADDRESS] = await walk(_PHYS_ADDRESS)
            if any(_local_number(index) is None for index in cells[LLDP_PROBES[number][1]]):
                cells[_ROUTEROS_PORT] = await walk(_ROUTEROS_PORT)
            break
    return cells


class _Mib:
    """One of the two MIBs of one device."""

    def __init__(self, cells: Mapping[str, Column], interfaces: Interfaces, number: int) -> None:
        self._cells, self._interfaces, self._number = cells, interfaces, number
        self.heard = [self._column(part) for part in _REMOTE[number]]
        self.heard = self.heard if any(self.heard[2:4]) else []
        self.local = self._column(_PORT)

    def own(self, part: str) -> int | float | bytes | str | None:
        """A scalar of the local system."""
        return self._column(part).get("0")

    def _column(self, part: str) -> Column:
        return self._cells.get(f"{_BASES[self._number]}.{part}", {})

    def ports_by_id(self) -> dict[str, str]:
        """What the device calls its ports towards others; an id that two ports share names none."""
        names, kinds = self._local_names(), self._column(_PORT_KIND)
        ports: dict[str, set[str]] = defaultdict(set)
        for index, cell in self.local.items():
            if index.isdigit() and int(index) in names:
                ports[plain(id_text(cell, mac=kinds.get(index) == _BY_MAC))].add(names[int(index)])
        return {sent: min(found) for sent, found in ports.items() if sent and len(found) == 1}

    def _local_names(self) -> dict[int, str]:
        """Local port number to ifName, by what the local port table says of it, never by the number alone."""
        known, kinds, descriptions = self._interfaces.names, self._column(_PORT_KIND), self._column(_PORT_DESCR)
        if self._number == 1:  # LLDP-V2-MIB: the number is the ifIndex
            return known
        by_mac, found, unnamed = self._by_mac(), {}, []
        by_name = {plain(name): name for name in known.values()}
        for index in {**self.local, **descriptions}:
            if not index.isdigit():
                continue
            sent = id_text(self.local.get(index), mac=kinds.get(index) == _BY_MAC)
            name = next(
                (n for text in (sent, text_of(descriptions.get(index))) if (n := self._named(text, by_name))), None
            )
            name = name or by_mac.get(sent) or (known.get(int(index)) if sent == index else None)
            if name:
                found[int(index)] = name
            else:
                unnamed.append(int(index))
        # Where every port that is named has its ifIndex for a number, the others' numbers are ifIndexes, too.
        if found and all(known.get(number) == name for number, name in found.items()):
            found |= {number: known[number] for number in unnamed if number in known}
        return found

    def _named(self, text: str, by_name: Mapping[str, str]) -> str | None:
        if not text:
            return None
        index = self._interfaces.by_text.get(plain(text))
        return by_name.get(plain(text)) or (self._interfaces.names.get(index) if index is not None else None)

    def _by_mac(self) -> dict[str, str]:
        """Ports by their own MAC address; one that several ports share names none."""
        ports: dict[str, list[str]] = defaultdict(list)
        for index, cell in self._cells.get(_PHYS_ADDRESS, {}).items():
            if index.isdigit() and int(index) in self._interfaces.names:
                ports[id_text(cell, mac=True)].append(self._interfaces.names[int(index)])
        return {mac: names[0] for mac, names in ports.items() if mac and len(names) == 1}

    def neighbours(self) -> tuple[list[Neighbour], list[str]]:
        """One neighbour a port, and why others were left out."""
        names, routeros = self._local_names(), self._cells.get(_ROUTEROS_PORT, {})
        by_port: dict[str, list[Neighbour]] = defaultdict(list)
        nameless = 0
        for index in dict.fromkeys(index for column in self.heard for index in column):
            number = _local_number(index)
            at = routeros.get(index.rpartition(".")[2]) if number is None else None
            name = self._interfaces.names.get(at) if isinstance(at, int) else names.get(number or 0)
            if name is None:
                nameless += 1
            elif not is_management(name):
                by_port[name].append(self._neighbour(name, index))
        doubts = [f"neighbours at local ports that the device does not name: {nameless}"] if nameless else []
        found, said = one_a_port(by_port)
        return found, doubts + said

    def _neighbour(self, name: str, index: str) -> Neighbour:
        chassis_kind, chassis, kind, port, description, sys_name = (column.get(index) for column in self.heard)
        chassis_id = id_text(chassis, mac=chassis_kind == 4, address=chassis_kind == 5)  # noqa: PLR2004 - LldpChassisIdSubtype
        port_id = id_text(port, mac=kind == _BY_MAC, address=kind == 4)  # noqa: PLR2004 - LldpPortIdSubtype
        told, said = text_of(description), text_of(sys_name)
        interface = port_id if kind == _BY_NAME or not looks_like_port(told) else told
        device = said if not is_nobody(said) else chassis_id or (port_id if is_mac(port_id) else "")
        return Neighbour(name, device, interface or told, chassis_id or None, port_id or None, told or None)


def one_a_port(by_port: Mapping[str, Iterable[Neighbour]]) -> tuple[list[Neighbour], list[str]]:
    """One neighbour a port, and why others are left out."""
    found, silent, doubts = [], [], []
    for name, several in by_port.items():
        distinct = _distinct(several)
        if len(distinct) > 1:
            who = ", ".join(sorted({f"{one.peer_device} {one.peer_interface}" for one in distinct}))
            doubts.append(f"{name} sees several neighbours, so none is the other end: {who}")
        elif not distinct[0].peer_device or not distinct[0].peer_interface:
            silent.append(name)
        else:
            found.append(distinct[0])
    if silent:
        doubts.append(f"neighbours do not say who they are, or at which port, at {', '.join(sorted(silent))}")
    return found, doubts


def is_management(name: str) -> bool:
    """Whether a port is one that no transceiver of the fabric sits in.

    >>> is_management("Management1"), is_management("Ethernet1")
    (True, False)
    """
    return bool(_MANAGEMENT.match(name))


def is_nobody(name: str) -> bool:
    """Whether a neighbour's name is none."""
    return name.casefold() in _NOBODY


def _local_number(index: str) -> int | None:
    """The local port number of an index (time mark, local port, …); None where RouterOS leaves it out, or at 0."""
    parts = index.split(".")
    return int(parts[1]) or None if len(parts) > 1 else None


def _distinct(several: Iterable[Neighbour]) -> list[Neighbour]:
    """Neighbours told apart: what an adapter's firmware and its host say of the same port is one, the host's words."""
    found: dict[object, Neighbour] = {}
    for one in several:
        mac = one.port_id if one.port_id and is_mac(one.port_id) else None
        key = mac or (plain(one.peer_device), plain(one.port_id or one.peer_interface))
        before = found.get(key)
        if before is None or before.peer_device == before.chassis:
            found[key] = one
    return list(found.values())
