"""How one device is read, and what of it is not: `forelight collect --explain`. Nothing is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ingest.config import Target
from ingest.decode.discover import Decoded, Plan, columns_to_walk, discover
from ingest.decode.entity import ports_and_entities
from ingest.decode.interfaces import Interfaces, text_of
from ingest.decode.lldp import Lldp, walk_lldp
from ingest.decode.profile import Profile, load_profile, profiles_for
from ingest.decode.sensors import unread_sensors
from ingest.decode.tables import unread_rows
from ingest.errors import AuthError, IngestError, TransportError
from ingest.gnmi.explain import ask
from ingest.snmp.connect import Connection, connect
from ingest.snmp.doctor import explain_silence
from ingest.snmp.transport import Column

__all__ = ["Explanation", "Tried", "explain"]

_SYS_DESCR, _SYS_OBJECT_ID = "1.3.6.1.2.1.1.1", "1.3.6.1.2.1.1.2"


@dataclass(frozen=True, slots=True)
class Tried:
    """One profile, why it was tried, and how many numbers of optics it gave."""

    profile: str
    why: str
    numbers: int


@dataclass
class Explanation:
    """What asking a device brought.

    Attributes:
        silence: why it did not answer, in one line; nothing else is then known.
        description: sysDescr.
        object_id: sysObjectID, over SNMP.
        tried: profiles, or the family of gNMI's paths, in order; the last one with numbers is the one used.
        rows: by column that was asked for how many rows there were; over gNMI by what may be told.
        decoded: what was read; None where nothing could be.
        unread: what looks like an optic's and is not read, each with the reason.
        lldp: neighbours.
    """

    target: Target
    silence: str | None = None
    description: str = ""
    object_id: str = ""
    tried: list[Tried] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    decoded: Decoded | None = None
    unread: list[str] = field(default_factory=list)
    lldp: Lldp = field(default_factory=Lldp)


async def explain(target: Target) -> Explanation:
    """Ask one device for everything, with patience.

    Raises:
        ConfigError: it cannot be asked as configured.
    """
    found = Explanation(target)
    if target.protocol == "gnmi":
        return await _streamed(found)
    connection = await connect(target)
    try:
        await _ask(connection, found)
    except (AuthError, TransportError) as error:
        doctor = "" if connection.answered else await explain_silence(target)
        found.silence = doctor or str(error)
    finally:
        connection.close()
    return found


async def _streamed(found: Explanation) -> Explanation:
    try:
        asked = await ask(found.target)
    except (AuthError, TransportError) as error:
        found.silence = str(error)
        return found
    found.description, found.rows, found.lldp = asked.description, asked.counts, asked.lldp
    found.decoded, found.unread = asked.decoded, asked.unread
    numbers = 0
    if asked.decoded is not None:
        numbers = sum(reading.value is not None for reading in asked.decoded.readings)
        found.unread += _doubts(asked.decoded)
    found.tried = [Tried(asked.family, asked.why, numbers)]
    return found


async def _ask(connection: Connection, found: Explanation) -> None:
    found.object_id = text_of((await connection.walk(_SYS_OBJECT_ID)).get("0")).strip(".")
    found.description = text_of((await connection.walk(_SYS_DESCR)).get("0"))
    cells: dict[str, Column] = {}
    for profile, why in _candidates(found):
        plan = columns_to_walk(profile)
        await _walk(connection, plan, cells, found)
        device = discover(cells, profile)
        snapshot = device.read(cells)
        found.tried.append(Tried(profile.name, why, int(snapshot.given.sum())))
        if found.decoded is None or snapshot.given.any():
            found.decoded = Decoded(device, snapshot)
            found.unread = list(_unread(cells, profile, found.decoded))
        if snapshot.given.any():
            break
    found.lldp = Lldp.of(await walk_lldp(connection.walk), Interfaces.of(cells))


def _candidates(found: Explanation) -> Iterator[tuple[Profile, str]]:
    named = found.target.snmp.profile if found.target.snmp else None
    if named:
        yield load_profile(named), "named in the configuration"
        return
    for profile in profiles_for(found.object_id):
        fits = any(f"{found.object_id}.".startswith(f"{prefix}.") for prefix in profile.sys_object_id)
        yield profile, f"fits sysObjectID {found.object_id}" if fits else "the standard's own MIB, tried at last"


async def _walk(connection: Connection, plan: Plan, cells: dict[str, Column], found: Explanation) -> None:
    for column in (*plan.needed, *plan.extra):
        if column in cells:
            continue
        try:
            cells[column] = await connection.walk(column)
        except IngestError as error:
            if not connection.answered:
                raise
            cells[column] = {}
            found.unread.append(f"column {column}: {error}")
        found.rows[column] = len(cells[column])


def _unread(cells: Mapping[str, Column], profile: Profile, decoded: Decoded) -> Iterator[str]:
    """What an operator may miss."""
    ports, entities = ports_and_entities(cells)
    if profile.sensors:
        yield from unread_sensors(cells, profile.sensors, entities, ports)
    for table in profile.tables:
        yield from unread_rows(cells, table, entities, ports)
    yield from _doubts(decoded)


def _doubts(decoded: Decoded) -> Iterator[str]:
    for reading in decoded.readings:
        if reading.value is None and reading.raw:
            lane = f" lane {reading.lane}" if reading.lane else ""
            yield f"{reading.interface}{lane} {reading.quantity}: {reading.raw:g} is no value that a module can have"
    for port in sorted(decoded.map.implausible):
        yield f"{port}: its limits contradict each other, and are not used"
    for port in decoded.alive:
        if port not in decoded.map.serials:
            yield f"{port}: no serial number, so a swap of its module would not be seen"
