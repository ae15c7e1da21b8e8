"""Plain tables (one row a port or a lane, one column a quantity) into slots."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import get_args

from ingest.entity import Entities, Inventory
from ingest.interfaces import Interfaces, text_of
from ingest.profile import PlainColumn, PlainTable, TextQuantity
from ingest.slots import Slot
from ingest.transport import Cell, Column
from ingest.units import mw_to_dbm

__all__ = ["SENTINELS", "TableSlots", "number", "table_columns", "table_slots"]

_TEXTS = frozenset(get_args(TextQuantity))
SENTINELS = (-(2**31), 2**31 - 1, -1_000_000_000, 1_000_000_000)
"""Numbers that no reading is: the ends of a register, and of ENTITY-SENSOR-MIB."""

_BLANK = {"", "n/a", "none", "unknown"}
_NUMBER = re.compile(
    r"\s*([-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|inf))(?=$|[\s,;(]|dbm|ma\b|v\b|c\b)(?!\s*[munµ]w)", re.IGNORECASE
)
_DECIMALS = 9  # a scale of 0.0001 is a divisor of 10,000, whatever floats make of it


@dataclass(frozen=True)
class TableSlots:
    """What one table holds.

    Attributes:
        slots: its readings and counters.
        if_index: of each port that has a row, by the port's name.
        inventory: by port.
        serials: (column, row) of each port's serial number.
    """

    slots: list[Slot] = field(default_factory=list)
    if_index: dict[str, int] = field(default_factory=dict)
    inventory: dict[str, Inventory] = field(default_factory=dict)
    serials: dict[str, tuple[str, str]] = field(default_factory=dict)


def table_columns(table: PlainTable) -> tuple[list[str], list[str]]:
    """OIDs of a table's readings, and of its limits."""
    needed = [f"{table.table}.{c.column}" for c in table.columns]
    return needed, [f"{table.table}.{n}" for c in table.columns for n in c.limits.values()]


def table_slots(cells: Mapping[str, Column], table: PlainTable, entities: Entities, ports: Interfaces) -> TableSlots:
    """Slots of a table's rows whose port is known."""
    found = TableSlots()
    at = {c.quantity: f"{table.table}.{c.column}" for c in table.columns if c.quantity in _TEXTS}
    indices = dict.fromkeys(i for c in table.columns for i in cells.get(f"{table.table}.{c.column}", {}))
    for index in indices:
        place = _place(index, table, entities, ports)
        if place is None:
            continue
        if_index, lane = place
        texts = {name: text_of(cells.get(column, {}).get(index)) for name, column in at.items()}
        name = texts.pop("interface", "") or ports.names[if_index]
        found.if_index[name] = if_index
        told = {key: None if text.casefold() in _BLANK else text for key, text in texts.items()}
        if any(told.values()):
            found.inventory[name] = Inventory(**told)
        if told.get("serial"):
            found.serials[name] = (at["serial"], index)
        for column in table.columns:
            if column.quantity not in _TEXTS:
                found.slots.extend(_slots(cells, table, column, index, (name, lane)))
    return found


def _place(index: str, table: PlainTable, entities: Entities, ports: Interfaces) -> tuple[int, int] | None:
    """Port (ifIndex) and canonical lane of a row, or None where its port is not known."""
    arcs = index.split(".")
    if len(arcs) != len(table.index) or not all(arc.isdigit() for arc in arcs):
        return None
    keys = dict(zip(table.index, map(int, arcs), strict=True))
    if "entity" in keys:
        found = entities.port_of(keys["entity"], ports)
        keys["if_index"] = -1 if found is None else found
    lane = keys["lane"] - table.first_lane + 1 if "lane" in keys else 0
    return (keys["if_index"], lane) if keys["if_index"] in ports.names else None


def _slots(
    cells: Mapping[str, Column], table: PlainTable, column: PlainColumn, index: str, at: tuple[str, int]
) -> Iterator[Slot]:
    oid = f"{table.table}.{column.column}"
    cell = cells.get(oid, {}).get(index)
    if cell is None:
        return
    name, lane = at
    shift = 1000.0 if column.unit == "w" else 1.0  # watts to the milliwatts that dBm are of
    limits: dict[str, float] = {
        limit: value
        for limit, number_of in column.limits.items()
        if (value := _limit(cells.get(f"{table.table}.{number_of}", {}).get(index), column)) is not None
    }
    text = isinstance(cell, bytes)
    parts = len(text_of(cell).split(column.split)) if column.split and text else 1
    for part in range(parts):
        yield Slot(
            interface=name,
            lane=column.lane or (part + 1 if column.split and text else lane),
            quantity=str(column.quantity),
            column=oid,
            index=index,
            kind="text" if text else "number",
            part=part,
            multiplier=_whole(column.scale * shift),
            divisor=_whole(1 / (column.scale * shift)),
            watts=column.unit == "w",
            separator=column.split,
            absent=column.absent,
            limits=limits,
        )


def _whole(factor: float) -> float:
    """A factor of 10 or more, or 1: one of multiplier and divisor carries the scale, the other is 1."""
    return round(factor, _DECIMALS) if factor > 1 else 1.0


def _limit(cell: Cell | None, column: PlainColumn) -> float | None:
    raw = number(cell)
    if raw is None or raw in column.absent:
        return None
    scale = column.scale if column.limit_scale is None else column.limit_scale
    if (column.limit_unit or column.unit) == "w":
        return mw_to_dbm(raw * scale * 1000.0) if raw >= 0 else None
    return raw / _whole(1 / scale) * _whole(scale)


def number(cell: Cell | None) -> float | None:
    """A cell as a number: of text the one it begins with ("-1104.03", "-2.60 dBm, Normal", "-Inf"); else None."""
    if isinstance(cell, int | float):
        return None if cell in SENTINELS else float(cell)
    found = _NUMBER.match(text_of(cell))
    return float(found[1]) if found else None
