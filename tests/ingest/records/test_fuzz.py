"""A file that was cut, mixed up or written over is refused or taken in part; it never crashes a reader."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.errors import ConfigError, ExportError
from ingest.lake import Lake
from ingest.records import import_records, suggested_map

SHEET = (
    "Number,Device,Port,Opened,Closed,Code,Notes\n"
    "1,leaf01,Eth1/1,2026-07-01 10:00:00,2026-07-02 10:00:00,dirty,"
    '"2026-07-01 11:00:00 - Jo (Work notes)\nreseated, no change\n\n2026-07-01 12:00:00 - Jo (Work notes)\ncleaned"\n'
    "2,leaf02,Ethernet1/2,2026-07-03 10:00:00,,,\n"
)
MAP = """zone = "Europe/Berlin"
[columns]
ticket_id = "Number"
device = "Device"
interface = "Port"
opened_at = "Opened"
closed_at = "Closed"
failure_type = "Code"
action = "Notes"
steps = "Notes"
"""
END = {"object_type": "dcim.interface", "object": {"device": {"name": "leaf01"}, "name": "Ethernet1/2"}}
NETBOX = json.dumps({"results": [{"a_terminations": [END], "b_terminations": [END], "type": "smf", "label": "F1"}]})
CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
X-WR-TIMEZONE:Europe/Berlin
BEGIN:VEVENT
UID:1
SUMMARY:firmware leaf01
DTSTART;TZID=Europe/Berlin:20260318T220000
DTEND;TZID=Europe/Berlin:20260319T000000
RRULE:FREQ=WEEKLY;COUNT=5;BYDAY=WE
EXDATE;TZID=Europe/Berlin:20260325T220000
END:VEVENT
BEGIN:VEVENT
UID:1
RECURRENCE-ID;TZID=Europe/Berlin:20260401T220000
SUMMARY:firmware leaf01
DTSTART;VALUE=DATE:20260402
DURATION:P1D
END:VEVENT
END:VCALENDAR
"""
CABLES = (
    "a_device,a_interface,z_device,z_interface,cable_id,kind,shared_risk\nleaf01,Eth1/2,leaf02,Eth1/2,C2,smf,t1;t2\n"
)
ITEMS = "device,component,part_id,serial\nleaf01,Eth1/1,P,SN9\nsrv1,eth0,P,SN8\n"
LOG = "2026-03-01T10:00:00Z leaf01 %LINEPROTO-5-UPDOWN: Line protocol on Interface Eth1/1, changed state to down\n" * 3
FILES = {
    "switch.log": LOG,
    "sheet.csv": SHEET,
    "cables.json": NETBOX,
    "plan.ics": CALENDAR,
    "cables.csv": CABLES,
    "items.csv": ITEMS,
}
ROUNDS = 60


def spoiled(text: str, rng: random.Random) -> bytes:
    """Cut, doubled, written over or with pieces exchanged."""
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 4)):
        at, size = rng.randrange(len(data) + 1), rng.randint(1, 12)
        match rng.randrange(5):
            case 0:
                del data[at:]
            case 1:
                data[at : at + size] = rng.randbytes(size)
            case 2:
                data[at:at] = data[at : at + size]
            case 3:
                data[at : at + size] = rng.choice((b"\n", b'"', b",", b"\0", b";", b"-1", b"9" * 30, b"{", b"Z", b":"))
            case _:
                other = rng.randrange(len(data) + 1)
                data[at : at + size], data[other : other + size] = data[other : other + size], data[at : at + size]
        data = data or bytearray(b"x")
    return bytes(data)


@pytest.mark.parametrize("name", FILES)
def test_a_spoiled_file_never_crashes_a_reader(
    name: str, lake: Lake, tmp_path: Path, write: Callable[..., Path]
) -> None:
    rng = random.Random(name)
    mapped = write("map.toml", MAP) if name == "sheet.csv" else None
    taken = 0
    for _ in range(ROUNDS):
        path = tmp_path / name
        path.write_bytes(spoiled(FILES[name], rng))
        try:
            import_records([path], lake, map_file=mapped)
            taken += 1
        except ExportError as error:
            assert name in str(error)  # noqa: PT017 - it is refused by its name
    assert taken < ROUNDS or name == "switch.log"  # of JSON hardly any is whole still


def test_a_spoiled_map_is_refused_or_used(lake: Lake, tmp_path: Path, write: Callable[..., Path]) -> None:
    rng, sheet, path = random.Random(3), write("sheet.csv", SHEET), tmp_path / "map.toml"
    refused = 0
    for _ in range(ROUNDS):
        path.write_bytes(spoiled(MAP, rng))
        try:
            import_records([sheet], lake, map_file=path)
        except (ConfigError, ExportError):
            refused += 1
    assert 0 < refused


def test_a_map_is_suggested_for_whatever_is_a_table(tmp_path: Path) -> None:
    rng, path = random.Random(5), tmp_path / "sheet.csv"
    for _ in range(ROUNDS):
        path.write_bytes(spoiled(SHEET, rng))
        try:
            assert "[columns]" in suggested_map(path)
        except ExportError as error:
            assert "sheet.csv" in str(error)  # noqa: PT017 - it is refused by its name
