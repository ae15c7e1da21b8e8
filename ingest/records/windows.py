"""Maintenance as people plan it: rows of a spreadsheet, and calendars (iCalendar, RFC 5545)."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from ingest.exports.records import Cell
from ingest.records.grid import Row
from ingest.records.reading import Reading

__all__ = ["add_window", "places", "read_windows"]

_WHOLE: Final = ("all", "*", "any", "whole device")


def read_windows(reading: Reading) -> None:
    """A row a window; one that names no device that is known is kept as it was written."""
    reading.each(_window)
    reading.records("maintenance").keep_last("this window")


def _window(reading: Reading, row: Row) -> None:
    start, end = (reading.time(row, name, needed=True) for name in ("start", "end"))
    if start is None or end is None or end < start:
        msg = "it ends before it starts"
        raise ValueError(msg)
    text = reading.text(row, "kind")
    found = reading.mapped.phrases("work").strongest(" ".join(filter(None, (text, *_port_texts(reading, row)))))
    known = reading.time(row, "announced_at") or start
    for site, device, interface in _row_places(reading, row):
        add_window(reading, row, (site, device, interface), (start, end), known, found.word if found else text or None)


def _port_texts(reading: Reading, row: Row) -> list[str]:
    return [text for name in reading.theirs("port") for text in row.texts(name)]


def _row_places(reading: Reading, row: Row) -> Iterator[tuple[str, str, str | None]]:
    site, device, interface = (reading.text(row, name) for name in ("site", "device", "interface"))
    if interface.casefold() in _WHOLE:
        interface = ""
    if device:
        port = reading.ports.port(device, interface, site or None) if interface else None
        who = reading.ports.device(device, site or None)
        if port is None and (who is None or interface):
            reading.note(
                row, f"{device} {interface}".strip() + " is nothing that inventory or links know; kept as written"
            )
        place = who or (site or reading.mapped.site, device)
        yield port or (*place, interface or None)
        return
    found = list(places(reading, " ".join(_port_texts(reading, row)), site))
    if not found:
        msg = "names no device that is known"
        raise ValueError(msg)
    yield from found


def places(reading: Reading, text: str, site: str = "") -> Iterator[tuple[str, str, str | None]]:
    """What a text names: ports, whole devices, or all devices of a site."""
    devices = reading.ports.named(text, site or None)
    for who in devices:
        port = reading.ports.search(text, who[1], who[0])
        yield port or (*who, None)
    if not devices:
        for word in dict.fromkeys(text.replace(",", " ").split()):
            yield from ((*who, None) for who in reading.ports.devices(word))


def add_window(
    reading: Reading,
    row: Row,
    place: tuple[str, str, str | None],
    span: tuple[datetime, datetime],
    announced: datetime,
    kind: str | None,
) -> None:
    """Keep one window; it was known at its start at the latest."""
    site, device, interface = place
    cells: dict[str, Cell] = {"site": site, "device": device, "interface": interface, "start": span[0], "end": span[1]}
    reading.add("maintenance", row, {**cells, "announced_at": min(announced, span[0]), "kind": kind})
