"""Spreadsheets as people keep them: what is suggested for each is taken once what it asks for is answered."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from ingest.errors import ExportError
from ingest.records import suggested_map
from ingest.records.times import TimeReader
from ingest.schema import TICKETS

BERLIN = ZoneInfo("Europe/Berlin")
FEB_13 = datetime(2026, 2, 13, 14, 5, tzinfo=BERLIN)

SHEETS: dict[str, tuple[str, list[str]]] = {
    "BOM, semicolons, blank rows": (
        "utf-8-sig",
        [
            "Ticket #;Opened;Closed;Switch;Port;Root cause;Fix",
            "",
            "INC1;13.02.2026 14:05;14.02.2026 09:00;leaf01;Eth1/1;Stecker verschmutzt;gereinigt",
            ";;;;;;",
        ],
    ),
    "title, device and port in one cell, months as words": (
        "utf-8",
        [
            "Optics tickets 2026,,,,",
            ",,,,",
            "ID,Date,Device:Port,What happened,What we did",
            'INC1,"Feb 13, 2026 2:05 PM",leaf01:Eth1/1,low light - dirty connector,cleaned',
        ],
    ),
    "tabs, zones in the cells, a place that names the port": (
        "utf-8",
        [
            "No.\tReported\tFixed on\tLocation\tResolution",
            "INC1\t2026-02-13 14:05:00+01:00\t2026-02-14T09:00:00Z\tleaf01 Ethernet1/1\tcleaned the connector",
        ],
    ),
    "Windows-1252, short years": (
        "cp1252",
        [
            "Gerät;Störung vom;behoben;Schnittstelle;Ursache;Maßnahme;Nr",
            "leaf01;13.2.26 14:05;14.2.26;Eth1/1;Stecker verschmutzt;gereinigt;INC1",
        ],
    ),
    "two lines of names, merged cells": (
        "utf-8",
        [
            "Incident,,When,,Where,,Outcome",
            "id,severity,start,end,switch,port,cause",
            "INC1,2,13-Feb-2026 14:05,14-Feb-2026,leaf01,Eth1/1,contamination: dirty",
            "INC2,2,13-Feb-2026 15:05,14-Feb-2026,,Eth1/2,laser",
        ],
    ),
    "American order that a day tells": (
        "utf-8",
        [
            "Ticket,Opened at,Resolved,Host,Interface,Cause,Action",
            "INC1,02/13/2026 2:05 PM,02/14/2026 9:00 AM,leaf01.example.net,Ethernet 1/1,dust on connector,cleaned",
        ],
    ),
}


@pytest.mark.parametrize("name", SHEETS)
def test_a_newcomers_spreadsheet_is_taken_once_what_is_asked_is_answered(
    write: Callable[..., Path], take: Callable[..., Any], latest: Callable[..., Any], name: str
) -> None:
    encoding, lines = SHEETS[name]
    sheet = write("sheet.csv", *lines, encoding=encoding)
    suggested = suggested_map(sheet)

    asked = suggested.replace("# zone =", "zone =").replace("# fill_down =", "fill_down =")
    report = take(sheet, map_file=write("map.toml", asked))

    rows = latest(TICKETS)
    assert ("INC1", "leaf01", "Ethernet1/1", "contamination") == tuple(
        rows[0][column] for column in ("ticket_id", "device", "interface", "failure_type")
    ), (suggested, report.findings)
    assert FEB_13 == rows[0]["opened_at"]
    assert [f"Ethernet1/{n}" for n in range(1, len(rows) + 1)] == [row["interface"] for row in rows]
    assert len([line for line in lines if "INC" in line]) == len(rows)


def test_days_and_months_that_nobody_can_tell_apart_are_asked_for(write: Callable[..., Path]) -> None:
    sheet = write("sheet.csv", "Ticket,Opened at,Host,Interface,Cause", "1,02/03/2026 10:00,leaf01,Eth1/1,dirty")

    suggested = suggested_map(sheet)

    assert 2 == suggested.count("which is the day?")
    assert "\ntimes" not in suggested


def test_a_workbook_is_refused_with_what_to_do(write: Callable[..., Path]) -> None:
    (book := write("book.xlsx", "")).write_bytes(b"PK\x03\x04" + bytes(20))

    with pytest.raises(ExportError, match=r"save it as CSV \(UTF-8\)"):
        suggested_map(book)


@pytest.mark.parametrize(
    "text",
    [
        "13.02.2026 14:05",
        "13.2.26 14:05:00",
        "13.02.2026 14:05 Uhr",
        "2026-02-13 14:05",
        "2026/02/13 14:05",
        "2026-02-13T13:05:00Z",
        "2026-02-13 13:05 UTC",
        "2026-02-13 2:05 PM",
        "13-Feb-2026 14:05",
        "13 February 2026 14:05",
        "13. Februar 2026, 14:05 Uhr",
        "Fri, 13 Feb 2026 14:05",
        "Friday, February 13th, 2026 at 2:05 PM",
        "Feb 13 2026 2:05 PM",
        "13/Feb/26 2:05 PM",
    ],
)
def test_times_in_the_forms_that_people_write_are_one_time(text: str) -> None:
    assert FEB_13 == TimeReader(BERLIN).read(text)


@pytest.mark.parametrize("text", ["03/04/2026 10:00", "13 Foo 2026 14:05", "Ticket 13 Feb 2026", "Feb 31 2026", "soon"])
def test_what_is_no_time_in_one_way_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="known form"):
        TimeReader(BERLIN).read(text)
