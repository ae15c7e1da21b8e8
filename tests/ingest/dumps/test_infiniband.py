"""ibdiagnet, ibnetdiscover and UFM: ports, counters, cables, bit error ratios and links of InfiniBand fabrics."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.dumps import DumpReport, Given, Reading
from ingest.schema import LANE_SAMPLES, LINKS, MODULES, PORT_SAMPLES, Quality, Table

Read = Callable[..., list[Reading]]
Take = Callable[..., DumpReport]
Rows = Callable[[Table], list[dict[str, Any]]]
Sample = Callable[[str], str]

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOBODY = Given()


def test_sections_of_a_fabric_join_by_guid_and_port(read: Read, sample: Sample) -> None:
    """Devices and ports have the names that people know; the time is the file's own, in its zone."""
    readings = {(reading.device, reading.interface): reading for reading in read(sample("ibdiagnet2.db_csv"), NOBODY)}

    port = readings["leaf01", "1"]
    assert (AT, 400.0, {"oper_up": True, "rx_los": True}) == (port.time, port.module["speed_gbps"], port.states)
    assert {"link_flaps": 300, "symbol_errors": 7, "in_packets": 2000, "out_packets": 1000} == port.counters
    assert ("LM0000801", "Lumora", "47.1", "switch") == tuple(
        port.module[name] for name in ("serial", "vendor", "firmware", "role")
    )
    assert {"leaf01", "gpu17"} == {device for device, _ in readings}
    assert "nic" == readings["gpu17", "mlx5_0"].module["role"]
    assert ("gpu17", "mlx5_1/2") in readings


def test_raw_ratios_come_as_mantissa_and_exponent(read: Read, sample: Sample) -> None:
    """15E-255 was not measured; -1 and N/A are how versions write nothing."""
    readings = {(reading.device, reading.interface): reading for reading in read(sample("ibdiagnet2.db_csv"), NOBODY)}

    assert pytest.approx(2e-8) == readings["leaf01", "1"].values[0, "pre_fec_ber"]
    assert (0, "pre_fec_ber") not in readings["gpu17", "mlx5_0"].values
    assert {"link_flaps": 3, "symbol_errors": 0, "in_packets": 0} == readings["leaf01", "2"].counters


def test_powers_are_watts_or_registers_and_copper_has_none(take: Take, rows: Rows) -> None:
    """0.5012 mW and register 12589 of 0.1 uW; a zero beside light is no light, zeros alone are no DOM."""
    take("ibdiagnet2.db_csv", given=NOBODY)

    lanes = {(row["device"], row["lane"]): row for row in rows(LANE_SAMPLES)}
    assert [("leaf01", 1), ("leaf01", 2)] == list(lanes)
    assert pytest.approx(-3.0, abs=0.001) == lanes["leaf01", 1]["rx_power_dbm"]
    assert pytest.approx(1.0, abs=0.001) == lanes["leaf01", 1]["tx_power_dbm"]
    assert (-40.0, 0.0) == (lanes["leaf01", 2]["rx_power_dbm"], lanes["leaf01", 2]["tx_power_dbm"])
    assert {int(Quality.UNCALIBRATED)} == {row["quality"] for row in lanes.values()}, "registers are assumed"
    module = next(row for row in rows(MODULES) if row["serial"] == "LM0000801")
    assert (75.0, -5.0, pytest.approx(3.63)) == (
        module["temperature_high_alarm_c"],
        module["temperature_low_alarm_c"],
        module["voltage_high_alarm_v"],
    )
    assert pytest.approx(3.2685) == next(row for row in rows(PORT_SAMPLES) if "voltage_v" in row)["voltage_v"]


def test_links_are_named_and_have_their_cables_kind(take: Take, rows: Rows) -> None:
    """A factory's description is no name; a link to a node that is not listed is none."""
    report = take("ibdiagnet2.db_csv", given=NOBODY)

    links = {(row["a_device"], row["a_interface"], row["z_device"], row["z_interface"]): row for row in rows(LINKS)}
    assert {
        ("gpu17", "mlx5_0", "leaf01", "1"),
        ("gpu17", "mlx5_1/2", "leaf01", "3"),
        ("0xfc6a1c0300bb0003", "1", "leaf01", "4"),
    } == set(links)
    assert ("fiber", "dac") == (
        links["gpu17", "mlx5_0", "leaf01", "1"]["kind"],
        links["gpu17", "mlx5_1/2", "leaf01", "3"]["kind"],
    )
    assert [("a row of LINKS without node or port", 28), ("not as many cells as PM_INFO has columns", 35)] == [
        (finding.reason, int(finding.where.rpartition(":")[2])) for finding in report.findings
    ]


@pytest.mark.parametrize("name", ["ibnetdiscover.txt", "ibnetdiscover_ports.txt"])
def test_topology_gives_each_link_once(take: Take, rows: Rows, name: str) -> None:
    """A tree tells each link from both ends; a second import adds nothing."""
    report = take(name, given=NOBODY)

    assert [("gpu17", "mlx5_0", "leaf01", "1"), ("leaf01", "33", "spine01", "12")] == [
        (row["a_device"], row["a_interface"], row["z_device"], row["z_interface"]) for row in rows(LINKS)
    ]
    assert ([], 2) == (report.refused, report.links)
    assert 0 == take(name, given=Given(device="other")).links


def test_a_broken_line_of_a_topology_is_said(take: Take) -> None:
    """The others are kept."""
    report = take("ibnetdiscover.txt", given=NOBODY)

    assert ["not a link: port, node, port of the node"] == [finding.reason for finding in report.findings]


def test_ufm_rows_are_ports_at_times(read: Read, sample: Sample, quarantine: Any) -> None:
    """Microseconds, names where UFM told them, the GUID elsewhere; bins of FEC; what is no row is said."""
    readings = read(sample("ufm.csv"), NOBODY)

    first, later, adapter, unnamed = readings
    assert ("leaf01", "1", AT, 2e-8) == (first.device, first.interface, first.time, first.values[0, "pre_fec_ber"])
    assert ({"link_flaps": 3, "symbol_errors": 4, "in_packets": 2000, "out_packets": 1000}, 54.0) == (
        first.counters,
        first.values[0, "temperature_c"],
    )
    assert [900, 20, *[0] * 13, 1] == first.fec_bins
    assert (datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC), {}) == (later.time, later.values)
    assert ("gpu17", "mlx5_0", 45.0) == (adapter.device, adapter.interface, adapter.values[0, "temperature_c"])
    assert ("0xfc6a1c0300bb0009", "1") == (unnamed.device, unnamed.interface)
    assert ["not a time", "a row without node or port", "not as many cells as the header has"] == [
        finding.reason for finding in quarantine.findings
    ]


def test_a_new_neighbour_ends_the_link_before(take: Take, rows: Rows, tmp_path: Path) -> None:
    """A port has one cable: what the later topology says stands from its time on."""
    take("ibnetdiscover_ports.txt", given=Given(at=AT))
    moved = tmp_path / "later.txt"
    moved.write_text(
        "SW 1  1 0xfc6a1c0300aa0001 4x NDR - CA 8 1 0xfc6a1c0300bb0077 ( 'MF0;leaf01:MQM9700/U1' - 'gpu99 mlx5_0' )\n"
    )
    later = datetime(2026, 3, 9, tzinfo=UTC)

    take(moved, given=Given(at=later))

    links = {row["a_device"]: row for row in rows(LINKS) if "1" == row["z_interface"]}
    assert (later, later) == (links["gpu17"]["valid_to"], links["gpu99"]["valid_from"])
