"""A made ServiceNow export of 500 incidents in free text, through a map of at most 40 lines."""

import csv
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from data_samples.servicenow import Incident, write_incidents
from features.fleet import Fleet
from features.label_reasons import explained
from features.labels import failure_events
from ingest.exports import ImportReport, import_export
from ingest.lake import Lake
from ingest.quarantine import Kind
from ingest.records import import_records
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, REPAIRS, TICKETS, FailureType

SAMPLES = Path(__file__).parents[3] / "data_samples"
MAP = SAMPLES / "servicenow.toml"
Imported = tuple[Lake, ImportReport, list[Incident]]


@pytest.fixture(name="imported", scope="module")
def _imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    """The committed sample of a fleet, and 500 incidents about it."""
    folder = tmp_path_factory.mktemp("servicenow")
    lake = Lake(str(folder / "lake"))
    import_export(SAMPLES / "sample", lake)
    with (SAMPLES / "sample" / "inventory.csv").open() as file:
        ports = [(row["device"], row["interface"], row["serial"]) for row in csv.DictReader(file)]
    truth = write_incidents(folder / "incidents.csv", ports, datetime(2026, 3, 1, tzinfo=UTC))
    return lake, import_records([folder / "incidents.csv"], lake, map_file=MAP), truth


@pytest.fixture(name="tickets", scope="module")
def _tickets(imported: Imported) -> dict[str, dict[str, Any]]:
    numbers = [incident.number for incident in imported[2]]
    rows = imported[0].latest(TICKETS).collect().iter_rows(named=True)
    return {row["ticket_id"]: row for row in rows if row["ticket_id"] in numbers}


def test_a_table_of_forty_lines_maps_500_rows_of_free_text(
    imported: Imported, tickets: dict[str, dict[str, Any]]
) -> None:
    wrong = [each.number for each in imported[2] if tickets[each.number]["failure_type"] != each.failure_type]

    assert 40 >= len(MAP.read_text().splitlines())
    assert 500 == len(imported[2]) == len(tickets)
    assert [] == wrong


def test_what_no_phrase_matches_is_listed_and_kept_as_other(
    imported: Imported, tickets: dict[str, dict[str, Any]]
) -> None:
    other = sum(ticket["failure_type"] == FailureType.OTHER for ticket in tickets.values())
    listed = [finding for finding in imported[1].findings if "[failure_type]" in finding.reason]

    assert 0 < other == sum(finding.count for finding in listed)
    assert all(finding.kind is Kind.NOTE and "kept as other" in finding.reason for finding in listed)


def test_ports_are_found_however_they_were_typed(imported: Imported, tickets: dict[str, dict[str, Any]]) -> None:
    """With a domain or in capitals, as Eth1/1 or "Ethernet 1/1", or only in the short description."""
    found = {number: (row["device"], row["interface"]) for number, row in tickets.items()}

    assert {each.number: each.port for each in imported[2] if each.port} == {
        each.number: found[each.number] for each in imported[2] if each.port
    }


def test_work_notes_become_the_sequence_of_repairs(imported: Imported) -> None:
    rows = imported[0].latest(REPAIRS).sort("ticket_id", "seq").collect().iter_rows(named=True)
    done: dict[str, list[str]] = {}
    for row in rows:
        done.setdefault(row["ticket_id"], []).append(row["action"])

    assert {each.number: list(each.repairs) for each in imported[2] if each.repairs} == {
        each.number: done[each.number] for each in imported[2] if each.repairs
    }


def test_local_times_are_read_in_the_zone_of_the_map_through_summer_time(
    imported: Imported, tickets: dict[str, dict[str, Any]]
) -> None:
    """The incidents span the night in which clocks went forward."""
    assert {each.number: each.opened_at for each in imported[2]} == {
        number: row["opened_at"] for number, row in tickets.items()
    }


def test_labels_say_what_became_of_each(imported: Imported) -> None:
    lake, numbers = imported[0], {incident.number for incident in imported[2]}
    fleet = Fleet.load(lake)
    told = explained(failure_events(fleet, lake.scan(PORT_SAMPLES), lake.scan(LANE_SAMPLES)), fleet.ends())
    of_ours = told.filter(told["event_id"].is_in(list(numbers)))

    assert numbers == set(of_ours["event_id"])
    assert all(of_ours["why"].to_list())
    lost = sum(incident.port is None for incident in imported[2])
    verdicts = Counter(of_ours["verdict"].to_list())
    assert lost >= verdicts["unknown_port"] > 0
    assert 0 < verdicts["counted"]


def test_the_same_export_again_changes_nothing(imported: Imported, tmp_path: Path) -> None:
    with (SAMPLES / "sample" / "inventory.csv").open() as file:
        ports = [(row["device"], row["interface"], row["serial"]) for row in csv.DictReader(file)]
    write_incidents(tmp_path / "incidents.csv", ports, datetime(2026, 3, 1, tzinfo=UTC))

    again = import_records([tmp_path / "incidents.csv"], imported[0], map_file=MAP)

    assert (0, 500) == again.records["tickets"]


def test_a_map_is_suggested_that_works_once_its_zone_is_named(
    imported: Imported, tmp_path: Path, write: Callable[..., Path]
) -> None:
    from ingest.records import suggested_map

    incidents = tmp_path / "incidents.csv"
    write_incidents(incidents, [("leaf000", "Ethernet1/1", "SN000000A")], datetime(2026, 3, 1, tzinfo=UTC), count=60)
    suggested = suggested_map(incidents)
    starter = write("map.toml", suggested.replace("# zone =", "zone ="))

    report = import_records([incidents], Lake(str(tmp_path / "lake")), map_file=starter)

    assert 'zone = "Europe/Berlin"  # NEEDED' in suggested
    assert 'failure_type = ["Resolution notes"' in suggested
    assert (60, 0) == report.records["tickets"]
