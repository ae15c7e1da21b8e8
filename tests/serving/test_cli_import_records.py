"""``forelight import FILE…``: records by the command, and the map that it suggests."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from data_samples.servicenow import write_incidents
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, LINKS, TICKETS

Console = Callable[..., Any]
MAP = Path(__file__).parents[2] / "data_samples" / "servicenow.toml"


@pytest.fixture(name="incidents")
def _incidents(tmp_path: Path) -> Path:
    path = tmp_path / "incidents.csv"
    write_incidents(path, [("leaf01", "Ethernet1/1", "SN1")], datetime(2026, 3, 1, tzinfo=UTC), count=20)
    return path


def test_a_map_makes_tickets_of_a_spreadsheet(console: Console, incidents: Path, tmp_path: Path) -> None:
    ran = console(tmp_path, "import", "--json", "--map", str(MAP), str(incidents))

    assert 0 == ran.code, ran.err
    assert {"new": 20, "known": 0} == json.loads(ran.out)["records"]["tickets"]
    assert 20 == Lake(str(tmp_path / "lake")).latest(TICKETS).collect().height


def test_people_are_told_what_was_not_understood(console: Console, incidents: Path, tmp_path: Path) -> None:
    """The lake knows no port yet: each ticket is kept as it was written, and told."""
    ran = console(tmp_path, "import", "--map", str(MAP), str(incidents))

    assert 0 == ran.code, ran.err
    assert "is no port that inventory or links know; kept as written" in ran.out
    assert "telemetry files" not in ran.out


def test_a_suggested_map_is_printed_and_nothing_is_taken(console: Console, incidents: Path, tmp_path: Path) -> None:
    ran = console(tmp_path, "import", "--suggest-map", str(incidents))

    assert 0 == ran.code, ran.err
    assert 'ticket_id = "Number"' in ran.out
    assert not (tmp_path / "lake").exists()


def test_files_are_taken_together_each_by_its_columns(console: Console, tmp_path: Path) -> None:
    links, more = tmp_path / "cables.csv", tmp_path / "trunks.csv"
    links.write_text("a_device,a_interface,z_device,z_interface,cable_id\nl1,e1,l2,e1,C1\n")
    more.write_text("cable_id,kind,shared_risk\nC1,SMF,trunk7\n")

    ran = console(tmp_path, "import", "--site", "ams2", str(links), str(more))

    link = Lake(str(tmp_path / "lake")).latest(LINKS).collect().row(0, named=True)
    assert 0 == ran.code, ran.err
    assert ("ams2", "fiber", ["trunk7"]) == (link["a_site"], link["kind"], link["shared_risk"])


def test_a_spreadsheet_without_a_map_is_refused_with_the_way_out(console: Console, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("What,Where\nbroken,there\n")

    ran = console(tmp_path, "import", str(sheet))

    assert 1 == ran.code
    assert "--suggest-map sheet.csv > map.toml" in ran.err
    assert 1 == len(ran.err.strip().splitlines())


def test_a_folder_of_records_and_dumps_is_taken_each_by_what_it_is(console: Console, tmp_path: Path) -> None:
    """And a spreadsheet that needs a map is told how to get one, while the others are kept."""
    (folder := tmp_path / "all" / "of").mkdir(parents=True)
    (folder / "cables.csv").write_text("a_device,a_interface,z_device,z_interface,cable_id\nl1,e1,l2,e1,C1\n")
    (folder / "tickets.csv").write_text("Number,Switch\n1,l1\n")
    dump = {
        "TRANSCEIVER_DOM_SENSOR|Ethernet0": {"rx1power": "-1.5"},
        "DEVICE_METADATA|localhost": {"hostname": "sw1"},
    }
    (folder / "STATE_DB.json").write_text(json.dumps(dump))

    ran = console(tmp_path, "import", "--at", "2026-03-01T12:00:00Z", str(tmp_path / "all"))

    lake = Lake(str(tmp_path / "lake"))
    assert 1 == ran.code
    assert "tickets.csv` writes a map for a spreadsheet" in ran.err
    assert 1 == lake.latest(LINKS).collect().height
    assert ["sw1"] == lake.latest(LANE_SAMPLES).collect()["device"].to_list()


def test_a_map_and_a_folder_take_each_file_by_what_it_is(console: Console, incidents: Path, tmp_path: Path) -> None:
    """The spreadsheet by the map, cables by their columns, dumps as dumps."""
    (folder := tmp_path / "mixed").mkdir()
    incidents.rename(folder / "incidents.csv")
    (folder / "cables.csv").write_text("a_device,a_interface,z_device,z_interface,cable_id\nl1,e1,l2,e1,C1\n")
    dump = {"TRANSCEIVER_DOM_SENSOR|Ethernet0": {"rx1power": "-1.5"}, "DEVICE_METADATA|localhost": {"hostname": "l1"}}
    (folder / "state.json").write_text(json.dumps(dump))

    ran = console(tmp_path, "import", "--json", "--at", "2026-03-01T12:00:00Z", "--map", str(MAP), str(folder))

    assert 0 == ran.code, ran.err
    told = json.loads(ran.out)
    assert (20, 1) == (told["records"]["tickets"]["new"], told["records"]["links"]["new"])
    assert 1 == told["dumps"]["lane_samples"]


def test_a_file_of_which_nothing_was_taken_ends_with_1(console: Console, tmp_path: Path) -> None:
    sheet, mapped = tmp_path / "sheet.csv", tmp_path / "map.toml"
    sheet.write_text("No,Switch,Port,Opened\n1,l1,e1,yesterday\n")
    columns = ('ticket_id = "No"', 'device = "Switch"', 'interface = "Port"', 'opened_at = "Opened"')
    mapped.write_text("\n".join(["[columns]", *columns]))

    ran = console(tmp_path, "import", "--map", str(mapped), str(sheet))

    assert 1 == ran.code
    assert "none of its 1 rows could be taken" in ran.err
    assert 1 == len(ran.err.strip().splitlines())
