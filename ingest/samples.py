"""From what a device said to rows of the canonical tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from ingest.decode import Decoded
from ingest.quality import Reading
from ingest.schema import Quality, Table

__all__ = ["Origin", "lane_rows", "port_rows", "to_arrow"]

Row = dict[str, Any]

_OF_PORT = ("temperature_c", "voltage_v")


@dataclass(frozen=True, slots=True)
class Origin:
    """Who said something, when, over what, and whether the poll was whole."""

    site: str
    device: str
    time: datetime  # UTC
    source: str
    partial: bool = False


def lane_rows(decoded: Decoded, origin: Origin) -> list[Row]:
    """Rows of `lane_samples`: a lane of which nothing is known has none."""
    lanes: dict[tuple[str, int], Row] = {}
    for reading in decoded.readings:
        if reading.value is not None and reading.quantity not in _OF_PORT:
            row = lanes.setdefault((reading.interface, reading.lane), {})
            row[reading.quantity] = reading.value
    return [
        _head(decoded, origin, interface) | {"lane": lane} | values
        for (interface, lane), values in sorted(lanes.items())
    ]


def port_rows(decoded: Decoded, origin: Origin) -> list[Row]:
    """Rows of `port_samples`: one a port with a transceiver, with its state and its module's own readings."""
    own: dict[str, Row] = {}
    for reading in sorted(decoded.readings, key=_lane):
        if reading.value is not None and reading.quantity in _OF_PORT:
            own.setdefault(reading.interface, {}).setdefault(reading.quantity, reading.value)
    return [
        _head(decoded, origin, interface)
        | {"oper_up": state.oper_up, "admin_up": state.admin_up}
        | own.get(interface, {})
        for interface, state in decoded.states.items()
    ]


def _lane(reading: Reading) -> int:
    return reading.lane


def _head(decoded: Decoded, origin: Origin, interface: str) -> Row:
    quality = Quality.PARTIAL_POLL if origin.partial else Quality(0)
    if interface in decoded.implausible:
        quality |= Quality.LIMITS_IMPLAUSIBLE
    module = decoded.inventory.get(interface)
    return {
        "time": origin.time,
        "received_at": origin.time,
        "site": origin.site,
        "device": origin.device,
        "interface": interface,
        "serial": module.serial if module else None,
        "quality": int(quality),
        "source": origin.source,
    }


def to_arrow(table: Table, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table of exactly the canonical schema; columns that a row lacks are null."""
    return pa.Table.from_pylist([dict(row) for row in rows], schema=table.schema)
