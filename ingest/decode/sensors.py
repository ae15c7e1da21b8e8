"""Sensor tables (ENTITY-SENSOR-MIB and its relatives) into readings: unit, scale, place and meaning of each sensor."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ingest.decode.entity import Entities, Place
from ingest.decode.interfaces import Interfaces, text_of
from ingest.decode.profile import Limits, SensorTable
from ingest.decode.slots import Slot
from ingest.snmp.transport import Cell, Column
from ingest.units import mw_to_dbm

__all__ = ["MAX_RAW", "NO_RAW", "scaled", "sensor_columns", "sensor_slots", "unread_sensors"]

_UNITS_SCALE = 9
"""EntitySensorDataScale: yocto(1), zepto(2), … milli(8), units(9), kilo(10): three decades a step (RFC 3433)."""

_SCALES, _PRECISIONS = range(1, 18), range(-8, 10)
"""What RFC 3433 allows; anything else is no sensor's row."""

MAX_RAW = 1_000_000_000
"""EntitySensorValue: -10^9 and 10^9 are underflow and overflow (RFC 3433; field_faults.md, row 24)."""

NO_RAW = (-32_768, -(2**31), 2**31 - 1)
"""The ends of a signed register: seen as "none" (IOS-XR)."""

_RX = re.compile(r"\b(rx|receive[drs]?|receiver|input)(?=\b|\d|_|power|pwr)", re.IGNORECASE)
_TX = re.compile(r"\b(tx|transmit(ted|ter)?|output|launch)(?=\b|\d|_|power|pwr|bias)", re.IGNORECASE)
_BIAS = re.compile(r"\b(tx)?bias|\bcurrent\b|\blaser\b", re.IGNORECASE)
_NOT_BIAS = re.compile(r"\btec\b|cooler", re.IGNORECASE)
_ELECTRIC = re.compile(r"\bpoe\b|\binline\b|power[ _-]?supply|\bpsu\d*\b|\bfan\b", re.IGNORECASE)
_OPTICAL = {"rx_power_dbm", "tx_power_dbm", "tx_bias_ma"}


@dataclass(frozen=True, slots=True)
class _Sensor:
    entity: int
    quantity: str
    place: Place
    unit: str
    exponent: int  # of ten, from scale and precision


def sensor_columns(table: SensorTable) -> tuple[list[str], list[str]]:
    """OIDs of the columns without which no value means anything, and of those that are good to have."""
    optional = [table.status, table.units_display]
    needed = [f"{table.table}.{c}" for c in (table.type, table.scale, table.precision, table.value)]
    extra = [f"{table.table}.{c}" for c in optional if c is not None]
    return needed + extra, _limit_columns(table.limits)


def _limit_columns(limits: Limits | None) -> list[str]:
    if limits is None:
        return []
    columns = [*limits.columns.values(), limits.severity, limits.relation, limits.value]
    return [f"{limits.table}.{c}" for c in columns if c is not None]


def scaled(raw: float, exponent: int, unit: str) -> float:
    """A sensor's integer in canonical units: dBm, V, mA, degrees.

    >>> round(scaled(6322, -3 - 4, "w"), 3)  # milli, four decimals: 0.6322 mW
    -1.991
    >>> scaled(3345, -3 - 2, "a")
    33.45
    """
    if unit == "w":
        return mw_to_dbm(_shifted(raw, exponent + 3)) if raw >= 0 else math.nan
    return _shifted(raw, exponent + (3 if unit == "a" else 0))


def _shifted(raw: float, exponent: int) -> float:
    """`raw` times ten to the `exponent`; divided where that is exact: 3345 / 100 is 33.45, 3345 * 0.01 is not."""
    return raw / float(10**-exponent) if exponent < 0 else raw * float(10**exponent)


def sensor_slots(
    cells: Mapping[str, Column], table: SensorTable, entities: Entities, ports: Interfaces
) -> tuple[list[Slot], dict[str, int]]:
    """Slots of all transceivers, and the entity of each port's module."""
    sensors = list(_sensors(cells, table, entities, ports))
    optical = {s.place.if_index for s in sensors if s.quantity in _OPTICAL}
    sensors = [s for s in sensors if s.place.if_index in optical]
    first_lane_is_0 = {_owner(s) for s in sensors if s.place.lane == 0}
    limits = _limits(cells, table.limits) if table.limits else {}
    slots = [_slot(s, table, ports, limits, shift=_owner(s) in first_lane_is_0) for s in sensors]
    modules = {ports.names[s.place.if_index]: s.place.module for s in sensors if s.place.module is not None}
    return slots, modules


def _owner(sensor: _Sensor) -> int:
    return sensor.place.if_index if sensor.place.module is None else -sensor.place.module


def _sensors(
    cells: Mapping[str, Column], table: SensorTable, entities: Entities, ports: Interfaces
) -> Iterator[_Sensor]:
    read = _Reader(cells, table, entities, ports)
    return (
        sensor for index in cells.get(f"{table.table}.{table.value}", {}) if isinstance(sensor := read(index), _Sensor)
    )


def unread_sensors(
    cells: Mapping[str, Column], table: SensorTable, entities: Entities, ports: Interfaces
) -> Iterator[str]:
    """Sensors that look like a transceiver's and are not read, each with the reason."""
    read = _Reader(cells, table, entities, ports)
    for index in cells.get(f"{table.table}.{table.value}", {}):
        reason = read(index)
        text = entities.text(int(index)) if index.isdigit() else ""
        if isinstance(reason, str) and (_RX.search(text) or _TX.search(text) or _BIAS.search(text)):
            yield f"sensor {index} ({text}): {reason}"


class _Reader:
    """Understands one row of a sensor table, or says why not."""

    def __init__(self, cells: Mapping[str, Column], table: SensorTable, entities: Entities, ports: Interfaces) -> None:
        columns = (table.type, table.scale, table.precision, table.units_display)
        self._columns = [cells.get(f"{table.table}.{column}", {}) for column in columns]
        self._table, self._entities, self._ports = table, entities, ports

    def __call__(self, index: str) -> _Sensor | str:
        types, scales, precisions, display = self._columns
        numbers = [n for column in (types, scales, precisions) if isinstance(n := column.get(index), int)]
        if not index.isdigit() or len(numbers) < 3:  # noqa: PLR2004 - type, scale, precision
            return "its type, scale or precision is not told"
        kind, scale, precision = numbers
        if scale not in _SCALES or precision not in _PRECISIONS:
            return f"scale {scale} or precision {precision} does not exist"
        unit = "dbm" if text_of(display.get(index)).casefold() == "dbm" else self._table.units.get(kind)
        if unit is None:
            return f"a unit that no optic has (type {kind})"
        quantity = _quantity(unit, self._entities.text(int(index)))
        if quantity is None:
            return "its name does not say for sure what it measures"
        place = self._entities.place(int(index), self._ports)
        if place is None:
            return "no port that it belongs to"
        return _Sensor(int(index), quantity, place, unit, 3 * (scale - _UNITS_SCALE) - precision)


def _quantity(unit: str, text: str) -> str | None:
    """What a sensor measures, from its unit and its name; None where that is not sure."""
    if unit == "v":
        return "voltage_v"
    if unit == "c":
        return "laser_temperature_c" if re.search(r"\blaser\b", text, re.IGNORECASE) else "temperature_c"
    if _ELECTRIC.search(text):
        return None
    if unit == "a":
        return "tx_bias_ma" if _BIAS.search(text) and not _NOT_BIAS.search(text) else None
    receives, transmits = bool(_RX.search(text)), bool(_TX.search(text))
    if receives == transmits:
        return None
    return "rx_power_dbm" if receives else "tx_power_dbm"


def _slot(
    sensor: _Sensor, table: SensorTable, ports: Interfaces, limits: Mapping[int, dict[str, int]], *, shift: bool
) -> Slot:
    exponent = sensor.exponent + (3 if sensor.unit in {"a", "w"} else 0)
    return Slot(
        interface=ports.names[sensor.place.if_index],
        lane=0 if sensor.place.lane is None else sensor.place.lane + shift,
        quantity=sensor.quantity,
        column=f"{table.table}.{table.value}",
        index=str(sensor.entity),
        kind="sensor",
        multiplier=float(10 ** max(exponent, 0)),
        divisor=float(10 ** max(-exponent, 0)),
        watts=sensor.unit == "w",
        status=None if table.status is None else f"{table.table}.{table.status}",
        limits={
            name: scaled(raw, sensor.exponent, sensor.unit)
            for name, raw in limits.get(sensor.entity, {}).items()
            if abs(raw) < MAX_RAW and raw not in NO_RAW
        },
    )


def _limits(cells: Mapping[str, Column], where: Limits) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for limit, column in where.columns.items():
        for index, cell in cells.get(f"{where.table}.{column}", {}).items():
            if index.isdigit() and isinstance(cell, int):
                found.setdefault(int(index), {})[limit] = cell
    if where.value is not None:
        for sensor, name, value in _limit_rows(cells, where):
            found.setdefault(sensor, {}).setdefault(name, value)
    return found


def _limit_rows(cells: Mapping[str, Column], where: Limits) -> Iterator[tuple[int, str, int]]:
    severities, relations, values = (
        cells.get(f"{where.table}.{c}", {}) for c in (where.severity, where.relation, where.value)
    )
    for index, value in values.items():
        level = where.levels.get(_code(severities.get(index)))
        relation = _code(relations.get(index))
        side = "low" if relation in where.below else "high" if relation in where.above else None
        if level and side and isinstance(value, int):
            yield int(index.partition(".")[0]), f"{side}_{level}", value


def _code(cell: Cell | None) -> int:
    return cell if isinstance(cell, int) else -1
