"""NetBox: devices, interfaces, cables, inventory items, modules, as its API answers (JSON) or its tables export (CSV).

Interfaces as JSON give whole links (``connected_endpoints``), through panels; cables give those whose two ends are
interfaces. Devices give sites and roles to what is imported with them. NetBox keeps no date of a swap: a serial that
changed counts from its import.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from ingest.errors import ExportError
from ingest.exports.records import Cell
from ingest.lake import Lake
from ingest.records.grid import Grid, Row
from ingest.records.links import Standing, add_link, add_module, cable_kind
from ingest.records.reading import Reading, absent

__all__ = ["Devices", "netbox_kind", "read_netbox"]

Devices = dict[str, tuple[str, str]]
"""Site and role by device."""

_SIGNS: Final[tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]] = (
    (
        "cables",
        (
            ("a_terminations.0.object.device.name", "side_a_device", "device a", "a_device"),
            ("b_terminations.0.object.device.name", "side_b_device", "device b"),
        ),
    ),
    ("interfaces", (("connected_endpoints.0.device.name",), ("device.name",), ("name",))),
    ("modules", (("module_bay.name", "module_bay", "module bay"), ("serial", "serial number"))),
    ("items", (("device.name", "device"), ("part_id", "part id"), ("serial", "serial number"))),
    (
        "devices",
        (
            ("name",),
            ("device_type.model", "device_type", "type"),
            ("role.name", "role", "device_role.name", "device role"),
        ),
    ),
)
"""Columns by which each kind is known: of each group one must be there."""

_SERVERS: Final = re.compile(r"(?i)server|gpu|host|compute|node|nic|dgx|hgx")
_END: Final = ("interface", "dcim.interface")


def netbox_kind(grid: Grid) -> str | None:
    """What a file holds, by its columns; None where it is not NetBox's."""
    header = {name.casefold() for name in grid.header}
    return next((kind for kind, groups in _SIGNS if all(header & set(group) for group in groups)), None)


def read_netbox(reading: Reading, kind: str, lake: Lake, devices: Devices) -> None:
    """Read one file.

    Args:
        reading: of the file.
        kind: as `netbox_kind` tells it.
        lake: what is known.
        devices: filled by a file of devices, used by the others.
    """
    grid = _lowered(reading.grid)
    reading.grid = grid
    if kind == "devices":
        for row in grid.rows:
            role = _text(row, "role.name", "device_role.name", "device role", "role")
            site = _text(row, "site.name", "site") or reading.mapped.site
            devices[_text(row, "name")] = (site, "nic" if _SERVERS.search(role) else "switch")
        return
    standing = Standing(lake)
    takes: Mapping[str, Callable[[Reading, Row], None]] = {
        "cables": lambda reading, row: _cable(reading, row, devices),
        "interfaces": lambda reading, row: _interface(reading, row, devices),
        "modules": lambda reading, row: _module(reading, row, devices, standing),
        "items": lambda reading, row: _module(reading, row, devices, standing),
    }
    reading.each(takes[kind])
    for records in reading.made.values():
        records.keep_last("this row")


def _lowered(grid: Grid) -> Grid:
    """The same with columns' names in small letters: exports of tables write labels, imports write names."""

    def lower(rows: Iterable[Row]) -> list[Row]:
        return [Row(row.line, {name.casefold(): cells for name, cells in row.cells.items()}, row.wrong) for row in rows]

    return Grid(
        grid.file, tuple(name.casefold() for name in grid.header), lower(grid.rows), lower(grid.torn), grid.note
    )


def _text(row: Row, *names: str) -> str:
    found = row.text(*names)
    return "" if absent(found) else found


def _place(reading: Reading, device: str, interface: str, site: str, devices: Devices) -> tuple[str, str, str]:
    site = site or devices.get(device, ("", ""))[0]
    return reading.ports.port(device, interface, site or None) or (site or reading.mapped.site, device, interface)


def _cable(reading: Reading, row: Row, devices: Devices) -> None:
    status = _text(row, "status.value", "status").casefold()
    if status == "planned":
        reading.note(row, "a cable that is only planned; left out")
        return
    ends = [_cable_end(reading, row, *names, devices) for names in (("a", "a"), ("b", "z"))]
    said: dict[str, Cell] = {
        "cable_id": _text(row, "label") or _text(row, "cable_id", "display", "id") or None,
        "kind": cable_kind(reading, row, _text(row, "type.label", "type.value", "type")),
    }
    add_link(reading, row, ends[0], ends[1], said)


def _cable_end(reading: Reading, row: Row, side: str, other: str, devices: Devices) -> tuple[str, str, str]:
    api = f"{side}_terminations.0"
    kind = _text(row, f"{api}.object_type", f"side_{side}_type")
    device = _text(row, f"{api}.object.device.name", f"side_{side}_device", f"device {side}", f"{other}_device")
    names = (
        f"{api}.object.name",
        f"side_{side}_name",
        f"termination {side}",
        f"interface {side}",
        f"{other}_interface",
    )
    interface = _text(row, *names)
    if kind and kind.casefold() not in _END:
        msg = f"end {side.upper()} is a {kind}: import interfaces as JSON, which see through panels"
        raise ValueError(msg)
    if not (device and interface):
        msg = f"end {side.upper()} names no device or no interface"
        raise ValueError(msg)
    return _place(reading, device, interface, _text(row, f"site {side}", f"side_{side}_site"), devices)


def _interface(reading: Reading, row: Row, devices: Devices) -> None:
    far = _text(row, "connected_endpoints.0.device.name")
    if not far or _text(row, "connected_endpoints_type") not in ("", "dcim.interface"):
        return
    here = _place(reading, _text(row, "device.name"), _text(row, "name"), "", devices)
    there = _place(reading, far, _text(row, "connected_endpoints.0.name"), "", devices)
    said: dict[str, Cell] = {"cable_id": _text(row, "cable.label", "cable.display", "cable.id") or None}
    add_link(reading, row, min(here, there), max(here, there), said)


def _module(reading: Reading, row: Row, devices: Devices, standing: Standing) -> None:
    device = _text(row, "device.name", "device")
    names = ("component.name", "component", "module_bay.name", "module_bay", "module bay", "name")
    interface = _text(row, *names)
    if not (device and interface):
        msg = "names no device or no interface"
        raise ValueError(msg)
    site, role = devices.get(device, (reading.mapped.site, ""))
    cells: dict[str, Cell] = {
        "site": site,
        "device": device,
        "interface": interface,
        "role": role or None,
        "serial": _text(row, "serial", "serial number") or None,
        "vendor": _text(row, "manufacturer.name", "module_type.manufacturer.name", "manufacturer") or None,
        "part_number": _text(
            row, "part_id", "part id", "module_type.part_number", "module_type.model", "module_type", "module type"
        )
        or None,
    }
    if cells["serial"] is None and cells["part_number"] is None:
        msg = "names neither a serial nor a part number"
        raise ValueError(msg)
    add_module(reading, row, standing, cells)


def refuse_unknown(grid: Grid) -> ExportError:
    """What to say of a file that is nothing that is known."""
    msg = f"{grid.file}: nothing here says what it is (its columns: {', '.join(grid.header[:20])}); "
    msg += f"`forelight import --suggest-map {grid.file} > map.toml` writes a map to edit, and --map map.toml uses it"
    return ExportError(msg)
