"""Plain tables (one row a port or a lane, one column a quantity) into slots."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from ingest.decode.entity import Entities, Inventory
from ingest.decode.interfaces import Interfaces, text_of
from ingest.decode.profile import Flag, PlainColumn, PlainTable, TextQuantity
from ingest.decode.slots import Slot
from ingest.snmp.transport import Cell, Column
from ingest.units import mw_to_dbm

__all__ = ["SENTINELS", "TableSlots", "number", "table_columns", "table_slots", "told_scale", "unread_rows"]

_TEXTS = frozenset(get_args(TextQuantity))
SENTINELS = (-(2**31), 2**31 - 1, -1_000_000_000, 1_000_000_000)
"""Numbers that no reading is: the ends of a register, and of ENTITY-SENSOR-MIB."""

_BLANK = {"", "n/a", "none", "unknown", "unsupported", "not supported"}
_NUMBER = re.compile(
    r"\s*([-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|inf))(?=$|[\s,;(]|dbm|ma\b|v\b|c\b|[munµ]?w)(\s*([munµ]?)w)?",
    re.IGNORECASE,
)
_MILLIWATTS = {"": 1e3, "m": 1.0, "u": 1e-3, "µ": 1e-3, "n": 1e-6}
_BEYOND_DBM = 50.0
_SAME_DB = 0.03  # two decimals of dBm, or whole microwatts, of the same power
_ENOUGH = 4
_DECIMALS = 9  # a scale of 0.0001 is a divisor of 10,000, whatever floats make of it


@dataclass(frozen=True)
class TableSlots:
    """What one table holds.

    Attributes:
        slots: its readings and counters.
        if_index: of each port that has a row, by the port's name.
        inventory: by port.
        serials: (column, row) of each port's serial number.
        uncalibrated: ports whose row says that its numbers lack constants of the module's own.
    """

    slots: list[Slot] = field(default_factory=list)
    if_index: dict[str, int] = field(default_factory=dict)
    inventory: dict[str, Inventory] = field(default_factory=dict)
    serials: dict[str, tuple[str, str]] = field(default_factory=dict)
    uncalibrated: set[str] = field(default_factory=set)


def table_columns(table: PlainTable) -> tuple[list[str], list[str]]:
    """OIDs of a table's readings and what they mean nothing without, and of what is good to have."""
    flags = [] if table.only is None else [table.only.column]
    needed = [*(c.column for c in table.columns), *(c.twin for c in table.columns if c.twin is not None), *flags]
    extra = [n for c in table.columns for n in c.limits.values()]
    extra += [] if table.uncalibrated is None else [table.uncalibrated.column]
    return [f"{table.table}.{n}" for n in needed], [f"{table.table}.{n}" for n in extra]


def table_slots(cells: Mapping[str, Column], table: PlainTable, entities: Entities, ports: Interfaces) -> TableSlots:
    """Slots of a table's rows whose port is known."""
    found = TableSlots()
    at = {c.quantity: f"{table.table}.{c.column}" for c in table.columns if c.quantity in _TEXTS}
    numbers = list(_numbers(cells, table))
    indices = dict.fromkeys(i for c in table.columns for i in cells.get(f"{table.table}.{c.column}", {}))
    for index in indices:
        place = _place(index, table, entities, ports)
        if place is None:
            continue
        if_index, lane = place
        texts = {name: text_of(cells.get(column, {}).get(index)) for name, column in at.items()}
        name = texts.pop("interface", "") or ports.names.get(if_index, "")
        if not name:  # neither the table nor IF-MIB tells it
            continue
        found.if_index[name] = if_index
        told: dict[str, Any] = {key: None if text.casefold() in _BLANK else text for key, text in texts.items()}
        if any(told.values()):
            found.inventory[name] = Inventory(**told)
        if told.get("serial"):
            found.serials[name] = (at["serial"], index)
        if _says(cells, table, table.uncalibrated, index):
            found.uncalibrated.add(name)
        if table.only is None or _says(cells, table, table.only, index):
            found.slots.extend(s for column in numbers for s in _slots(cells, table, column, index, (name, lane)))
    return found


def _numbers(cells: Mapping[str, Column], table: PlainTable) -> Iterator[PlainColumn]:
    """Columns that are no texts; where a device may tell watts or dBm, its negative numbers say which.

    Without one they are watts, unless there are too few to tell: more than two modules' powers are not all over 0 dBm.
    """
    columns = [column for column in table.columns if column.quantity not in _TEXTS]
    signed = [column for column in columns if column.negative_scale is not None]
    told = [
        n
        for column in signed
        for cell in cells.get(f"{table.table}.{column.column}", {}).values()
        if (n := number(cell)) is not None and n not in column.absent
    ]
    for column in columns:
        if column.negative_scale is None or (len(told) >= _ENOUGH and min(told) >= 0):
            yield column
        elif any(n < 0 for n in told):
            yield column.model_copy(update={"scale": column.negative_scale, "unit": None})


def _says(cells: Mapping[str, Column], table: PlainTable, flag: Flag | None, index: str) -> bool:
    return flag is not None and cells.get(f"{table.table}.{flag.column}", {}).get(index) == flag.value


def unread_rows(cells: Mapping[str, Column], table: PlainTable, entities: Entities, ports: Interfaces) -> Iterator[str]:
    """Rows of a table that belong to no known port."""
    names = [cells.get(f"{table.table}.{c.column}", {}) for c in table.columns if c.quantity == "interface"]
    indices = dict.fromkeys(i for c in table.columns for i in cells.get(f"{table.table}.{c.column}", {}))
    for index in indices:
        place = _place(index, table, entities, ports)
        named = any(text_of(column.get(index)) for column in names)
        if not _is_another(index.split("."), table) and (place is None or not (named or place[0] in ports.names)):
            yield f"row {index} below {table.table}: no port that it belongs to"


def _place(index: str, table: PlainTable, entities: Entities, ports: Interfaces) -> tuple[int, int] | None:
    """Port (ifIndex) and canonical lane of a row, or None where these cannot be told."""
    arcs = index.split(".")
    if len(arcs) != len(table.index) or not all(arc.isdigit() for arc in arcs):
        return None
    if _is_another(arcs, table):
        return None
    keys = dict(zip(table.index, map(int, arcs), strict=True))
    if "entity" in keys:
        found = entities.port_of(keys["entity"], ports)
        if found is None:
            return None
        keys["if_index"] = found
    lane = keys["lane"] - table.first_lane + 1 if "lane" in keys else 0
    return keys["if_index"], lane


def _is_another(arcs: Sequence[str], table: PlainTable) -> bool:
    """Whether a row's index has another number than the table's where that names one."""
    return any(isinstance(part, int) and str(part) != arc for part, arc in zip(table.index, arcs, strict=False))


def _slots(
    cells: Mapping[str, Column], table: PlainTable, column: PlainColumn, index: str, at: tuple[str, int]
) -> Iterator[Slot]:
    oid = f"{table.table}.{column.column}"
    cell = cells.get(oid, {}).get(index)
    if cell is None or _is_told_elsewhere(cells, table, column, index):
        return
    name, lane = at
    watts = column.unit == "w" and not _says_watts(cell)
    shift = 1000.0 if watts else 1.0  # watts to the milliwatts that dBm are of
    limits = dict(_limits(cells, table, column, index))
    text = isinstance(cell, bytes)
    parts = text_of(cell).split(column.split) if column.split and text else [cell]
    twin = None if column.twin is None else cells.get(f"{table.table}.{column.twin}", {}).get(index)
    scale = column.scale if column.twin is None else told_scale(parts, twin, column)
    if scale is None or (column.lanes_only and len(parts) == 1):
        return
    if _says_watts(cell):
        scale = 1.0
    for part in range(len(parts)):
        yield Slot(
            interface=name,
            lane=column.lane or (part + 1 if column.split and text else lane),
            quantity=str(column.quantity),
            column=oid,
            index=index,
            kind="text" if text else "number",
            part=part,
            multiplier=_whole(scale * shift),
            divisor=_whole(1 / (scale * shift)),
            watts=watts,
            separator=column.split,
            absent=column.absent,
            no_light=column.no_light,
            limits=limits,
        )


def _is_told_elsewhere(cells: Mapping[str, Column], table: PlainTable, column: PlainColumn, index: str) -> bool:
    """Whether another column has it, or this one is of a lane that the module does not have."""

    def has(number_of: int) -> bool:
        found = number(cells.get(f"{table.table}.{number_of}", {}).get(index))
        return found is not None and found not in column.absent

    if column.unless is not None and has(column.unless):
        return True
    return column.lane is not None and bool(column.absent) and not has(column.column)


def _limits(
    cells: Mapping[str, Column], table: PlainTable, column: PlainColumn, index: str
) -> Iterator[tuple[str, float]]:
    for limit, number_of in column.limits.items():
        value = _limit(cells.get(f"{table.table}.{number_of}", {}).get(index), column)
        if value is not None:
            yield limit, value


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
    """A cell as a number: of text the one it begins with ("-1104.03", "-2.60 dBm, Normal", "-Inf"); else None.

    Text that says watts becomes dBm: devices of one vendor say "566.4 uWatts" or "-2.4 dBm" in the same column.
    """
    if isinstance(cell, int | float):
        return None if cell in SENTINELS else float(cell)
    found = _NUMBER.match(text_of(cell))
    if not found:
        return None
    value = float(found[1])
    if found[2] is None:
        return value
    return mw_to_dbm(value * _MILLIWATTS[found[3].casefold()]) if value >= 0 else None


def _says_watts(cell: Cell) -> bool:
    found = _NUMBER.match(text_of(cell)) if isinstance(cell, bytes) else None
    return found is not None and found[2] is not None


def told_scale(parts: Sequence[Cell], twin: Cell | None, column: PlainColumn) -> float | None:
    """The scale of powers that are dBm on some devices of a vendor and scaled on others; None where it is not told.

    Numbers beyond any dBm tell it themselves; for smaller ones `twin` does, which has the first lane's power in 0.01
    dBm or in microwatts (Huawei: "-1.21,-1.51" beside -121, and "133.83,98.54" beside 133).
    """
    numbers = [n for part in parts if (n := number(part)) is not None and n not in column.absent]
    if any(abs(n) > _BEYOND_DBM for n in numbers) or not any(numbers):
        return column.scale
    known = number(twin)
    if known is None or known in column.absent or not numbers:
        return None
    powers = [known * 0.01, *([mw_to_dbm(known / 1000)] if known > 0 else [])]
    fits = [s for s in (column.scale, 1.0) if any(abs(numbers[0] * s - p) < _SAME_DB for p in powers)]
    return fits[0] if len(fits) == 1 else None
