"""NetBox's exports and cable files into modules and links."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ingest.exports import ImportReport
from ingest.quarantine import Kind
from ingest.schema import LINKS, MODULES, REPLACEMENTS

Write = Callable[..., Path]
Take = Callable[..., ImportReport]
Latest = Callable[..., list[dict[str, Any]]]


def ends(rows: list[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    return [(row["a_device"], row["a_interface"], row["z_device"], row["z_interface"]) for row in rows]


def termination(device: str, name: str, kind: str = "dcim.interface") -> dict[str, Any]:
    return {"object_type": kind, "object_id": 1, "object": {"device": {"name": device}, "name": name}}


def test_cables_of_the_api_are_links(write: Write, take: Take, latest: Latest) -> None:
    cable = {
        "id": 7,
        "display": "#7",
        "label": "F-0007",
        "type": "smf-os2",
        "status": {"value": "connected", "label": "Connected"},
        "a_terminations": [termination("leaf01", "Ethernet1/2")],
        "b_terminations": [termination("leaf02", "Ethernet1/2")],
    }

    take(write("cables.json", json.dumps({"count": 1, "next": None, "previous": None, "results": [cable]})))

    link = next(row for row in latest(LINKS) if row["cable_id"] == "F-0007")
    assert [("leaf01", "Ethernet1/2", "leaf02", "Ethernet1/2")] == ends([link])
    assert ("fiber", "file") == (link["kind"], link["source"])


def test_cables_of_a_table_export_are_links_and_planned_ones_are_not(write: Write, take: Take, latest: Latest) -> None:
    rows = (
        "ID,Label,Device A,Termination A,Device B,Termination B,Status,Type",
        "1,A1,leaf01,Ethernet1/2,srv01,eth0,Connected,Active Optical Cabling (AOC)",
        "2,A2,leaf02,Ethernet1/2,srv02,eth0,Planned,Singlemode Fiber (OS2)",
    )

    report = take(write("cables.csv", *rows))

    assert {("A1", "aoc")} == {(row["cable_id"], row["kind"]) for row in latest(LINKS)} - {("C1", None)}
    assert ["a cable that is only planned; left out"] == [finding.reason for finding in report.findings]


def test_an_end_in_a_panel_is_refused_with_what_to_do(write: Write, take: Take) -> None:
    rows = (
        "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name",
        "leaf01,dcim.interface,Ethernet1/2,panel7,dcim.frontport,12",
    )

    report = take(write("cables.csv", *rows))

    assert ["end B is a dcim.frontport: import interfaces as JSON, which see through panels"] == [
        finding.reason for finding in report.findings
    ]


def test_interfaces_see_through_panels(write: Write, take: Take, latest: Latest) -> None:
    """Both ends tell of the same link: it is one."""

    def interface(device: str, name: str, far: tuple[str, str] | None) -> dict[str, Any]:
        told = [{"device": {"name": far[0]}, "name": far[1]}] if far else None
        return {
            "device": {"name": device},
            "name": name,
            "cable": {"id": 9, "display": "#9", "label": ""},
            "connected_endpoints": told,
            "connected_endpoints_type": "dcim.interface" if far else None,
        }

    rows = [
        interface("leaf01", "Ethernet1/2", ("leaf02", "Ethernet1/2")),
        interface("leaf02", "Ethernet1/2", ("leaf01", "Ethernet1/2")),
        interface("leaf01", "Ethernet1/9", None),
    ]

    take(write("interfaces.json", json.dumps({"results": rows})))

    assert [("leaf01", "Ethernet1/1", "leaf02", "Ethernet1/1"), ("leaf01", "Ethernet1/2", "leaf02", "Ethernet1/2")] == (
        sorted(ends(latest(LINKS)))
    )


def test_devices_give_site_and_role_to_what_comes_with_them(write: Write, take: Take, latest: Latest) -> None:
    devices = write("devices.csv", "Name,Site,Role,Type", "gpu7,ams2,GPU server,DGX", "sw7,ams2,Leaf,7060X")
    items = write(
        "items.csv",
        "Name,Device,Component,Manufacturer,Part ID,Serial Number",
        "Optic,gpu7,eth0,Acme,ACM-400,AB1",
        "Optic,sw7,Ethernet3/1,Acme,ACM-400,AB2",
    )

    take(items, devices)

    assert [("ams2", "gpu7", "eth0", "AB1", "nic"), ("ams2", "sw7", "Ethernet3/1", "AB2", "switch")] == [
        (row["site"], row["device"], row["interface"], row["serial"], row["role"])
        for row in latest(MODULES)
        if row["site"] == "ams2"
    ]


def test_an_inventory_adds_to_what_is_known_and_does_not_double_it(write: Write, take: Take, latest: Latest) -> None:
    items = ("device,component,part_id,serial,name,manufacturer", "leaf01,Eth1/1,ACM-400,SN-leaf01-1,Optic,Acme")

    take(write("items.csv", *items))

    rows = [row for row in latest(MODULES) if (row["device"], row["interface"]) == ("leaf01", "Ethernet1/1")]
    assert [("SN-leaf01-1", "ACM-400", "Acme")] == [(r["serial"], r["part_number"], r["vendor"]) for r in rows]


def test_an_inventory_that_knows_another_serial_than_the_device_is_listed_not_believed(
    write: Write, take: Take, latest: Latest
) -> None:
    """Serials are edited in place and late (field_faults.md, row 59)."""
    before = latest(MODULES)

    report = take(write("items.csv", "device,component,part_id,serial", "leaf01,Ethernet1/1,ACM-400,SN-OTHER"))

    assert before == latest(MODULES)
    assert [Kind.ROW] == [finding.kind for finding in report.findings]
    assert "SN-leaf01-1 is known to sit in leaf01 Ethernet1/1" in report.findings[0].reason


def test_a_serial_that_was_edited_in_netbox_is_a_swap(write: Write, take: Take, latest: Latest) -> None:
    head = "device,component,part_id,serial"
    take(write("items.csv", head, "srv9,eth0,ACM-400,OLD1"))

    take(write("items.csv", head, "srv9,eth0,ACM-400,NEW1"))

    rows = [row for row in latest(MODULES) if row["device"] == "srv9"]
    assert {("OLD1", True), ("NEW1", False)} == {(row["serial"], row["removed_at"] is not None) for row in rows}
    assert [("OLD1", "NEW1")] == [(row["old_serial"], row["new_serial"]) for row in latest(REPLACEMENTS)]


def test_a_cable_file_says_more_of_links_that_are_known(write: Write, take: Take, latest: Latest) -> None:
    rows = ("cable_id,kind,shared_risk", "C1,SMF,trunk7; panel2", "C99,SMF,trunk7")

    report = take(write("cables.csv", *rows))

    assert [("C1", "fiber", ["trunk7", "panel2"])] == [
        (row["cable_id"], row["kind"], row["shared_risk"]) for row in latest(LINKS)
    ]
    assert ["cable C99 has no ends here and no link has its id"] == [finding.reason for finding in report.findings]


def test_a_file_of_links_finds_the_ports_that_are_meant(write: Write, take: Take, latest: Latest) -> None:
    rows = ("a_device,a_interface,z_device,z_interface,cable_id,kind", "LEAF01.lab,eth1/2,leaf02,Eth1/2,C2,mmf om4")

    take(write("links.csv", *rows))

    assert ("leaf01", "Ethernet1/2", "leaf02", "Ethernet1/2") in ends(latest(LINKS))
