"""NX-OS, EOS and Prometheus' text."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.dumps import DumpReport, Given, Reading
from ingest.schema import MODULES, Table

Read = Callable[..., list[Reading]]
Take = Callable[..., DumpReport]
Rows = Callable[[Table], list[dict[str, Any]]]
Sample = Callable[[str], str]

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
RECORDED = Path(__file__).parents[4] / "shared" / "recordings" / "gnmi" / "suzieq_nxos_show_interface_transceiver.json"


def test_nxos_rows_of_one_and_of_many_lanes(read: Read, sample: Sample, quarantine: Any) -> None:
    """A table of one row is an object; N/A is null; temperature and voltage are the module's."""
    one, many = read(sample("nxos.json"))

    assert ("Ethernet1/1", "LM0000010", "Lumora", "10Gbase-SR") == (
        one.interface,
        *(one.module[name] for name in ("serial", "vendor", "media")),
    )
    assert {
        (0, "temperature_c"): 34.48,
        (0, "voltage_v"): 3.28,
        (1, "tx_bias_ma"): 6.49,
        (1, "tx_power_dbm"): -1.78,
    } == (one.values)
    assert {"high_alarm": 3.4, "low_alarm": -13.51, "high_warn": 2.4, "low_warn": -9.5} == one.limits["rx_power_dbm"]
    assert (-40.0, -1.5) == (many.values[1, "rx_power_dbm"], many.values[2, "rx_power_dbm"])
    assert [("(text):17", "tx_pwr"), ("(text):14", ""), ("(text):1", "")] == [
        (finding.where, finding.column) for finding in quarantine.findings
    ]


@pytest.mark.skipif(not RECORDED.is_file(), reason="no recordings beside the repository")
def test_nxos_without_dom_still_tells_who_sits_where(take: Take, rows: Rows) -> None:
    """The recording has no DOM: modules and no samples."""
    report = take(RECORDED, given=Given(device="leaf02", at=AT))

    assert (0, 0) == (report.lane_samples, report.port_samples)
    assert "ACW2248126A" == next(row["serial"] for row in rows(MODULES) if row["interface"] == "Ethernet1/1")


def test_eos_lanes_of_a_cage_become_one_module(read: Read, sample: Sample, quarantine: Any) -> None:
    """Interfaces of one serial number are lanes of the first; the time is the file's own, inside eAPI's answer."""
    readings = {reading.interface: reading for reading in read(sample("eos.json"))}

    assert ["Ethernet1", "Ethernet49/1", "Ethernet50/1"] == list(readings)
    first = readings["Ethernet1"]
    assert datetime(2026, 3, 1, 12, 0, 0, 500000, tzinfo=UTC) == first.time
    assert pytest.approx(-2.2483, abs=1e-4) == first.values[0, "tx_power_dbm"]
    assert {"high_alarm": 2.0, "high_warn": -1.0, "low_alarm": -13.9, "low_warn": -9.9} == first.limits["rx_power_dbm"]
    cage = readings["Ethernet49/1"]
    assert ({1: -1.1, 2: -40.0}, AT) == (
        {lane: value for (lane, name), value in cage.values.items() if name == "rx_power_dbm"},
        cage.time,
    )
    assert [("(text):6", "rxPower")] == [(finding.where, finding.column) for finding in quarantine.findings]


def test_eos_channels_of_newer_releases(read: Read, sample: Sample) -> None:
    """Lanes by number, "-" for the module."""
    reading = next(reading for reading in read(sample("eos.json")) if reading.interface == "Ethernet50/1")

    assert {(1, "rx_power_dbm"): -1.5, (2, "rx_power_dbm"): -1.75, (0, "temperature_c"): 47.5} == reading.values
    assert {"high_alarm": 5.0, "low_alarm": -6.9} == reading.limits["rx_power_dbm"]


def test_transceiver_exporter_counts_lasers_from_zero(read: Read, sample: Sample, quarantine: Any) -> None:
    """Lanes count from 1 here; milliwatts become dBm; -Inf is no light and NaN nothing (field_faults.md, row 13)."""
    (reading,) = read(sample("transceiver_exporter.prom"))

    assert ("swp1", "LM0000104", 'Lumora "Optics"') == (
        reading.interface,
        reading.module["serial"],
        reading.module["vendor"],
    )
    assert pytest.approx(-3.0103, abs=1e-4) == reading.values[1, "rx_power_dbm"]
    assert (float("-inf"), float("-inf")) == (reading.values[4, "rx_power_dbm"], reading.values[2, "tx_power_dbm"])
    assert (3, "tx_power_dbm") not in reading.values
    assert 8.5 == reading.limits["tx_bias_ma"]["high_warn"]
    assert pytest.approx(-13.01, abs=0.01) == reading.limits["rx_power_dbm"]["low_alarm"]
    assert ["(text):14", "(text):15"] == [finding.where for finding in quarantine.findings]


def test_node_exporter_names_its_host_and_its_ports(read: Read, sample: Sample) -> None:
    """Interfaces that only netclass knows are left out; the second port of an adapter has its number."""
    readings = {reading.interface: reading for reading in read(sample("node_exporter.prom"), Given(at=AT))}

    assert ["enp65s0f0np0", "mlx5_0", "mlx5_0/2"] == sorted(str(name) for name in readings)
    assert {"gpu18"} == {reading.device for reading in readings.values()}
    assert {"crc_errors": 3, "link_flaps": 2, "in_packets": 1_600_000_000} == readings["enp65s0f0np0"].counters
    assert {"oper_up": True} == readings["enp65s0f0np0"].states == readings["mlx5_0"].states


def test_a_federation_tells_device_and_time(read: Read, sample: Sample, quarantine: Any) -> None:
    """Samples of two scrapes are two readings; a time that cannot be is said."""
    first, second = read(sample("sonic_exporter.prom"), Given())

    assert ("leaf09", "Ethernet0", AT) == (first.device, first.interface, first.time)
    assert ({"rx_los": True, "tx_fault": False}, {"low_alarm": -13.5}) == (first.states, first.limits["rx_power_dbm"])
    assert (100, 160) == (first.counters["in_packets"], second.counters["in_packets"])
    assert ["(text):7"] == [finding.where for finding in quarantine.findings]
