"""Files of cells as people save them: titles, quotes, columns without end, and what is no file of cells at all."""

import gzip
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import ExportError
from ingest.exports import ImportReport
from ingest.quarantine import Kind
from ingest.records import suggested_map
from ingest.records.grid import read_grid
from ingest.schema import LINKS, TICKETS

Write = Callable[..., Path]
Take = Callable[..., ImportReport]
Latest = Callable[..., list[dict[str, Any]]]

SHEET = ("Ticket;Switch;Port;Opened;Cause", "1;leaf01;Eth1/1;01.07.2026 14:05;dirty")
MAP = (
    'zone = "Europe/Berlin"',
    "[columns]",
    'ticket_id = "Ticket"',
    'device = "Switch"',
    'interface = "Port"',
    'opened_at = "Opened"',
    'failure_type = "Cause"',
)


def test_titles_above_the_header_are_passed_over_and_told(write: Write, take: Take, latest: Latest) -> None:
    """Spreadsheets have a title, and merged cells that head several columns."""
    sheet = write("sheet.csv", "Optics 2026", ";;Where;When;", *SHEET)

    report = take(sheet, map_file=write("map.toml", *MAP))

    assert ["1"] == [ticket["ticket_id"] for ticket in latest(TICKETS)]
    assert ["what stands above its header, line 3, is passed over as titles"] == [
        finding.reason for finding in report.findings
    ]
    assert 'opened_at = "Opened"' in suggested_map(sheet)


def test_a_column_that_stands_twice_with_two_things_to_say_is_told(write: Write, take: Take, latest: Latest) -> None:
    """The ticket would be another port's without a word."""
    sheet = write("sheet.csv", f"{SHEET[0]};Switch", f"{SHEET[1]};leaf02", f"2{SHEET[1][1:]};leaf01")

    report = take(sheet, map_file=write("map.toml", *MAP))

    assert ["leaf01", "leaf01"] == [ticket["device"] for ticket in latest(TICKETS)]
    assert [
        ("sheet.csv:2", "Switch", "this column stands several times and says several things; the first is taken")
    ] == [(finding.where, finding.column, finding.reason) for finding in report.findings]


def test_a_header_with_empty_names_is_no_title(write: Write) -> None:
    grid = read_grid(write("sheet.csv", "No,Port,,", "1,Eth1/1,,", "2,Eth1/2,a,b"))

    assert ("No", "Port", "") == grid.header
    assert [2, 3] == [row.line for row in grid.rows]


def test_a_quote_that_never_ends_spoils_its_own_line(write: Write, take: Take, latest: Latest) -> None:
    rows = ('2;"leaf01;Eth1/1;01.07.2026 14:05;dirty', "3;leaf01;Eth1/1;02.07.2026 14:05;dirty")

    report = take(write("sheet.csv", *SHEET, *rows), map_file=write("map.toml", *MAP))

    assert ["1", "3"] == [ticket["ticket_id"] for ticket in latest(TICKETS)]
    assert [(Kind.ROW, "sheet.csv:3", "a quote that never ends")] == [
        (finding.kind, finding.where, finding.reason) for finding in report.findings
    ]


def test_quotes_that_never_end_are_refused_before_they_cost_much(write: Write) -> None:
    with pytest.raises(ExportError, match=r"sheet\.csv:\d+: a quote that never ends"):
        read_grid(write("sheet.csv", "a,b,c", *['x",y,"z'] * 2_000))


def test_more_columns_than_anybody_could_map_are_refused_at_once(write: Write) -> None:
    """Names would be compared with each other for minutes."""
    sheet = write("wide.csv", ",".join(f"c{number}" for number in range(100_000)), "x")

    with pytest.raises(ExportError, match=r"wide\.csv: has 100,000 columns; 2,000 are the most"):
        suggested_map(sheet)


def test_a_name_that_repeats_ten_thousand_times_costs_no_more(write: Write) -> None:
    grid = read_grid(write("jira.csv", ",".join(["Comment"] * 100_000), ",".join("x" * 100_000)))

    assert 100_000 == len(grid.rows[0].cells["Comment"])


@pytest.mark.parametrize("how", ["map", "suggest"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, write: Write, take: Take, how: str) -> None:
    os.mkfifo(pipe := tmp_path / "pipe.csv")

    with pytest.raises(ExportError, match=r"pipe\.csv: is no file but a pipe or a device"):
        suggested_map(pipe) if how == "suggest" else take(pipe, map_file=write("map.toml", *MAP))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (gzip.compress(b"a,b", mtime=0), "is packed by gzip; unpack it first"),
        (b"PK\x03\x04", "a workbook of a spreadsheet program, or zipped"),
        (b"a,b\n1,\0\n", r"sheet\.csv:2: no text but bytes"),
    ],
)
def test_what_is_no_text_is_told_with_what_to_do(tmp_path: Path, data: bytes, told: str) -> None:
    (sheet := tmp_path / "sheet.csv").write_bytes(data)

    with pytest.raises(ExportError, match=told):
        suggested_map(sheet)


@pytest.mark.parametrize(
    ("form", "opened"),
    [
        ("unix", "1782907500"),
        ("unix_ms", "1782907500000"),
        ("excel", "46204.5868055556"),
        ("excel", "46204,5868055556"),
    ],
)
def test_numbers_are_times_where_the_map_says_so(
    write: Write, take: Take, latest: Latest, form: str, opened: str
) -> None:
    """1970's seconds are UTC; a workbook's day has the zone of the sheet."""
    sheet = write("sheet.csv", SHEET[0], SHEET[1].replace("01.07.2026 14:05", opened))

    take(sheet, map_file=write("map.toml", f'times = ["{form}"]', *MAP))

    assert datetime(2026, 7, 1, 12, 5, tzinfo=UTC) == latest(TICKETS)[0]["opened_at"]


@pytest.mark.parametrize(("form", "opened"), [("unix", "1782907500"), ("unix_ms", "1782907500000"), ("excel", "46204")])
def test_numbers_that_nobody_calls_times_are_not_guessed(
    write: Write, take: Take, latest: Latest, form: str, opened: str
) -> None:
    """The error and the suggested map say which form they look like; ids look the same."""
    sheet = write("sheet.csv", SHEET[0], SHEET[1].replace("01.07.2026 14:05", opened))

    report = take(sheet, map_file=write("map.toml", *MAP))

    assert [] == latest(TICKETS)
    assert f'times = ["{form}"]' in report.findings[0].reason
    assert f'# times = ["{form}"]  # NEEDED' in suggested_map(sheet)


def test_a_file_of_which_nothing_could_be_taken_is_refused(write: Write, take: Take) -> None:
    """Exit code 0 would be read as done."""
    sheet = write("sheet.csv", SHEET[0], *(f"{n};leaf01;Eth1/1;yesterday;dirty" for n in range(3)))

    (refused,) = take(sheet, map_file=write("map.toml", *MAP)).refused

    assert "none of its 3 rows could be taken" in refused.reason
    assert "'yesterday' is not a time" in refused.reason


def test_cells_that_were_merged_are_filled_down_where_the_map_says_so(write: Write, take: Take, latest: Latest) -> None:
    sheet = write("sheet.csv", *SHEET, "2;;Eth1/2;02.07.2026 14:05;dirty")

    take(sheet, map_file=write("map.toml", 'fill_down = ["Switch"]', *MAP))

    assert [("leaf01", "Ethernet1/1"), ("leaf01", "Ethernet1/2")] == [
        (ticket["device"], ticket["interface"]) for ticket in latest(TICKETS)
    ]


def test_a_column_to_fill_down_that_is_not_there_is_told(write: Write, take: Take) -> None:
    with pytest.raises(ExportError, match=r"no column 'Swich' to fill down.*nearest is 'Switch'"):
        take(write("sheet.csv", *SHEET), map_file=write("map.toml", 'fill_down = ["Swich"]', *MAP))


def test_a_map_takes_what_it_fits_and_other_files_are_what_their_columns_say(
    write: Write, take: Take, latest: Latest
) -> None:
    """Of several files one that is nothing is refused by name, and the others are kept."""
    cables = write("cables.csv", "cable_id,kind,shared_risk", "C1,SMF,trunk7")
    other = write("other.csv", "What,Where", "broken,there")

    report = take(cables, write("sheet.csv", *SHEET), other, map_file=write("map.toml", *MAP))

    assert ["1"] == [ticket["ticket_id"] for ticket in latest(TICKETS)]
    assert [["trunk7"]] == [link["shared_risk"] for link in latest(LINKS)]
    assert ["other.csv"] == [finding.file for finding in report.refused]


def test_odd_headers_of_a_newcomer_are_guessed(write: Write) -> None:
    """German, abbreviated, with units and signs; semicolons, a BOM."""
    header = "Störungsnummer;Gerät;Schnittstelle;Seriennummer;Gemeldet am;Erledigt am;Fehlerursache;Lösung"
    sheet = write(
        "sheet.csv",
        header,
        "4711;l1;e1;SN1;01.07.2026 14:05;02.07.2026 08:00;verschmutzt;gereinigt",
        encoding="utf-8-sig",
    )

    suggested = suggested_map(sheet)

    for ours, theirs in zip(
        ("ticket_id", "device", "interface", "serial", "opened_at", "closed_at"), header.split(";"), strict=False
    ):
        assert f'{ours} = "{theirs}"' in suggested
    assert 'failure_type = ["Fehlerursache", "Lösung"]' in suggested
