"""``ethtool -m`` and ``-S`` into lane samples, port samples and modules."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from ingest.dumps import DumpReport, Given, Reading
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES, Quality, Table

Take = Callable[..., DumpReport]
Rows = Callable[[Table], list[dict[str, Any]]]
Read = Callable[..., list[Reading]]

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_text_of_several_modules_becomes_lanes_in_dbm_and_milliamperes(take: Take, rows: Rows) -> None:
    """The interface is that of the command's line; what stands in mW is taken, not the rounded dBm beside it."""
    report = take("ethtool_module.txt")

    assert [("ethtool-module",)] == [file.formats for file in report.files]
    lanes = {(row["interface"], row["lane"]): row for row in rows(LANE_SAMPLES)}
    assert [("eno1", 0), *(("enp65s0f0np0", lane) for lane in (1, 2, 3, 4))] == list(lanes)
    assert pytest.approx(-3.0, abs=0.001) == lanes["enp65s0f0np0", 1]["rx_power_dbm"]
    assert pytest.approx(-3.5912, abs=0.001) == lanes["eno1", 0]["tx_power_dbm"]
    assert 32.45 == pytest.approx(lanes["eno1", 0]["tx_bias_ma"])
    assert {"file"} == {row["source"] for row in lanes.values()}
    assert {AT} == {row["time"] for row in lanes.values()}


def test_no_light_and_a_milliwatt_are_told_apart(take: Take, rows: Rows) -> None:
    """0 mW is -40 dBm; 1 mW is 0 dBm, a reading like any other (field_faults.md, rows 3 to 6)."""
    take("ethtool_module.txt")

    lanes = {row["lane"]: row for row in rows(LANE_SAMPLES) if row["interface"] == "enp65s0f0np0"}
    assert (0.0, -40.0) == (lanes[1]["tx_power_dbm"], lanes[2]["rx_power_dbm"])


def test_a_register_at_its_end_is_null_marked_and_quarantined(take: Take, rows: Rows) -> None:
    """131.07 mA is all bits set: no reading, but the lane's other values stand."""
    report = take("ethtool_module.txt")

    lane = next(row for row in rows(LANE_SAMPLES) if row["lane"] == 3)
    assert "tx_bias_ma" not in lane
    assert Quality.GLITCH == lane["quality"]
    assert pytest.approx(-0.6, abs=0.01) == lane["tx_power_dbm"]
    assert ["tx_bias_ma"] == [finding.column for finding in report.findings]
    assert report.findings[0].where.startswith(report.files[0].name + ":2 ")


def test_a_module_comes_with_serial_and_its_own_limits(take: Take, rows: Rows) -> None:
    """Limits in mW become dBm; a module without limits has none."""
    take("ethtool_module.txt")

    modules = {row["interface"]: row for row in rows(MODULES)}
    module = modules["enp65s0f0np0"]
    assert ("LM0000017", "Lumora", "LM-100G-SR4", "QSFP28") == tuple(
        module[name] for name in ("serial", "vendor", "part_number", "form_factor")
    )
    assert pytest.approx(-13.307, abs=0.001) == module["rx_power_low_alarm_dbm"]
    assert (8.5, 70.0) == (module["tx_bias_high_warn_ma"], module["temperature_high_warn_c"])
    assert not [name for name in modules["eno1"] if name.endswith("_dbm")]


def test_json_is_in_milliwatts_and_keeps_a_name_that_stands_twice(read: Read, sample: Callable[[str], str]) -> None:
    """ethtool writes module_temperature twice in one object: the value, then its limits."""
    (reading,) = read(sample("ethtool_module.json"), Given(device="gpu17", interface="eth2", at=AT))

    assert 51.5 == reading.values[0, "temperature_c"]
    assert 72.0 == reading.limits["temperature_c"]["high_warn"]
    assert pytest.approx(1.0, abs=0.001) == reading.values[1, "tx_power_dbm"]
    assert (float("-inf"), 57.4) == (reading.values[3, "rx_power_dbm"], reading.values[2, "tx_bias_ma"])
    assert pytest.approx(-6.9, abs=0.01) == reading.limits["rx_power_dbm"]["low_warn"]


def test_statistics_are_taken_by_the_drivers_own_names(read: Read, sample: Callable[[str], str]) -> None:
    """Of the port's and the queues' packets those of the wire count; what is no number is said."""
    (reading,) = read(sample("ethtool_statistics.txt"))

    assert {
        "in_packets": 123456789,
        "out_packets": 98765432,
        "crc_errors": 3,
        "symbol_errors": 7,
        "link_flaps": 2,
        "read_errors": 1,
    } == reading.counters


def test_statistics_in_json_name_their_port(read: Read, sample: Callable[[str], str]) -> None:
    """FEC bins fill sixteen places."""
    (reading,) = read(sample("ethtool_statistics.json"))

    assert ("enp65s0f0np0", [900, 20, *[0] * 13, 1]) == (reading.interface, reading.fec_bins)


def test_module_and_statistics_of_one_moment_share_their_rows(take: Take, rows: Rows) -> None:
    """A row of one key would else hide the other one's columns."""
    take("ethtool_module.txt", "ethtool_statistics.txt")

    port = next(row for row in rows(PORT_SAMPLES) if row["interface"] == "enp65s0f0np0")
    assert (3, "LM0000017") == (port["crc_errors"], port["serial"])
    assert pytest.approx(3.2871) == port["voltage_v"]


def test_files_of_one_moment_share_their_rows_in_two_imports_too(take: Take, rows: Rows) -> None:
    """Of equal keys the latest row is read: it holds what both files say."""
    take("ethtool_statistics.txt")
    take("ethtool_module.txt")

    port = next(row for row in rows(PORT_SAMPLES) if row["interface"] == "enp65s0f0np0")
    assert (3, "LM0000017") == (port["crc_errors"], port["serial"])
    assert 38.52 == pytest.approx(port["temperature_c"])
