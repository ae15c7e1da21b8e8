"""From the cells of a device and its profile to a map of it, and from a map and a poll's cells to readings. Pure."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

from ingest.decode.devicemap import DeviceMap, Snapshot
from ingest.decode.entity import ENTITY_COLUMNS, INVENTORY_COLUMNS, SERIAL, Entities, Inventory, ports_and_entities
from ingest.decode.flaps import LAST_CHANGE, STATE_CHANGES
from ingest.decode.interfaces import IF_COLUMNS, Interfaces
from ingest.decode.profile import COMMON, Profile, load_profile
from ingest.decode.quality import plausible_limits
from ingest.decode.sensors import sensor_columns, sensor_slots
from ingest.decode.slots import QUANTITIES, Slot
from ingest.decode.tables import TableSlots, table_columns, table_slots
from ingest.snmp.transport import Column

__all__ = ["Decoded", "Plan", "PortState", "Reading", "columns_to_walk", "decode", "discover"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Columns of a discovery, in the order to walk them.

    Attributes:
        needed: without one of these no reading can be trusted.
        extra: inventory, limits and counters; a poll that lost these is partial.
    """

    needed: tuple[str, ...]
    extra: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PortState:
    """How a port stands; None is unknown, which is neither up nor down."""

    oper_up: bool | None = None
    admin_up: bool | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """One quantity of one lane; `value` is None where the device's number could not be believed."""

    interface: str
    lane: int
    quantity: str
    value: float | None
    raw: float


@dataclass(frozen=True, eq=False)
class Decoded:
    """A poll of a device, to look at; rows of tables are made from the map and the snapshot themselves."""

    map: DeviceMap
    snapshot: Snapshot

    @property
    def readings(self) -> list[Reading]:
        """What the alive ports' modules say, port by port and lane by lane."""
        rows, snapshot = self.map.rows, self.snapshot
        given = snapshot.given & snapshot.alive[rows.port][:, None]
        return [
            Reading(
                self.map.ports[rows.port[row]],
                int(rows.lane[row]),
                QUANTITIES[column],
                None if math.isnan(value := snapshot.values[row, column]) else float(value),
                float(snapshot.raw[row, column]),
            )
            for row, column in zip(*given.nonzero(), strict=True)
        ]

    @property
    def states(self) -> dict[str, PortState]:
        """How each alive port stands."""
        words = {1: True, 0: False}
        return {
            name: PortState(words.get(int(self.snapshot.up[i])), words.get(int(self.snapshot.admin[i])))
            for i, name in enumerate(self.map.ports)
            if self.snapshot.alive[i]
        }

    @property
    def inventory(self) -> dict[str, Inventory]:
        """Modules of the alive ports, where the device tells."""
        return {name: self.map.inventory[name] for name in self.alive if name in self.map.inventory}

    @property
    def alive(self) -> list[str]:
        """Ports that say something."""
        return [self.map.ports[i] for i in self.snapshot.alive.nonzero()[0]]


def columns_to_walk(profile: Profile) -> Plan:
    """What to ask a device for."""
    needed: list[str] = []
    extra: list[str] = [*INVENTORY_COLUMNS]
    if profile.sensors:
        values, limits = sensor_columns(profile.sensors)
        needed += [*values, *ENTITY_COLUMNS]
        extra += limits
    else:
        extra += ENTITY_COLUMNS
    for table in profile.tables:
        values, limits = table_columns(table)
        needed += values
        extra += limits
    if any("entity" in table.index for table in profile.tables):
        needed += ENTITY_COLUMNS
    needed += IF_COLUMNS
    for table in load_profile(COMMON).tables:
        extra += table_columns(table)[0]
    extra += (LAST_CHANGE, STATE_CHANGES)
    return Plan(tuple(dict.fromkeys(needed)), tuple(c for c in dict.fromkeys(extra) if c not in needed))


def decode(cells: Mapping[str, Column], profile: Profile) -> Decoded:
    """Discovery and first reading of a device from one set of cells."""
    device = discover(cells, profile)
    return Decoded(device, device.read(cells))


def discover(cells: Mapping[str, Column], profile: Profile) -> DeviceMap:
    """The map of a device; a column that was not walked counts as empty."""
    ports, entities = ports_and_entities(cells)
    found = [table_slots(cells, table, entities, ports) for table in profile.tables]
    sensors, modules = sensor_slots(cells, profile.sensors, entities, ports) if profile.sensors else ([], {})
    at = {name: if_index for table in found for name, if_index in table.if_index.items()}
    index_of = {name: i for i, name in reversed(ports.names.items())} | at
    inventory, serials = _inventory(found, modules, entities, ports)
    readings = [s for s in [*sensors, *(s for table in found for s in table.slots)] if s.quantity in QUANTITIES]
    names = sorted({s.interface for s in readings} | {name for name in inventory if inventory[name].serial})
    names = [name for name in names if name in index_of]
    counters = _counters(cells, found, entities, ports, {index_of[name]: name for name in names})
    limits, implausible = _limits(readings)
    scaled = profile.sensors if any(s.watts for s in sensors) else None
    return DeviceMap(
        profile=profile.name,
        ports=tuple(names),
        if_index=tuple(index_of[name] for name in names),
        slots=(*(s for s in readings if s.interface in index_of), *counters),
        cells=cells,
        inventory={name: inventory[name] for name in names if name in inventory},
        limits=limits,
        implausible=frozenset(implausible),
        uncalibrated=frozenset(name for table in found for name in table.uncalibrated),
        serials={name: oid for name, oid in serials.items() if name in index_of},
        interfaces=ports,
        guards=(f"{scaled.table}.{scaled.scale}", f"{scaled.table}.{scaled.precision}") if scaled else (),
    )


def _inventory(
    found: list[TableSlots], modules: Mapping[str, int], entities: Entities, ports: Interfaces
) -> tuple[dict[str, Inventory], dict[str, str]]:
    """Each port's module, and the OID of its serial number."""
    inventory: dict[str, Inventory] = {}
    serials: dict[str, str] = {}
    of_port = {ports.names[i]: entity for i, entity in entities.modules(ports).items()}
    for name, entity in {**of_port, **{n: e for n, e in modules.items() if e in entities.inventory}}.items():
        inventory[name] = entities.inventory[entity]
        if inventory[name].serial:
            serials[name] = f"{SERIAL}.{entity}"
    for table in found:
        inventory |= table.inventory
        serials |= {name: f"{column}.{index}" for name, (column, index) in table.serials.items()}
    return inventory, serials


def _counters(
    cells: Mapping[str, Column],
    found: Iterable[TableSlots],
    entities: Entities,
    ports: Interfaces,
    named: Mapping[int, str],
) -> list[Slot]:
    """Counters of the named ports: the vendor's own, then the standard's where the vendor has none."""
    own = [s for table in found for s in table.slots if s.quantity not in QUANTITIES]
    standard = [s for t in load_profile(COMMON).tables for s in table_slots(cells, t, entities, ports).slots]
    index_of = {name: i for i, name in ports.names.items()}
    kept: dict[tuple[str, str], Slot] = {}
    for slot in (*own, *standard):
        name = named.get(index_of.get(slot.interface, -1), slot.interface)
        if name in named.values():
            kept.setdefault((name, slot.quantity), replace(slot, interface=name))
    return list(kept.values())


def _limits(slots: Iterable[Slot]) -> tuple[dict[str, dict[str, float]], set[str]]:
    """Each port's limits as columns of `modules`; where lanes differ, the first lane's."""
    found: dict[str, dict[str, float]] = {}
    implausible: set[str] = set()
    for slot in sorted(slots, key=attrgetter("interface", "lane")):
        if not slot.limits or slot.quantity not in _WITH_LIMITS:
            continue
        limits = plausible_limits(slot.limits, slot.quantity)
        if not limits and any(slot.limits.values()):
            implausible.add(slot.interface)
        quantity, _, unit = slot.quantity.rpartition("_")
        row = found.setdefault(slot.interface, {})
        for name, value in limits.items():
            side, _, level = name.partition("_")
            row.setdefault(f"{quantity}_{side}_{level}_{unit}", value)
    return found, implausible


_WITH_LIMITS = ("rx_power_dbm", "tx_power_dbm", "tx_bias_ma", "temperature_c", "voltage_v")
