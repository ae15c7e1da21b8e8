"""Plain tables (one row a port or a lane, one column a quantity) into readings."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ingest.entity import Entities, Inventory
from ingest.interfaces import Interfaces, PortState, text_of
from ingest.profile import PlainColumn, PlainTable
from ingest.quality import Reading
from ingest.transport import Cell, Column

__all__ = ["TableRows", "decode_table", "table_columns"]

_TEXTS = ("interface", "serial", "vendor", "part_number", "media")
_SENTINELS = {-(2**31), 2**31 - 1, -1_000_000_000, 1_000_000_000}
_BLANK = {"", "n/a", "none", "unknown"}


@dataclass(frozen=True)
class TableRows:
    """What one table says, by port."""

    readings: list[Reading] = field(default_factory=list)
    inventory: dict[str, Inventory] = field(default_factory=dict)
    states: dict[str, PortState] = field(default_factory=dict)


def table_columns(table: PlainTable) -> tuple[list[str], list[str]]:
    """OIDs of a table's readings, and of its limits."""
    needed = [f"{table.table}.{c.column}" for c in table.columns]
    return needed, [f"{table.table}.{n}" for c in table.columns for n in c.limits.values()]


def decode_table(cells: Mapping[str, Column], table: PlainTable, entities: Entities, ports: Interfaces) -> TableRows:
    """Readings of a table's rows whose port is known."""
    rows = TableRows()
    at = {c.quantity: cells.get(f"{table.table}.{c.column}", {}) for c in table.columns if c.quantity in _TEXTS}
    indices = dict.fromkeys(i for c in table.columns for i in cells.get(f"{table.table}.{c.column}", {}))
    for index in indices:
        place = _place(index, table, entities, ports)
        if place is None:
            continue
        if_index, lane = place
        texts = {name: text_of(column.get(index)) for name, column in at.items()}
        name = texts.pop("interface", "") or ports.names[if_index]
        rows.states[name] = ports.states[if_index]
        told = {key: None if text.casefold() in _BLANK else text for key, text in texts.items()}
        if any(told.values()):
            rows.inventory[name] = Inventory(**told)
        for column in table.columns:
            if column.quantity not in _TEXTS:
                rows.readings.extend(_readings(cells, table, column, index, (name, lane)))
    return rows


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


def _readings(
    cells: Mapping[str, Column], table: PlainTable, column: PlainColumn, index: str, at: tuple[str, int]
) -> Iterator[Reading]:
    cell = cells.get(f"{table.table}.{column.column}", {}).get(index)
    if cell is None:
        return
    name, lane = at
    limits: dict[str, float] = {
        limit: raw * column.scale
        for limit, number in column.limits.items()
        if (raw := _number(cells.get(f"{table.table}.{number}", {}).get(index))) is not None
        and raw not in column.absent
    }
    parts: list[Cell] = [cell]
    if column.split and isinstance(cell, bytes):
        parts = list(text_of(cell).split(column.split))
    for position, part in enumerate(parts, 1):
        raw = _number(part)
        if raw is not None and raw not in column.absent:
            at_lane = column.lane or (position if column.split else lane)
            value = round(raw * column.scale, 6) if math.isfinite(raw) else raw
            yield Reading(name, at_lane, str(column.quantity), value, zero=raw == 0, limits=limits)


def _number(cell: Cell | None) -> float | None:
    """A cell as a number: also of text ("-1104.03", "-Inf"); None where it is none."""
    if isinstance(cell, int | float):
        return None if cell in _SENTINELS else float(cell)
    text = text_of(cell).casefold()
    try:
        return float(text) if text and text != "nan" else None
    except ValueError:
        return None
