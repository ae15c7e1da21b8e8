"""Syslog lines of several systems into events; a reboot of the far device is told from a fault."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import ExportError
from ingest.exports import ImportReport
from ingest.lake import Lake
from ingest.schema import PORT_EVENTS
from ingest.syslog.messages import CARRIER

Write = Callable[..., Path]
Take = Callable[..., ImportReport]
Latest = Callable[..., list[dict[str, Any]]]

EOS = "%LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet1/1, changed state to"


@pytest.mark.parametrize(
    ("line", "kind", "port"),
    [
        (f"<189>2026-03-01T10:00:00+00:00 leaf01 Ebra: {EOS} down", "down", "Ethernet1/1"),
        (f"<189>1 2026-03-01T10:00:00Z leaf01.lab Ebra - - - {EOS} up", "up", "Ethernet1/1"),
        (
            "2026-03-01T10:00:00Z leaf01 %ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/2 is down (Link failure)",
            "down",
            "Ethernet1/2",
        ),
        (
            "2026-03-01T10:00:00Z junos01 mib2d[1]: SNMP_TRAP_LINK_DOWN: ifIndex 5, ifOperStatus down, ifName et-0/0/1",
            "down",
            "et-0/0/1",
        ),
        (
            "2026-03-01T10:00:00Z leaf01 NOTICE swss#orchagent: Port Ethernet1/1 oper state set from up to down",
            "down",
            "Ethernet1/1",
        ),
        ("2026-03-01T10:00:00Z leaf01 INFO pmon#xcvrd: Ethernet1/1: Got SFP removed event", "removed", "Ethernet1/1"),
        ("2026-03-01T10:00:00Z leaf02 kernel: mlx5_core 0000:3b:00.0 ens1f0np0: Link down", "down", "ens1f0np0"),
    ],
)
def test_a_line_is_an_event_of_its_port(
    write: Write, take: Take, latest: Latest, line: str, kind: str, port: str
) -> None:
    take(write("switch.log", line))

    (event,) = latest(PORT_EVENTS)
    assert (kind, port, datetime(2026, 3, 1, 10, tzinfo=UTC)) == (event["kind"], event["interface"], event["time"])


def test_a_time_without_year_lies_before_the_file_was_written(write: Write, take: Take, latest: Latest) -> None:
    path = write("switch.log", f"Dec 31 23:00:00 leaf01 Ebra: {EOS} down", f"Jan  1 01:00:00 leaf01 Ebra: {EOS} up")
    written = datetime(2026, 1, 2, tzinfo=UTC).timestamp()
    os.utime(path, (written, written))

    take(path, zone="UTC")

    assert [(2025, "down"), (2026, "up")] == [(row["time"].year, row["kind"]) for row in latest(PORT_EVENTS)]


def test_a_time_without_zone_is_refused_with_the_remedy(write: Write, take: Take) -> None:
    with pytest.raises(ExportError, match=r"switch\.log:1: .*names no zone"):
        take(write("switch.log", f"Mar  1 10:00:00 leaf01 Ebra: {EOS} down"))


def test_a_reboot_of_the_far_device_is_told_from_a_fault(write: Write, take: Take, latest: Latest) -> None:
    """leaf01 Ethernet1/1 and leaf02 Ethernet1/1 are a link; an hour later nobody rebooted."""
    take(
        write(
            "switch.log",
            f"2026-03-01T10:00:00Z leaf01 Ebra: {EOS} down",
            "2026-03-01T10:02:00Z leaf02 Ebra: %SYS-5-SYSTEM_RESTARTED: System restarted",
            f"2026-03-01T11:00:00Z leaf01 Ebra: {EOS} down",
            "2026-03-01T11:00:00Z leaf01 sshd[1]: Accepted publickey for root",
        )
    )

    downs = [row["cause"] for row in latest(PORT_EVENTS) if row["kind"] == "down"]
    reboots = [(row["device"], row["interface"]) for row in latest(PORT_EVENTS) if row["kind"] == "reboot"]
    assert ["eos syslog; leaf02, at the far end, rebooted", "eos syslog"] == downs
    assert [("leaf02", "Ethernet1/1"), ("leaf02", "Ethernet1/2")] == reboots


def test_what_a_link_event_is_worth_is_said_of_each_system() -> None:
    page = (Path(__file__).parents[3] / "docs" / "records.md").read_text()

    assert [] == [text for text in CARRIER.values() if text not in page]


def test_a_log_that_grew_adds_what_is_new(write: Write, take: Take, lake: Lake) -> None:
    """A line that a relay told twice is one event."""
    lines = [f"2026-03-01T10:0{minute}:00Z leaf01 Ebra: {EOS} down" for minute in (0, 0, 1, 2)]

    reports = [take(write("switch.log", *lines[:many])) for many in (3, 3, 4)]

    assert [(2, 1), (0, 3), (1, 3)] == [report.records["port_events"] for report in reports]
    assert 3 == lake.scan(PORT_EVENTS).collect().height


def test_two_logs_are_counted_together(write: Write, take: Take) -> None:
    logs = [write(f"{name}.log", f"2026-03-01T10:00:00Z {name} Ebra: {EOS} down") for name in ("leaf01", "leaf02")]

    assert (2, 0) == take(*logs).records["port_events"]
