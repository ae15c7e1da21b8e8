"""From the raw cells of one poll and a profile to canonical readings, port states and modules. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

from ingest.entity import ENTITY_COLUMNS, INVENTORY_COLUMNS, Entities, Inventory
from ingest.interfaces import IF_COLUMNS, Interfaces, PortState
from ingest.profile import Profile
from ingest.quality import Reading, believed, plausible_limits
from ingest.sensors import decode_sensors, sensor_columns
from ingest.tables import decode_table, table_columns
from ingest.transport import Column

__all__ = ["Decoded", "Plan", "columns_to_walk", "decode"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Columns of one poll, in the order to walk them.

    Attributes:
        needed: without one of these no reading can be trusted.
        extra: inventory and limits; a poll that lost these is partial.
    """

    needed: tuple[str, ...]
    extra: tuple[str, ...]


@dataclass(frozen=True)
class Decoded:
    """What a device said, port by port (ifName).

    Attributes:
        readings: all of transceivers, judged.
        states: of each port with a transceiver that says something, a serial number at least.
        inventory: of each module, where the device tells.
        limits: columns of `modules` such as `rx_power_low_alarm_dbm`, by port.
        implausible: ports whose limits contradict each other.
    """

    readings: list[Reading]
    states: dict[str, PortState]
    inventory: dict[str, Inventory]
    limits: dict[str, dict[str, float]] = field(default_factory=dict)
    implausible: frozenset[str] = frozenset()


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
    return Plan(tuple(dict.fromkeys(needed)), tuple(c for c in dict.fromkeys(extra) if c not in needed))


def decode(cells: Mapping[str, Column], profile: Profile) -> Decoded:
    """All transceivers of a device; a column that was not walked counts as empty."""
    ports, entities = Interfaces.of(cells), Entities.of(cells)
    readings: list[Reading] = []
    inventory: dict[str, Inventory] = {}
    if profile.sensors:
        readings, modules = decode_sensors(cells, profile.sensors, entities, ports)
        inventory = {name: entities.inventory[e] for name, e in modules.items() if e in entities.inventory}
    states = {ports.names[i]: state for i, state in ports.states.items()}
    for table in profile.tables:
        found = decode_table(cells, table, entities, ports)
        readings += found.readings
        inventory |= found.inventory
        states |= found.states
    judged = list(_judged(readings, states))
    named = {r.interface for r in judged if r.value is not None}
    for if_index, entity in entities.modules(ports).items():
        inventory.setdefault(ports.names[if_index], entities.inventory[entity])
    # A module that answers nothing is still there, where its serial number is.
    named |= {r.interface for r in judged if r.interface in inventory and inventory[r.interface].serial}
    limits, implausible = _limits(readings, named)
    return Decoded(
        readings=[r for r in judged if r.interface in named],
        states={name: states.get(name, PortState()) for name in sorted(named)},
        inventory={name: inventory[name] for name in sorted(named & inventory.keys())},
        limits=limits,
        implausible=frozenset(implausible),
    )


def _judged(readings: Iterable[Reading], states: Mapping[str, PortState]) -> Iterator[Reading]:
    by_port = attrgetter("interface")
    for name, group in groupby(sorted(readings, key=by_port), key=by_port):
        yield from believed(group, oper_up=states.get(name, PortState()).oper_up)


def _limits(readings: Iterable[Reading], named: set[str]) -> tuple[dict[str, dict[str, float]], set[str]]:
    """Each port's limits as columns of `modules`; where lanes differ, the first lane's."""
    found: dict[str, dict[str, float]] = {}
    implausible: set[str] = set()
    for reading in sorted(readings, key=attrgetter("interface", "lane")):
        if reading.interface not in named or not reading.limits or reading.quantity == "laser_temperature_c":
            continue
        limits = plausible_limits(reading.limits, reading.quantity)
        if not limits and any(reading.limits.values()):
            implausible.add(reading.interface)
        quantity, _, unit = reading.quantity.rpartition("_")
        row = found.setdefault(reading.interface, {})
        for name, value in limits.items():
            side, _, level = name.partition("_")
            row.setdefault(f"{quantity}_{side}_{level}_{unit}", value)
    return found, implausible
