"""ENTITY-MIB of one poll: from a sensor up to its module and its port.

Vendors hang sensors differently. Seen in recordings: below a lane below the module below a slot (EOS), below the
module below the port that entAliasMapping ties to an ifIndex (NX-OS, IOS-XR), below the module that is the port
(IOS-XE), below the module whose text names the port (SONiC), and nowhere, with the port in the sensor's own text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from ingest.decode.interfaces import Interfaces, Mention, text_of
from ingest.snmp.transport import Cell, Column

__all__ = ["ENTITY_COLUMNS", "INVENTORY_COLUMNS", "SERIAL", "Entities", "Inventory", "Place", "ports_and_entities"]

_ENTRY = "1.3.6.1.2.1.47.1.1.1.1"
_DESCR, _PARENT, _CLASS, _NAME, _FIRMWARE, SERIAL, _MAKER, _MODEL = (
    f"{_ENTRY}.{column}" for column in (2, 4, 5, 7, 9, 11, 12, 13)
)
_ALIAS = "1.3.6.1.2.1.47.1.3.2.1.2"  # entAliasMappingIdentifier, indexed (entity, logical entity)
ENTITY_COLUMNS = (_NAME, _DESCR, _PARENT, _CLASS, _ALIAS)
INVENTORY_COLUMNS = (SERIAL, _MAKER, _MODEL, _FIRMWARE)

_CHASSIS, _BACKPLANE, _POWER_SUPPLY, _FAN, _PORT, _STACK = 3, 4, 6, 7, 10, 11
_WALLS = {_CHASSIS, _BACKPLANE, _POWER_SUPPLY, _FAN, _STACK}
"""entPhysicalClass of what no transceiver lies below of without a port in between."""

_DEPTH = 6
"""Levels climbed from a sensor to its port; four were seen (EOS)."""

_LANE = re.compile(r"\blane[\s_#-]*(\d+)|\b(?:channel|chan)[\s_#-]*(\d+)|\b[rt]x[_-]?(\d+)\b(?![/.])", re.IGNORECASE)
_PLUGGABLE = re.compile(r"transceiver|xcvr|pluggable|\boptics?\b|[qx]?sfp|\bxfp|\bosfp|\bc(fp|pak)", re.IGNORECASE)
_SLOT = re.compile(r"\bsubslot (\d+/\d+) transceiver (\d+)\b", re.IGNORECASE)
_SONIC_NAME = re.compile(r"Ethernet(\d+)")
_SONIC_PORTS, _SONIC_PORT = 1_000_000_000, 100  # its ports' entPhysicalIndex, but for 100 times their ifIndex
_BLANK = {"", "n/a", "na", "none", "unknown", "not available", "0", "-", "unspecified"}


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a module says of itself; None where it says nothing."""

    serial: str | None = None
    vendor: str | None = None
    part_number: str | None = None
    firmware: str | None = None
    media: str | None = None
    form_factor: str | None = None
    speed_gbps: float | None = None
    fec_mode: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sensor sits: its port, the number of its lane as the device counts, the entity of its module."""

    if_index: int
    lane: int | None
    module: int | None


@dataclass(frozen=True)
class Entities:
    """Physical entities of one device by entPhysicalIndex."""

    texts: dict[int, tuple[str, str]] = field(default_factory=dict)  # name, description
    parents: dict[int, int] = field(default_factory=dict)
    classes: dict[int, int] = field(default_factory=dict)
    aliases: dict[int, int] = field(default_factory=dict)  # entity -> ifIndex
    inventory: dict[int, Inventory] = field(default_factory=dict)

    @classmethod
    def of(cls, cells: Mapping[str, Column]) -> Self:
        """Join ENTITY-MIB's columns by their index."""
        names, descriptions = (_texts(cells.get(column, {})) for column in (_NAME, _DESCR))
        serial, maker, model, firmware = (
            {i: _told(text) for i, text in _texts(cells.get(column, {})).items()}
            for column in (SERIAL, _MAKER, _MODEL, _FIRMWARE)
        )
        known = serial.keys() | maker.keys() | model.keys()
        return cls(
            texts={i: (names.get(i, ""), descriptions.get(i, "")) for i in names.keys() | descriptions.keys()},
            parents=_integers(cells.get(_PARENT, {})),
            classes=_integers(cells.get(_CLASS, {})),
            aliases=dict(_aliases(cells.get(_ALIAS, {}))),
            inventory={i: Inventory(serial.get(i), maker.get(i), model.get(i), firmware.get(i)) for i in known},
        )

    def named_as_here(self, ports: Interfaces) -> Interfaces:
        """The ports, also by the names that SONiC has here alone where IF-MIB has those on the front panel.

        Its entPhysicalIndex tells the ifIndex, and so does the name: Ethernet52 is ifIndex 53. Only where both agree.
        """
        also: dict[str, int] = {}
        for entity, (name, _) in self.texts.items():
            if_index, other = divmod(entity - _SONIC_PORTS, _SONIC_PORT)
            number = _SONIC_NAME.fullmatch(name)
            if number and not other and if_index == int(number[1]) + 1 and if_index in ports.names:
                also[name] = if_index
        return ports.known_as(also)

    def text(self, entity: int) -> str:
        """Name and description, once where they are the same."""
        name, description = self.texts.get(entity, ("", ""))
        return name if name == description else f"{name} {description}".strip()

    def place(self, sensor: int, ports: Interfaces) -> Place | None:
        """Where a sensor sits, or None where that cannot be said for sure."""
        above = list(self._above(sensor))
        module = next((e for e in above if not _LANE.match(self.text(e))), None)
        port = next(filter(None, (self._port(e, ports) for e in above)), None) or self._inside(module, ports)
        own = self._mention(sensor, ports, None if port is None else port.if_index)
        if own and port and self._is_lane_of(own, port, sensor, module):
            # EOS names each lane after its breakout port, in use or not: the module stays one, in its first port.
            lane_of = ports.lane_of(own.if_index, port.if_index)
            own = own if lane_of is None else Mention(port.if_index, own.suffix or lane_of)
        at = own or port
        if at is None:
            return None
        lane = next(filter(None, map(_LANE.search, (self.text(e) for e in (sensor, *above)))), None)
        number = int(next(filter(None, lane.groups()))) if lane else at.suffix if own else None
        return Place(ports.cage(at.if_index), number, module)

    def _is_lane_of(self, own: Mention, port: Mention, sensor: int, module: int | None) -> bool:
        """Whether the port in a sensor's text may be a lane's name; not where the text numbers the lane itself."""
        pluggable = module is not None and _PLUGGABLE.search(self.text(module)) is not None
        return pluggable and own.if_index != port.if_index and not _LANE.search(self.text(sensor))

    def modules(self, ports: Interfaces) -> dict[int, int]:
        """Ports and the entity with a serial number that itself names or is tied to the port, where they agree on it.

        IOS-XR has a module and its IDPROM, of the same number.
        """
        found: dict[int, list[int]] = {}
        for entity, inventory in self.inventory.items():
            if inventory.serial and self.classes.get(entity) not in _WALLS:
                port = self._port(entity, ports)
                if port is not None:
                    found.setdefault(ports.cage(port.if_index), []).append(entity)
        serials = {i: {self.inventory[e].serial for e in entities} for i, entities in found.items()}
        return {if_index: entities[0] for if_index, entities in found.items() if len(serials[if_index]) == 1}

    def port_of(self, entity: int, ports: Interfaces) -> int | None:
        """The port that an entity is, or is tied to."""
        port = self._port(entity, ports)
        return None if port is None else port.if_index

    def _above(self, entity: int) -> Iterator[int]:
        seen = {entity}
        for _ in range(_DEPTH):
            entity = self.parents.get(entity, 0)
            if entity in seen or entity not in self.texts or self.classes.get(entity) in _WALLS:
                return
            seen.add(entity)
            yield entity

    def _inside(self, module: int | None, ports: Interfaces) -> Mention | None:
        """The port that hangs below the module, or that its own text places: as on IOS-XE routers."""
        if module is None or not _PLUGGABLE.search(self.text(module)):
            return None  # a line card with a single port is not that port
        below = [e for e, parent in self.parents.items() if parent == module and self.classes.get(e) == _PORT]
        found = list(filter(None, (self._port(e, ports) for e in below)))
        if len({m.if_index for m in found}) == 1:
            return found[0]
        slot = _SLOT.search(self.text(module))
        port = ports.at(f"{slot[1]}/{slot[2]}") if slot else None
        return None if port is None else Mention(port)

    def _port(self, entity: int, ports: Interfaces) -> Mention | None:
        alias = self.aliases.get(entity)
        return Mention(alias) if alias in ports.names else self._mention(entity, ports, None)

    def _mention(self, entity: int, ports: Interfaces, prefer: int | None) -> Mention | None:
        found = [m for text in self.texts.get(entity, ()) if (m := ports.mention(text, prefer))]
        return found[0] if len({m.if_index for m in found}) == 1 else None


def ports_and_entities(cells: Mapping[str, Column]) -> tuple[Interfaces, Entities]:
    """Both MIBs of a poll."""
    entities = Entities.of(cells)
    return entities.named_as_here(Interfaces.of(cells)), entities


def _told(text: str) -> str | None:
    return None if text.casefold() in _BLANK else text


def _texts(column: Column) -> dict[int, str]:
    return {int(index): text_of(cell) for index, cell in column.items() if index.isdigit()}


def _integers(column: Column) -> dict[int, int]:
    return {int(index): cell for index, cell in column.items() if index.isdigit() and isinstance(cell, int)}


def _aliases(column: Column) -> Iterator[tuple[int, int]]:
    for index, cell in column.items():
        entity, _, _ = index.partition(".")
        if_index = _last_arc(cell)
        if if_index is not None:
            yield int(entity), if_index


def _last_arc(cell: Cell) -> int | None:
    arc = text_of(cell).rpartition(".")[2]
    return int(arc) if arc.isdigit() else None
