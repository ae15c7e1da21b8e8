"""A newcomer's own spreadsheet: what is wrong is told with the nearest right thing and the line to write."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import ConfigError, ExportError
from ingest.exports import ImportReport
from ingest.quarantine import Kind
from ingest.records import suggested_map
from ingest.records.grid import read_grid
from ingest.schema import REPAIRS, TICKETS

Write = Callable[..., Path]
Take = Callable[..., ImportReport]
Latest = Callable[..., list[dict[str, Any]]]

SHEET = ("Ticket;Switch;Port;Opened;Cause", "1;LEAF01.example.net;Eth1/1;01.07.2026 14:05;Stecker dreckig (dirty)")
MAP = (
    'zone = "Europe/Berlin"',
    "[columns]",
    'ticket_id = "Ticket"',
    'device = "Switch"',
    'interface = "Port"',
    'opened_at = "Opened"',
    'failure_type = "Cause"',
)


def test_a_german_spreadsheet_is_read_as_it_was_saved(write: Write, take: Take, latest: Latest) -> None:
    """Semicolons, Windows-1252, dates with dots, a domain, a short port name."""
    sheet = write("sheet.csv", SHEET[0], SHEET[1].replace("Stecker", "Stecker außen"), encoding="cp1252")

    report = take(sheet, map_file=write("map.toml", *MAP))

    ticket = latest(TICKETS)[0]
    assert ("leaf01", "Ethernet1/1", "contamination") == (
        ticket["device"],
        ticket["interface"],
        ticket["failure_type"],
    )
    assert datetime(2026, 7, 1, 12, 5, tzinfo=UTC) == ticket["opened_at"]
    assert ["is not UTF-8; read as Windows-1252"] == [finding.reason for finding in report.findings]


def test_a_time_without_a_zone_names_file_and_line_and_the_line_to_write(write: Write, take: Take) -> None:
    with pytest.raises(ExportError, match=r'sheet\.csv:2: Opened: .*names no zone.*zone = "Europe/Berlin"'):
        take(write("sheet.csv", *SHEET), map_file=write("map.toml", *MAP[1:]))


def test_a_zone_may_be_said_with_the_command(write: Write, take: Take, latest: Latest) -> None:
    take(write("sheet.csv", *SHEET), map_file=write("map.toml", *MAP[1:]), zone="UTC")

    assert datetime(2026, 7, 1, 14, 5, tzinfo=UTC) == latest(TICKETS)[0]["opened_at"]


def test_a_column_that_is_not_there_names_the_nearest_and_the_line(write: Write, take: Take) -> None:
    changed = (line.replace('"Opened"', '"Opend At"') for line in MAP)

    with pytest.raises(
        ExportError, match=r"""no column 'Opend At'.*nearest is 'Opened': write opened_at = "Opened\""""
    ):
        take(write("sheet.csv", *SHEET), map_file=write("map.toml", *changed))


def test_a_column_that_is_needed_is_named_with_the_line_to_add(write: Write, take: Take) -> None:
    without = (line for line in MAP if "opened_at" not in line)

    with pytest.raises(ExportError, match=r'write under \[columns\]: opened_at = "Opened"'):
        take(write("sheet.csv", *SHEET), map_file=write("map.toml", *without))


def test_a_spreadsheet_without_ids_gets_some_that_stay(write: Write, take: Take, latest: Latest) -> None:
    sheet, without = write("sheet.csv", *SHEET), write("map.toml", *(line for line in MAP if "ticket_id" not in line))

    reports = [take(sheet, map_file=without) for _ in range(2)]

    assert [(1, 0), (0, 1)] == [report.records["tickets"] for report in reports]
    assert latest(TICKETS)[0]["ticket_id"].startswith("row-")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            (
                "Incident #,Date/Time Opened,Date/Time Closed,Switch / Port,Optic S/N,Root Cause,Fix",
                "4711,3/14/2026 9:05 AM,3/14/2026 4:40 PM,LEAF01 Eth1/1,SN-1,Dirty connector,Cleaned with IBC",
                "4712,3/15/2026 10:15 PM,,leaf02:Ethernet1/2,,bad optic - low Tx,RMA'd the QSFP",
            ),
            [
                ("4711", "leaf01", "Ethernet1/1", "contamination"),
                ("4712", "leaf02", "Ethernet1/2", "laser_degradation"),
            ],
        ),
        (
            (
                "ID;Gerät;Schnittstelle;Gemeldet am;Behoben am;Ursache",
                "1;leaf01;Eth1/1;14.03.2026 09:05;14.03.2026 16:40;Laser defekt",
            ),
            [("1", "leaf01", "Ethernet1/1", "laser_degradation")],
        ),
        (
            ("No,Device,Interface,Opened,Cause", "7,leaf01,Eth1/1,45365.3785,dust"),
            [("7", "leaf01", "Ethernet1/1", "contamination")],
        ),
    ],
    ids=["american", "german", "serial dates"],
)
def test_the_suggested_map_of_a_newcomers_spreadsheet_works_once_the_zone_is_named(
    write: Write, take: Take, latest: Latest, lines: tuple[str, ...], told: list[tuple[str, ...]]
) -> None:
    """Columns are known by what stands in them where their names do not tell."""
    sheet = write("sheet.csv", *lines)
    suggested = suggested_map(sheet).replace("# zone =", "zone =")

    take(sheet, map_file=write("map.toml", suggested))

    assert told == [(row["ticket_id"], row["device"], row["interface"], row["failure_type"]) for row in latest(TICKETS)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('opend_at = "Opened"', "'opend_at' is no column of tickets; the nearest is 'opened_at'"),
        ('[failure_typ]\ncontamination = ["x"]', "unknown key 'failure_typ'; the nearest is 'failure_type'"),
        ('[failure_type]\ncontaminated = ["x"]', "'contaminated' is none of its words; the nearest is 'contamination'"),
        ("[action]\nreseat = 7", r"\[action\.reseat\]: input should be a valid"),
    ],
)
def test_a_map_that_says_what_cannot_be_is_refused_with_the_nearest(
    write: Write, take: Take, line: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        take(write("sheet.csv", *SHEET), map_file=write("map.toml", *MAP, line))


def test_a_zone_that_is_none_is_refused(write: Write, take: Take) -> None:
    with pytest.raises(ConfigError, match="no time zone of the IANA database"):
        take(write("sheet.csv", *SHEET), map_file=write("map.toml", *MAP), zone="Berlin")


def test_a_spreadsheet_without_a_map_is_told_how_to_get_one(write: Write, take: Take) -> None:
    with pytest.raises(ExportError, match="--suggest-map"):
        take(write("sheet.csv", *SHEET))


def test_days_and_months_that_cannot_be_told_apart_are_not_guessed(write: Write, take: Take) -> None:
    sheet = write("sheet.csv", SHEET[0], "1;leaf01;Eth1/1;03/04/2026 10:00;dirty")

    report = take(sheet, map_file=write("map.toml", *MAP))

    assert ["Opened: '03/04/2026 10:00' is not a time in a known form"] == [
        finding.reason.partition(";")[0] for finding in report.findings if finding.kind is Kind.ROW
    ]
    assert ['# times = ["%d/%m/%Y %H:%M"]', '# times = ["%m/%d/%Y %H:%M"]'] == [
        line.partition("  #")[0] for line in suggested_map(sheet).splitlines() if "times" in line and "zone" not in line
    ]


@pytest.mark.parametrize("opened", ["0001-01-01 00:00", "1970-01-01 00:00", "9999-12-31 23:59", "2126-07-01 10:00"])
def test_a_year_that_is_mistyped_is_no_time(write: Write, take: Take, latest: Latest, opened: str) -> None:
    """It would be in the lake for good, and years of telemetry would be looked through for its failure."""
    sheet = write("sheet.csv", *SHEET, f"2;leaf01;Eth1/1;{opened};dirty")

    report = take(sheet, map_file=write("map.toml", *MAP))

    assert ["1"] == [ticket["ticket_id"] for ticket in latest(TICKETS)]
    assert [("sheet.csv:3", f"Opened: {opened!r} is not a time between 2000 and 2100")] == [
        (finding.where, finding.reason) for finding in report.findings
    ]


def test_a_ticket_of_the_future_is_kept_and_doubted(write: Write, take: Take, latest: Latest) -> None:
    """Day and month that changed places are told by nothing else."""
    report = take(
        write("sheet.csv", *SHEET, "2;leaf01;Eth1/1;2098-07-01 10:00;dirty"), map_file=write("map.toml", *MAP)
    )

    assert ["1", "2"] == [ticket["ticket_id"] for ticket in latest(TICKETS)]
    assert [("sheet.csv:3", "opened after today; are day and month, and the zone, the right ones?")] == [
        (finding.where, finding.reason) for finding in report.findings
    ]


@pytest.mark.parametrize(
    "journal",
    [
        (
            '"2026-03-05 11:00:00 - Jo (Work notes)\nreplaced the optic, link up\n\n'
            '2026-03-05 10:00:00 - Jo (Work notes)\nreseated, no change"'
        ),
        "2026-03-05 10:00;jo;reseated: no change,2026-03-05 11:00;jo;replaced the optic",
    ],
    ids=["ServiceNow, the newest first", "Jira, a column each"],
)
def test_the_action_of_a_journal_is_that_of_its_last_step(
    write: Write, take: Take, latest: Latest, journal: str
) -> None:
    """Whatever the order in which its entries stand: the suggested map gives the journal to both."""
    header = "Number,Device,Interface,Opened,Comments,Comments"
    sheet = write("sheet.csv", header, f"1,leaf01,Eth1/1,2026-03-05 09:00,{journal}")

    take(sheet, map_file=write("map.toml", suggested_map(sheet)), zone="UTC")

    assert ["replace_transceiver"] == [ticket["action"] for ticket in latest(TICKETS)]


def test_columns_of_words_in_german_are_suggested_by_their_names(write: Write) -> None:
    """Where no phrase is found in them they would be left out, and nobody would see which phrases are missing."""
    sheet = write("sheet.csv", f"{SHEET[0][:-5]}Ursache;Maßnahme", "1;l1;e1;1.7.2026 1:05;Klumpatsch;x")
    suggested = suggested_map(sheet)
    assert 'failure_type = "Ursache"' in suggested
    assert 'action = "Maßnahme"' in suggested
    assert "#   1 x Klumpatsch" in suggested


def test_a_suggested_map_knows_the_order_where_the_file_shows_it(write: Write) -> None:
    sheet = write("sheet.csv", SHEET[0], *(f"{day};leaf01;Eth1/1;{day}/04/2026 10:00;dirty" for day in (3, 17)))

    assert 'times = ["%d/%m/%Y %H:%M"]  # the one form that reads all 2 times' in suggested_map(sheet)


def test_no_row_is_lost(write: Write, take: Take, latest: Latest) -> None:
    """What cannot be taken is in the quarantine with line and reason, the others are kept."""
    rows = (
        "2;leaf01;Eth1/1;yesterday;dirty",
        ";leaf01;Eth1/1;01.07.2026 14:05;dirty",
        "3;leaf09;Eth1/1;01.07.2026 14:05;dirty",
        "4;leaf02;Eth1/2;01.07.2026 14:05;dirty;one;more",
    )

    report = take(write("sheet.csv", *SHEET, *rows), map_file=write("map.toml", *MAP))

    assert ["1", "3"] == [ticket["ticket_id"] for ticket in latest(TICKETS)]
    assert {"sheet.csv:3", "sheet.csv:4", "sheet.csv:6"} == {
        finding.where for finding in report.findings if finding.kind is Kind.ROW
    }
    assert ["leaf09 Eth1/1 is no port that inventory or links know; kept as written"] == [
        finding.reason for finding in report.findings if finding.kind is Kind.NOTE
    ]


def test_jira_repeats_a_header_and_each_comment_is_a_step(write: Write, take: Take, latest: Latest) -> None:
    sheet = write(
        "jira.csv",
        "Issue key,Summary,Created,Resolved,Resolution,Comment,Comment",
        "NET-1,leaf02 Ethernet 1/2 flapping,05/Mar/26 9:03 AM,06/Mar/26 4:00 PM,Fixed,"
        "05/Mar/26 10:03 AM;jdoe;reseated the optic: no change,"
        '"06/Mar/26 1:10 PM;jdoe;replaced transceiver, old SN: AB12345, new SN: AB99999. Link up"',
    )
    jira = write(
        "jira.toml",
        'zone = "America/New_York"',
        "[columns]",
        'ticket_id = "Issue key"',
        'port = "Summary"',
        'opened_at = "Created"',
        'closed_at = "Resolved"',
        'failure_type = "Comment"',
        'steps = "Comment"',
    )

    take(sheet, map_file=jira)

    assert ("leaf02", "Ethernet1/2") == (latest(TICKETS)[0]["device"], latest(TICKETS)[0]["interface"])
    assert [
        ("reseat", "no_change", None, datetime(2026, 3, 5, 15, 3, tzinfo=UTC)),
        ("replace_transceiver", "fixed", "AB99999", datetime(2026, 3, 6, 18, 10, tzinfo=UTC)),
    ] == [(step["action"], step["outcome"], step["new_serial"], step["at"]) for step in latest(REPAIRS)]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"PK\x03\x04rest", "save it as CSV"),
        (b"a\0b", "no text but bytes"),
        (b"", "has no header"),
        (b'{"a": 1', "not JSON"),
        (b"[1, 2]", "entry 1 of the list is no object"),
    ],
)
def test_what_is_no_table_is_refused_with_what_to_do(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "thing.csv"
    path.write_bytes(content)

    with pytest.raises(ExportError, match=told):
        read_grid(path)


def test_an_hour_that_clocks_showed_twice_is_told(write: Write, take: Take) -> None:
    report = take(
        write("sheet.csv", SHEET[0], "1;leaf01;Eth1/1;25.10.2026 02:30;dirty"), map_file=write("map.toml", *MAP)
    )

    assert ["an hour that the clock showed twice; taken as the first"] == [f.reason for f in report.findings]
