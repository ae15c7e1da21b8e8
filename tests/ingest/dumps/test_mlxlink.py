"""``mlxlink``, as JSON and as text."""

from collections.abc import Callable
from typing import Any

from ingest.dumps import Reading, rows_of

Read = Callable[..., list[Reading]]
Sample = Callable[[str], str]


def test_json_tells_port_module_and_limits(read: Read, sample: Sample) -> None:
    """The port is the device of the command before the JSON; millivolts become volts; limits follow the values."""
    (reading,) = read(sample("mlxlink.json"))

    assert ("mlx5_3", True, 400.0) == (reading.interface, reading.states["oper_up"], reading.module["speed_gbps"])
    assert ("LM0000801", "OSFP", "47.171.1") == tuple(
        reading.module[name] for name in ("serial", "form_factor", "firmware")
    )
    assert (53.0, 3.2685) == (reading.values[0, "temperature_c"], reading.values[0, "voltage_v"])
    assert {"low_alarm": 2.97, "high_alarm": 3.63} == reading.limits["voltage_v"]
    assert {"low_alarm": -9.9, "high_alarm": 7.0} == reading.limits["rx_power_dbm"]
    assert {"rx_los": True, "cdr_lol": False, "oper_up": True} == reading.states


def test_a_ratio_that_was_not_measured_is_null(read: Read, sample: Sample) -> None:
    """15E-255 is no bit error ratio; lanes are the module's where it has as many."""
    (reading,) = read(sample("mlxlink.json"))

    ratios = {lane: value for (lane, quantity), value in reading.values.items() if quantity == "pre_fec_ber"}
    assert {0: 5e-9, 1: 1e-10, 3: 2e-8, 4: 7e-11} == ratios
    assert {"symbol_errors": 4, "link_flaps": 3} == reading.counters


def test_no_light_no_value_and_no_number_are_three_things(read: Read, sample: Sample, quarantine: Any) -> None:
    """-40 dBm is a reading, N/A is none, and anything else is said."""
    judged = rows_of(read(sample("mlxlink.json")), source="agent")

    lanes = {row["lane"]: row for row in judged.lanes}
    assert (-40.0, False) == (lanes[2]["rx_power_dbm"], "rx_power_dbm" in lanes[4])
    assert ["Tx Power Current [dBm]"] == [finding.column for finding in quarantine.findings]
    assert {"agent"} == {row["source"] for row in (*judged.lanes, *judged.ports)}


def test_text_tells_the_same(read: Read, sample: Sample) -> None:
    """A device below /dev/mst is called by its last name."""
    (reading,) = read(sample("mlxlink.txt"))

    assert ("mt4129_pciconf0", 400.0) == (reading.interface, reading.module["speed_gbps"])
    assert (60.4, 0.5) == (reading.values[4, "tx_bias_ma"], reading.values[1, "rx_power_dbm"])
    assert (2e-8, 1) == (reading.values[0, "pre_fec_ber"], reading.counters["link_flaps"])
