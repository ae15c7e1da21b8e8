"""Bad records of an export: each is quarantined with its line and reason, and the others are kept."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from ingest.errors import ExportError
from ingest.exports import import_export
from ingest.lake import Lake
from ingest.quarantine import Kind, Quarantine
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES, REPAIRS, TICKETS
from serving.cli.app import app

Export = Any  # of conftest.py

T0 = datetime(2026, 3, 1, tzinfo=UTC)
HEADER = "time,device,interface,lane,rx_power_dbm"


@pytest.fixture(autouse=True)
def _one_good_file(export: Export) -> None:
    export.good()


TICKETS_HEADER = "ticket_id,device,interface,opened_at,closed_at,failure_type,action"
GOOD_TICKET = "T1,leaf01,Ethernet0,2026-03-01T00:00:00Z,,Laser Degradation,reseat"


@pytest.mark.parametrize(
    ("ticket", "kind", "said"),
    [
        ("T2,leaf99,Ethernet0,2026-03-01T00:00:00Z,,,", Kind.ROW, "ticket T2 is for leaf99 Ethernet0, a port that"),
        (
            "T2,leaf01,Ethernet0,2026-03-02T00:00:00Z,2026-03-01T00:00:00Z,,",
            Kind.ROW,
            "T2 was closed before it was opened",
        ),
        (
            "T2,leaf01,Ethernet0,2026-03-02T00:00:00,,,",
            Kind.ERROR,
            "opened_at: '2026-03-02T00:00:00' is a time without a zone",
        ),
        ("T2,leaf01,Ethernet0,soon,,,", Kind.ROW, "opened_at: 'soon' is not an ISO 8601 time"),
        ("T2,leaf01,Ethernet0,,,,", Kind.ROW, "no opened_at"),
        (",leaf01,Ethernet0,2026-03-02T00:00:00Z,,,", Kind.ROW, "no ticket_id"),
        ("T2,leaf01,Ethernet0,0001-01-01T00:00:00Z,,,", Kind.ROW, "not a time between 2000 and 2100"),
        ("T2,leaf01,Ethernet0,2026-03-02T00:00:00Z,,,,,", Kind.ROW, "more cells than the header has"),
        ("T2\x1b[2J,leaf01,Ethernet0,2026-03-02T00:00:00Z,,,", Kind.ROW, "'T2\\x1b[2J' has control characters"),
        ("T2,leaf01\x9b2J,Ethernet0,2026-03-02T00:00:00Z,,,", Kind.ROW, "'leaf01\\x9b2J' has control characters"),
    ],
)
def test_a_ticket_that_cannot_be_used_is_quarantined_with_its_line(
    export: Export, lake: Lake, ticket: str, kind: Kind, said: str
) -> None:
    export.file("tickets.csv", TICKETS_HEADER, GOOD_TICKET, ticket)

    report = import_export(export.root, lake)

    finding = export.only(report, kind)
    assert str(finding).startswith("tickets.csv:3: ")
    assert said in str(finding)
    assert "tickets.csv:3" == export.quarantined(report)[0]["where"]
    assert ["T1"] == lake.scan(TICKETS).collect()["ticket_id"].to_list()
    assert ["laser_degradation"] == lake.scan(TICKETS).collect()["failure_type"].to_list()


MODULES_FILE = (
    "device,interface,serial,installed_at,removed_at",
    "leaf01,Ethernet0,SN1,2026-02-01T00:00:00Z,2026-03-01T12:00:00Z",
    "leaf02,Ethernet8,SN1,2026-03-02T00:00:00Z,",
    "leaf03,Ethernet0,SN2,,",
    "leaf04,Ethernet0,SN2,,",
)


@pytest.mark.parametrize(
    ("serial", "opened", "port"),
    [
        ("SN1", "2026-03-01T00:00:00Z", "leaf01 Ethernet0"),
        ("SN1", "2026-03-05T00:00:00Z", "leaf02 Ethernet8"),
        ("SN2", "2026-03-05T00:00:00Z", None),
        ("SN3", "2026-03-05T00:00:00Z", None),
        ("", "2026-03-05T00:00:00Z", None),
    ],
)
def test_a_ticket_whose_device_is_mistyped_is_that_of_its_serial_number(
    export: Export, lake: Lake, serial: str, opened: str, port: str | None
) -> None:
    """Where that was in one port at the time, and not where it tells nothing or two ports."""
    export.file("inventory.csv", *MODULES_FILE)
    export.file("tickets.csv", "ticket_id,device,interface,serial,opened_at", f"T1,laef01,Ethernet0,{serial},{opened}")

    report = import_export(export.root, lake)

    taken = [f"{row['device']} {row['interface']}" for row in lake.scan(TICKETS).collect().to_dicts()]
    assert ([port] if port else []) == taken
    said = f"nothing knows laef01 Ethernet0; serial {serial} was in {port}, which is taken"
    finding = export.only(report, Kind.NOTE if port else Kind.ROW)
    assert finding.reason == (said if port else "ticket T1 is for laef01 Ethernet0, a port that nothing else knows")


@pytest.mark.parametrize("where", ["inventory", "links", "telemetry before"])
def test_a_port_is_known_from_inventory_links_or_earlier_telemetry(export: Export, lake: Lake, where: str) -> None:
    if where == "inventory":
        export.file("inventory.csv", "device,interface", "leaf07,e1")
    elif where == "links":
        export.file("links.csv", "a_device,a_interface,z_device,z_interface", "leaf01,Ethernet0,leaf07,e1")
    else:
        export.file("telemetry/more.csv", HEADER, "2026-03-02T00:00:00Z,leaf07,e1,1,-3")
        import_export(export.root, lake)
    export.file("tickets.csv", TICKETS_HEADER, "T1,leaf07,e1,2026-03-01T00:00:00Z,,,")

    assert not import_export(export.root, lake).findings
    assert 1 == lake.scan(TICKETS).collect().height


def test_a_quarantined_ticket_is_taken_once_its_port_is_known(export: Export, lake: Lake) -> None:
    export.file("tickets.csv", TICKETS_HEADER, "T1,leaf07,e1,2026-03-01T00:00:00Z,,,")
    import_export(export.root, lake)
    export.file("inventory.csv", "device,interface", "leaf07,e1")

    assert not import_export(export.root, lake).findings
    assert 1 == lake.scan(TICKETS).collect().height


def test_of_a_ticket_written_twice_the_last_is_taken_and_the_other_reported(export: Export, lake: Lake) -> None:
    export.file("tickets.csv", TICKETS_HEADER, GOOD_TICKET, GOOD_TICKET.replace("reseat", "clean_connector"))

    report = import_export(export.root, lake)

    assert "tickets.csv:2: this ticket is written again at line 3, which is taken" == str(export.only(report, Kind.ROW))
    assert ["clean_connector"] == lake.scan(TICKETS).collect()["action"].to_list()


def test_an_unknown_word_becomes_other_or_null_and_is_said(export: Export, lake: Lake) -> None:
    export.file("tickets.csv", TICKETS_HEADER, "T1,leaf01,Ethernet0,2026-03-01T00:00:00Z,,gremlins,kick")

    report = import_export(export.root, lake)

    row = lake.scan(TICKETS).collect().row(0, named=True)
    assert ("other", None) == (row["failure_type"], row["action"])
    assert ["failure_type", "action"] == [finding.column for finding in report.findings]
    assert "'gremlins' is not one of laser_degradation" in str(report.findings[0])


def test_a_repair_of_no_ticket_is_quarantined(export: Export, lake: Lake) -> None:
    export.file("tickets.csv", TICKETS_HEADER, GOOD_TICKET)
    export.file("repairs.csv", "ticket_id,seq,at", "T1,1,2026-03-01T01:00:00Z", "T9,1,2026-03-01T01:00:00Z")

    report = import_export(export.root, lake)

    assert "repairs.csv:3: repair of ticket T9, which there is none of" == str(export.only(report, Kind.ROW))
    assert ["T1"] == lake.scan(REPAIRS).collect()["ticket_id"].to_list()


@pytest.mark.parametrize(
    ("file", "lines", "said"),
    [
        ("inventory.csv", ["serial", "S1"], "inventory.csv: has no column device, interface"),
        ("links.csv", ["a_device,a_interface", "a,b"], "links.csv: has no column z_device, z_interface"),
        ("tickets.csv", [""], "tickets.csv: has no column ticket_id"),
    ],
)
def test_a_records_file_without_its_columns_is_refused_and_the_rest_is_kept(
    export: Export, lake: Lake, file: str, lines: list[str], said: str
) -> None:
    export.file(file, *lines)

    report = import_export(export.root, lake)

    assert str(export.only(report, Kind.ERROR)).startswith(said)
    assert 6 == lake.scan(LANE_SAMPLES).collect().height


def test_a_limit_that_is_no_number_is_null_and_the_module_is_kept(export: Export, lake: Lake) -> None:
    export.file(
        "inventory.csv",
        "device,interface,installed_at,removed_at,rx_low_warn_dbm",
        "leaf01,Ethernet0,2026-01-01T00:00Z,,low",
        "leaf01,Ethernet8,2026-01-01T00:00Z,2025-01-01T00:00Z,-9",
    )

    report = import_export(export.root, lake)

    assert "inventory.csv:2: rx_low_warn_dbm: 'low' is not a number" == str(export.only(report, Kind.VALUE))
    assert "inventory.csv:3: removed_at lies before installed_at" == str(export.only(report, Kind.ROW))
    assert [None] == lake.scan(MODULES).collect()["rx_power_low_warn_dbm"].to_list()


def test_an_import_that_died_half_way_is_completed_by_the_next(
    export: Export, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lanes are committed before ports, and ports carry the transaction."""
    real = Lake.append

    def dies_at_ports(self: Lake, table: object, rows: pl.DataFrame, **given: object) -> int:
        if table is PORT_SAMPLES:
            msg = "killed"
            raise KeyboardInterrupt(msg)
        return real(self, LANE_SAMPLES, rows)

    monkeypatch.setattr(Lake, "append", dies_at_ports)
    with pytest.raises(KeyboardInterrupt):
        import_export(export.root, lake)
    monkeypatch.undo()

    import_export(export.root, lake)

    assert 6 == lake.latest(LANE_SAMPLES).collect().height
    assert 3 == lake.scan(PORT_SAMPLES).collect().height


def test_the_command_prints_a_report_and_ends_well_where_rows_were_only_quarantined(export: Export, home: Path) -> None:
    export.file("tickets.csv", TICKETS_HEADER, GOOD_TICKET, "T2,leaf99,Ethernet0,2026-03-01T00:00:00Z,,,")

    result = CliRunner().invoke(app, ["import", str(export.root)])

    assert 0 == result.exit_code
    assert "tickets.csv:3: ticket T2 is for leaf99 Ethernet0, a port that nothing else knows" in result.stdout
    assert str(home / "quarantine") in result.stdout


def test_the_command_fails_with_one_line_where_a_file_was_refused(export: Export, home: Path) -> None:
    (export.root / "telemetry" / "cut.parquet").write_bytes(b"PAR1")

    result = CliRunner().invoke(app, ["import", str(export.root), "--json"])

    assert isinstance(result.exception, ExportError)
    assert str(result.exception).startswith("telemetry/cut.parquet: cannot be read: ")
    assert str(result.exception).endswith("(everything else was kept)")
    report = json.loads(result.stdout)
    assert (6, 1) == (report["lane_samples"], report["counts"]["error"])
    assert "telemetry/cut.parquet" == report["findings"][0]["file"]


def test_the_lake_commands_tell_and_compact(export: Export, home: Path) -> None:
    runner = CliRunner()
    runner.invoke(app, ["import", str(export.root)])

    assert "2 days rewritten" in runner.invoke(app, ["lake", "compact"]).stdout
    stats = json.loads(runner.invoke(app, ["lake", "stats", "--json"]).stdout)
    assert [("lane_samples", 6), ("port_samples", 3), ("modules", 1)] == [
        (entry["name"], entry["rows"]) for entry in stats
    ]


def test_a_quarantine_without_cases_makes_no_file(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path / "q" / "x.jsonl")
    quarantine.add(Kind.NOTE, "a.csv", "worth saying")
    quarantine.close()

    assert not (tmp_path / "q").exists()


@pytest.mark.parametrize("seq", ["99999999999", "inf", "many"])
def test_a_sequence_number_that_is_none_is_said_and_the_repair_kept(export: Export, lake: Lake, seq: str) -> None:
    export.file("tickets.csv", TICKETS_HEADER, GOOD_TICKET)
    export.file("repairs.csv", "ticket_id,seq,at,action", f"T1,{seq},2026-03-01T01:00:00Z,reseat")

    report = import_export(export.root, lake)

    assert "repairs.csv:2" in str(export.only(report, Kind.VALUE))
    assert 1 == lake.latest(REPAIRS).collect().height


def test_a_time_beyond_the_calendar_is_quarantined(export: Export, lake: Lake) -> None:
    """Year 1 east of Greenwich was year 0 in UTC."""
    export.file("tickets.csv", TICKETS_HEADER, GOOD_TICKET, "T2,leaf01,Ethernet0,0001-01-01T00:00:00+02:00,,,")

    report = import_export(export.root, lake)

    assert "tickets.csv:3" in str(export.only(report, Kind.ROW))
    assert 1 == lake.latest(TICKETS).collect().height
