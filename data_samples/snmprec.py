"""SNMP recordings of simulated switches, as snmpsim serves them: OIDs, types and values, made from a fleet's readings.

Three shapes of the same facts: ENTITY-SENSOR-MIB with watts and lanes counted from 0 (as Arista EOS has it),
CISCO-ENTITY-SENSOR-MIB with thousandths of a dBm (as NX-OS has it), and JUNIPER-DOM-MIB in hundredths. Made, not
recorded: sysDescr says so, and the last arc of sysObjectID is nobody's product. One liberty: Junos ties no module
to its port in ENTITY-MIB; here it does, as RFC 6933 would have it, so that serial numbers can be collected.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

__all__ = ["SHAPES", "LaneReading", "PortReading", "recording"]

_SYSTEM, _IF, _IF_X, _ENTITY = "1.3.6.1.2.1.1", "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1", "1.3.6.1.2.1.47.1.1.1.1"
_ALIAS, _SENSOR, _EOS_LIMITS = "1.3.6.1.2.1.47.1.3.2.1.2", "1.3.6.1.2.1.99.1.1.1", "1.3.6.1.4.1.30065.3.12.1.1.1"
_CISCO_SENSOR, _CISCO_LIMITS = "1.3.6.1.4.1.9.9.91.1.1.1.1", "1.3.6.1.4.1.9.9.91.1.2.1.1"
_JNX_MODULE, _JNX_LANE = "1.3.6.1.4.1.2636.3.60.1.1.1.1", "1.3.6.1.4.1.2636.3.60.1.2.1.1"
_INTEGER, _TEXT, _OBJECT_ID, _GAUGE, _TICKS = "2", "4", "6", "66", "67"
_CHASSIS, _CONTAINER, _SENSOR_CLASS, _MODULE, _PORT = 3, 5, 8, 9, 10
_UNITS, _MILLI = 9, 8  # EntitySensorDataScale

_LEVELS: Final = ("low_warn", "low_alarm", "high_warn", "high_alarm")


@dataclass(frozen=True, slots=True)
class LaneReading:
    """One lane, from 1; None is no reading, -40 dBm no light."""

    lane: int
    tx_power_dbm: float | None
    rx_power_dbm: float | None
    tx_bias_ma: float | None


@dataclass(frozen=True, slots=True)
class PortReading:
    """One port with its module; copper has no lanes to tell of. Limits are named as in `ingest.schema.LIMITS`."""

    interface: str
    port: int
    serial: str
    vendor: str
    part_number: str
    speed_gbps: float
    oper_up: bool
    admin_up: bool
    temperature_c: float | None = None
    voltage_v: float | None = None
    lanes: Sequence[LaneReading] = ()
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class _Recording:
    """Rows of an snmprec file, by OID."""

    rows: dict[str, tuple[str, object]] = field(default_factory=dict)

    def put(self, oid: str, tag: str, value: object) -> None:
        self.rows[oid] = (tag, value)

    def integers(self, table: str, index: str, columns: Mapping[int, float | None]) -> None:
        """Whole numbers of a row; a column without a value is left out."""
        for column, value in columns.items():
            if value is not None:
                self.put(f"{table}.{column}.{index}", _INTEGER, round(value))

    def entity(self, index: int, text: str, parent: int, kind: int, **told: str) -> None:
        """A row of entPhysicalTable; `told`: serial, vendor, part_number."""
        columns = {2: text, 7: text, 11: told.get("serial"), 12: told.get("vendor"), 13: told.get("part_number")}
        for column, value in columns.items():
            self.put(f"{_ENTITY}.{column}.{index}", _TEXT, value or "")
        self.integers(_ENTITY, str(index), {4: parent, 5: kind, 6: index % 100})

    def text(self) -> str:
        """The file's text, OIDs in their order."""
        order = sorted(self.rows, key=lambda oid: tuple(map(int, oid.split("."))))
        return "".join(f"{oid}|{tag}|{value}\n" for oid, (tag, value) in ((oid, self.rows[oid]) for oid in order))


def recording(system: str, device: str, ports: Sequence[PortReading]) -> str:
    """The text of an snmprec file of one switch.

    Args:
        system: eos, nxos or junos.
        device: its name, also sysName.
        ports: every port, those without DOM too.
    """
    shape = SHAPES[system]
    out = _Recording()
    out.put(f"{_SYSTEM}.1.0", _TEXT, f"{shape.description}, simulated: a synthetic recording, made by forelight")
    out.put(f"{_SYSTEM}.2.0", _OBJECT_ID, shape.object_id)
    out.put(f"{_SYSTEM}.3.0", _TICKS, 123_456_700)
    out.put(f"{_SYSTEM}.5.0", _TEXT, device)
    out.entity(1, "Chassis", 0, _CHASSIS, serial=f"SIM-{device}", vendor=shape.description)
    for port in ports:
        if_index = shape.if_index(port.port)
        _interface(out, port, if_index)
        shape.modules(out, port, if_index)
    return out.text()


def _interface(out: _Recording, port: PortReading, if_index: int) -> None:
    out.put(f"{_IF}.2.{if_index}", _TEXT, port.interface)
    out.put(f"{_IF_X}.1.{if_index}", _TEXT, port.interface)
    out.put(f"{_IF_X}.15.{if_index}", _GAUGE, round(port.speed_gbps * 1000))
    up, admin = (1 if state else 2 for state in (port.oper_up, port.admin_up))
    out.integers(_IF, str(if_index), {3: 6, 7: admin, 8: up})


def _limits(port: PortReading, quantity: str, unit: str, scale: Callable[[float], float]) -> dict[str, float]:
    """The port's limits of one quantity by level, as the device's integers."""
    named = {level: port.limits.get(f"{quantity}_{level}_{unit}") for level in _LEVELS}
    return {level: scale(value) for level, value in named.items() if value is not None}


def _by(factor: float) -> Callable[[float], float]:
    return lambda value: value * factor


def _tenth_microwatts(dbm: float) -> float:
    """As SFF-8472's registers: no light is still one bit.

    >>> _tenth_microwatts(0.0), _tenth_microwatts(-40.0)
    (10000.0, 1.0)
    """
    return max(float(round(10.0 ** (dbm / 10.0) * 1e4)), 1.0)


def _eos(out: _Recording, port: PortReading, if_index: int) -> None:
    """Slot, module, lanes, sensors: each below the other; only the text names the port."""
    del if_index
    base = 100_300_000 + 1000 * port.port
    told = {"serial": port.serial, "vendor": port.vendor, "part_number": port.part_number}
    cage = port.interface.rpartition("/")[0]
    out.entity(base, f"Xcvr Slot {port.port + 1}", 1, _CONTAINER)
    out.entity(base + 100, f"Xcvr for {cage}", base, _CONTAINER, **told)
    if not port.lanes:
        return
    sensors = [
        (base + 201, base + 100, "Temperature", cage, (8, _UNITS, 1), port.temperature_c, _by(10)),
        (base + 202, base + 100, "Voltage", cage, (4, _UNITS, 2), port.voltage_v, _by(100)),
    ]
    for lane in port.lanes:
        at, name = base + 200 + 10 * lane.lane, f"{cage}/{lane.lane}"
        out.entity(at, f"Lane {lane.lane - 1} for Xcvr for {cage}", base + 100, _MODULE)
        sensors += [
            (at + 1, at, "TX Bias", name, (5, _MILLI, 2), lane.tx_bias_ma, _by(100)),
            (at + 2, at, "TX Power", name, (6, _MILLI, 4), lane.tx_power_dbm, _tenth_microwatts),
            (at + 3, at, "RX Power", name, (6, _MILLI, 4), lane.rx_power_dbm, _tenth_microwatts),
        ]
    for index, parent, what, name, (kind, scale, precision), value, raw in sensors:
        out.entity(index, f"DOM {what} Sensor for {name}", parent, _SENSOR_CLASS)
        told_value = None if value is None else raw(value)
        status = 1 if value is not None else 2
        out.integers(_SENSOR, str(index), {1: kind, 2: scale, 3: precision, 4: told_value or 0, 5: status})
        limits = _limits(port, *_QUANTITIES[what], raw)
        out.integers(_EOS_LIMITS, str(index), dict(enumerate((limits.get(level) for level in _LEVELS), 1)))


_QUANTITIES: Final = {
    "Temperature": ("temperature", "c"),
    "Voltage": ("voltage", "v"),
    "TX Bias": ("tx_bias", "ma"),
    "TX Power": ("tx_power", "dbm"),
    "RX Power": ("rx_power", "dbm"),
}


def _nxos(out: _Recording, port: PortReading, if_index: int) -> None:
    """Port, module and sensors; the port is tied to its ifIndex, the sensors' names say lane and port."""
    entity, module, sensor = 5206 + 4 * port.port, 48_854 + port.port, 300_040_000 + 100 * port.port
    out.entity(entity, f"Linecard-1 Port-{port.port + 1}", 1, _PORT)
    out.put(f"{_ALIAS}.{entity}.0", _OBJECT_ID, f"{_IF}.1.{if_index}")
    told = {"serial": port.serial, "vendor": port.vendor, "part_number": port.part_number}
    out.entity(module, f"Transceiver(slot:1-port:{port.port + 1})", entity, _MODULE, **told)
    for lane in port.lanes:
        readings = [
            ("Bias Current", "TX Bias", (5, 7), lane.tx_bias_ma),  # micro
            ("Transmit Power", "TX Power", (14, _MILLI), lane.tx_power_dbm),
            ("Receive Power", "RX Power", (14, _MILLI), lane.rx_power_dbm),
        ]
        if lane.lane == 1:
            readings += [
                ("Temperature", "Temperature", (8, _MILLI), port.temperature_c),
                ("Voltage", "Voltage", (4, _MILLI), port.voltage_v),
            ]
        for text, what, (kind, scale), value in readings:
            sensor += 1
            out.entity(sensor, f"{port.interface} Lane {lane.lane} Transceiver {text} Sensor", module, _SENSOR_CLASS)
            raw = None if value is None else value * 1000
            status = 1 if value is not None else 2
            out.integers(_CISCO_SENSOR, str(sensor), {1: kind, 2: scale, 3: 0, 4: raw or 0, 5: status})
            _cisco_limits(out, port, what, sensor)


def _cisco_limits(out: _Recording, port: PortReading, what: str, sensor: int) -> None:
    """Four rows a sensor: severity minor (10) or major (20), relation below (1) or above (3)."""
    limits = _limits(port, *_QUANTITIES[what], _by(1000))
    for number, level in enumerate(("high_alarm", "high_warn", "low_alarm", "low_warn"), 1):
        if level in limits:
            severity, relation = 20 if level.endswith("alarm") else 10, 1 if level.startswith("low") else 3
            out.integers(_CISCO_LIMITS, f"{sensor}.{number}", {2: severity, 3: relation, 4: limits[level]})


def _junos(out: _Recording, port: PortReading, if_index: int) -> None:
    """A row a module, whose powers are 0 as there are lanes, and a row a lane, counted from 0."""
    entity = 75 + port.port
    told = {"serial": port.serial, "vendor": port.vendor, "part_number": port.part_number}
    out.entity(entity, f"{port.part_number} @ 0/0/{port.port}", 1, _PORT, **told)
    out.put(f"{_ALIAS}.{entity}.0", _OBJECT_ID, f"{_IF}.1.{if_index}")
    if not port.lanes:
        return
    module: dict[int, float | None] = {5: 0, 6: 0, 7: 0, 8: port.temperature_c}
    module[25] = None if port.voltage_v is None else port.voltage_v * 1000
    for first, what, scale in (
        (9, "RX Power", 100),
        (13, "TX Bias", 1000),
        (17, "TX Power", 100),
        (21, "Temperature", 1),
    ):
        limits = _limits(port, *_QUANTITIES[what], _by(scale))
        order = ("high_alarm", "low_alarm", "high_warn", "low_warn")
        module |= {first + n: limits.get(level) for n, level in enumerate(order)}
    out.integers(_JNX_MODULE, str(if_index), module)
    for lane in port.lanes:
        scaled = ((6, lane.rx_power_dbm, 100), (7, lane.tx_bias_ma, 1000), (8, lane.tx_power_dbm, 100))
        columns = {column: None if value is None else value * by for column, value, by in scaled}
        out.integers(_JNX_LANE, f"{if_index}.{lane.lane - 1}", {1: lane.lane - 1, **columns})


@dataclass(frozen=True, slots=True)
class _Shape:
    description: str
    object_id: str
    if_index: Callable[[int], int]
    modules: Callable[[_Recording, PortReading, int], None]


SHAPES: Final = {
    "eos": _Shape("Arista Networks EOS", "1.3.6.1.4.1.30065.1.3011.9999", lambda port: port + 1, _eos),
    "nxos": _Shape("Cisco NX-OS(tm)", "1.3.6.1.4.1.9.12.3.1.3.9999", lambda port: 436_207_616 + 512 * port, _nxos),
    "junos": _Shape(
        "Juniper Networks, Inc. Junos", "1.3.6.1.4.1.2636.1.1.1.4.9999", lambda port: 507 + 2 * port, _junos
    ),
}
"""How each system's agent tells of transceivers."""
