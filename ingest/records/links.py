"""Cables and modules by a map, and cable files that say more of links that are known (kind, shared risk)."""

from typing import Any, Final

import polars as pl

from ingest.exports.records import Cell
from ingest.exports.seen import INFERRED
from ingest.lake import Lake
from ingest.records.grid import Row
from ingest.records.reading import Reading
from ingest.records.words import Phrases
from ingest.schema import LINKS, MODULES

__all__ = ["CABLES", "Standing", "add_link", "add_module", "cable_kind", "read_links", "read_modules"]

_INVENTORY: Final = "inventory"
"""The ``source`` of a module that an inventory without dates lists."""

CABLES: Final = Phrases(
    {
        "aoc": ("active optical",),
        "aec": ("active electrical", "dac active"),
        "acc": ("active copper",),
        "dac": ("direct attach", "passive copper", "twinax", "copper", "cat5", "cat6", "cat7", "cat8"),
        "fiber": (
            "fibre",
            "optical fiber",
            "smf",
            "mmf",
            "singlemode",
            "multimode",
            "single mode",
            "multi mode",
            "mpo",
        ),
    }
)


def cable_kind(reading: Reading, row: Row, text: str) -> str | None:
    """The kind of a cable by what people call it; null where that is not known."""
    found = CABLES.strongest(text)
    if found is None and text:
        reading.note(row, f"{text!r} is no kind of cable that is known; left out")
    return found.word if found else None


def read_links(reading: Reading, lake: Lake) -> None:
    """A row a link by its two ends, or what is said of a cable that is known by its id."""
    known: dict[str, list[dict[str, Any]]] = {}
    for link in lake.latest(LINKS).filter(pl.col("valid_to").is_null()).collect().iter_rows(named=True):
        known.setdefault(str(link["cable_id"]), []).append(link)

    def take(reading: Reading, row: Row) -> None:
        said: dict[str, Cell] = {
            "cable_id": reading.text(row, "cable_id") or None,
            "kind": cable_kind(reading, row, reading.text(row, "kind")),
            "shared_risk": reading.value(row, "shared_risk", LINKS.schema.field("shared_risk").type) or None,
            "valid_from": reading.time(row, "valid_from"),
            "valid_to": reading.time(row, "valid_to"),
        }
        if reading.text(row, "a_device"):
            ends = [_end(reading, row, end) for end in "az"]
            add_link(reading, row, ends[0], ends[1], said)
            return
        links = known.get(str(said["cable_id"]), [])
        if not links:
            msg = f"cable {said['cable_id']} has no ends here and no link has its id"
            raise ValueError(msg)
        for link in links:
            more = {name: value for name, value in said.items() if value is not None}
            reading.add("links", row, {**link, **more})

    reading.each(take)
    reading.records("links").keep_last("this link")


def _end(reading: Reading, row: Row, end: str) -> tuple[str, str, str]:
    device, interface = (reading.text(row, f"{end}_{name}") for name in ("device", "interface"))
    if not (device and interface):
        msg = f"no {end}_device or no {end}_interface"
        raise ValueError(msg)
    site = reading.text(row, f"{end}_site") or reading.text(row, "site")
    return reading.ports.port(device, interface, site or None) or (site or reading.mapped.site, device, interface)


def add_link(
    reading: Reading, row: Row, a: tuple[str, str, str], z: tuple[str, str, str], said: dict[str, Cell]
) -> None:
    """Keep a link; its ports are known from now on.

    Raises:
        ValueError: both ends are the same port.
    """
    if a == z:
        msg = "both ends are the same port"
        raise ValueError(msg)
    ends = dict(
        zip((f"{end}_{name}" for end in "az" for name in ("site", "device", "interface")), (*a, *z), strict=True)
    )
    reading.add("links", row, {**said, **ends, "source": "file"})
    reading.ports.add(a)
    reading.ports.add(z)


def read_modules(reading: Reading, lake: Lake) -> None:
    """A row an installed module."""
    standing = Standing(lake)
    fields = [field for field in MODULES.schema if field.name not in ("received_at", "source")]

    def take(reading: Reading, row: Row) -> None:
        cells: dict[str, Cell] = {field.name: reading.value(row, field.name, field.type) for field in fields}
        cells["site"] = cells["site"] or reading.mapped.site
        if not (cells["device"] and cells["interface"]):
            msg = "no device or no interface"
            raise ValueError(msg)
        add_module(reading, row, standing, cells)

    reading.each(take)
    reading.records("modules").keep_last("this installation")


class Standing:
    """The modules that sit somewhere now, as the lake knows it."""

    def __init__(self, lake: Lake) -> None:
        rows = lake.latest(MODULES).filter(pl.col("removed_at").is_null()).collect().drop("received_at")
        self._rows = {(row["site"], row["device"], row["interface"]): row for row in rows.iter_rows(named=True)}

    def at(self, port: tuple[str, str, str]) -> dict[str, Any] | None:
        """The one in a port."""
        return self._rows.get(port)


def add_module(reading: Reading, row: Row, standing: Standing, cells: dict[str, Cell]) -> None:
    """Keep a module: an inventory without dates adds to what is known of the same one, and ends another.

    Raises:
        ValueError: the device, or an inventory with dates, says that another one is there.
    """
    device, interface, site = (str(cells[name]) for name in ("device", "interface", "site"))
    port = reading.ports.port(device, interface) or (site, device, interface)
    cells = {**cells, **dict(zip(("site", "device", "interface"), port, strict=True))}
    now = standing.at(port)
    cells["source"] = None if cells.get("installed_at") else _INVENTORY
    if now is not None and cells.get("installed_at") is None:
        if now["serial"] in (None, cells.get("serial")) or cells.get("serial") is None:
            more = {name: value for name, value in cells.items() if value is not None}
            cells = {**now, **more, "installed_at": now["installed_at"]}
            if now["serial"] is None and cells["serial"]:  # another key: the row without a serial ends
                reading.add("modules", row, {**now, "removed_at": now["installed_at"] or reading.now})
        else:
            cells = _swapped(reading, row, now, cells)
    reading.add("modules", row, cells)
    reading.ports.add(port, str(cells["serial"]) if cells.get("serial") else None)


def _swapped(reading: Reading, row: Row, now: dict[str, Any], cells: dict[str, Cell]) -> dict[str, Cell]:
    if now["source"] not in (_INVENTORY, INFERRED):
        since = f" since {now['installed_at']:%Y-%m-%d}" if now["installed_at"] else ""
        msg = (
            f"says {cells['serial']}, but {now['serial']} is known to sit in {now['device']} {now['interface']}{since}"
        )
        raise ValueError(msg)
    reading.add("modules", row, {**now, "removed_at": reading.now})
    return {**cells, "installed_at": reading.now}
