"""Whose sensor is it: how vendors name and hang sensors, as far as is known, and what must not be guessed."""

from collections.abc import Callable
from typing import Any

import pytest

_SENSOR = "1.3.6.1.2.1.99.1.1.1"
CELSIUS, AMPERES, VOLTS, WATTS, DBM = 8, 5, 4, 6, 14
CONTAINER, SUPPLY, PORT = 5, 6, 10

Maker = Callable[..., Any]


def test_eos_lanes_hang_below_the_module_and_count_from_0(device_of: Maker) -> None:
    device = device_of("Ethernet49/1", "Ethernet50/1")
    module = device.entity("Xcvr for Ethernet49/1", kind=CONTAINER, serial="XQB1")
    for lane in range(4):
        parent = device.entity(f"Lane {lane} for Xcvr for Ethernet49/1", module)
        device.sensor("DOM RX Power Sensor for Ethernet49/1", parent, WATTS, 5_000 + lane)

    decoded = device.decode()

    assert [("Ethernet49/1", lane) for lane in (1, 2, 3, 4)] == [(r.interface, r.lane) for r in decoded.readings]
    assert "XQB1" == decoded.inventory["Ethernet49/1"].serial


def test_lanes_that_count_from_1_are_left_as_they_are(device_of: Maker) -> None:
    device = device_of("Ethernet49/1")
    module = device.entity("Xcvr for Ethernet49/1", kind=CONTAINER)
    for lane in range(1, 5):
        parent = device.entity(f"Lane {lane} for Xcvr for Ethernet49/1", module)
        device.sensor("DOM RX Power Sensor for Ethernet49/1", parent, WATTS, 5_000)

    assert {1, 2, 3, 4} == {lane for _, lane, _ in device.values()}


def test_a_cage_named_without_its_first_breakout_port_is_that_port(device_of: Maker) -> None:
    device = device_of("Ethernet49/1")
    module = device.entity("Xcvr for Ethernet49", kind=CONTAINER)
    device.sensor("DOM Temperature Sensor for Ethernet49", module, CELSIUS, 312)
    device.sensor("DOM RX Power Sensor for Ethernet49/1", device.entity("Lane 1 for Xcvr", module), WATTS, 5_000)
    device.sensor("DOM RX Power Sensor for Ethernet49/2", device.entity("Lane 2 for Xcvr", module), WATTS, 4_000)

    assert {
        ("Ethernet49/1", 0, "temperature_c"),
        ("Ethernet49/1", 1, "rx_power_dbm"),
        ("Ethernet49/1", 2, "rx_power_dbm"),
    } == set(device.values())


def test_sonic_numbers_the_lane_behind_the_port(device_of: Maker) -> None:
    device = device_of("Ethernet0", "Ethernet4")
    module = device.entity("Ethernet0", kind=PORT, descr="QSFP28 for Ethernet0", serial="MT1")
    for lane in (1, 2):
        device.sensor(f"DOM RX Power Sensor for Ethernet0/{lane}", module, WATTS, 5_000)
        device.sensor(f"DOM TX Bias Sensor for Ethernet0/{lane}", module, AMPERES, 600)

    assert {("Ethernet0", lane, q) for lane in (1, 2) for q in ("rx_power_dbm", "tx_bias_ma")} == set(device.values())


@pytest.mark.parametrize(
    ("index", "name", "read"),
    [("1000000300", "Ethernet2", True), ("1000000300", "Ethernet3", False), ("300", "Ethernet2", False)],
)
def test_sonic_may_name_front_panel_ports_in_if_mib_alone(device_of: Maker, index: str, name: str, read: bool) -> None:
    """Eth1/3 of IF-MIB is Ethernet2 of ENTITY-MIB where both its number there and its name tell ifIndex 3."""
    device = device_of("Eth1/1", "Eth1/2", "Eth1/3", "Eth1/4")
    module = device.entity(name, kind=PORT, descr=f"QSFP28 for {name}", serial="DL1", index=index)
    device.sensor(f"DOM Temperature Sensor for {name}", module, CELSIUS, 289)
    device.sensor(f"DOM RX Power Sensor for {name}/2", module, WATTS, 8_728)

    expected = {("Eth1/3", 0, "temperature_c"): 28.9, ("Eth1/3", 2, "rx_power_dbm"): pytest.approx(-0.59, abs=0.01)}

    assert (expected if read else {}) == device.values()
    assert read == ("Eth1/3" in device.decode().inventory)


def test_sonic_before_it_told_containment_names_the_port_in_the_sensor_alone(device_of: Maker) -> None:
    device = device_of("Ethernet0")
    device.sensor("DOM TX Power Sensor for Ethernet0/3", 0, WATTS, 5_000)

    assert {("Ethernet0", 3, "tx_power_dbm")} == set(device.values())


def test_a_lane_is_not_taken_for_another_port_of_the_same_text(device_of: Maker) -> None:
    """With the module on Ethernet1, "Ethernet1/2" is its lane 2, though a port of that name exists."""
    device = device_of("Ethernet1", "Ethernet1/2")
    module = device.entity("QSFP28 for Ethernet1", kind=PORT)
    device.sensor("DOM RX Power Sensor for Ethernet1/2", module, WATTS, 5_000)

    assert {("Ethernet1", 2, "rx_power_dbm")} == set(device.values())


def test_ios_xe_gives_an_aggregate_beside_the_lanes(device_of: Maker) -> None:
    device = device_of("Hu1/0/3")
    module = device.entity("HundredGigE1/0/3", kind=PORT, port=1)
    device.sensor("Hu1/0/3 Receive Power Sensor", module, DBM, 45)
    for lane in range(1, 5):
        device.sensor(f"Hu1/0/3 Rx Lane {lane} Power Sensor", module, DBM, -10 - lane)

    values = device.values("cisco_entity_sensor")

    assert {0, 1, 2, 3, 4} == {lane for _, lane, _ in values}
    assert -1.4 == values["Hu1/0/3", 4, "rx_power_dbm"]


def test_the_one_lanes_value_is_not_kept_twice(device_of: Maker) -> None:
    device = device_of("Te1/0/3")
    module = device.entity("TenGigabitEthernet1/0/3", kind=PORT, port=1)
    device.sensor("Te1/0/3 Receive Power Sensor", module, DBM, -23)
    device.sensor("Te1/0/3 Rx Lane 1 Power Sensor", module, DBM, -23)

    assert {("Te1/0/3", 1, "rx_power_dbm")} == set(device.values("cisco_entity_sensor"))


def test_ios_xr_optics_controllers_are_their_ethernet_port(device_of: Maker) -> None:
    device = device_of("Optics0/0/0/1", "HundredGigE0/0/0/1", "HundredGigE0/0/0/2")
    module = device.entity("0/0-Optics0/0/0/1", descr="QSFP28 100G LR4 Pluggable Optics Module", serial="FNS1")
    for lane in range(4):
        device.sensor(f"Rx Power Lane {lane}", module, WATTS, 5_000)

    assert {("HundredGigE0/0/0/1", lane, "rx_power_dbm") for lane in (1, 2, 3, 4)} == set(
        device.values("cisco_entity_sensor")
    )


def test_ios_xe_routers_hang_the_port_below_the_module(device_of: Maker) -> None:
    device = device_of("Te0/0/1", "Te0/0/2")
    module = device.entity("subslot 0/0 transceiver 2", serial="AVD1")
    device.entity("TenGigabitEthernet0/0/2", module, PORT, port=2)
    device.sensor("subslot 0/0 transceiver 2 Rx Power Sensor", module, DBM, -23)

    decoded = device.decode("cisco_entity_sensor")

    assert ["Te0/0/2"] == [r.interface for r in decoded.readings]
    assert "AVD1" == decoded.inventory["Te0/0/2"].serial


def test_ios_xe_routers_may_name_the_slot_alone(device_of: Maker) -> None:
    device = device_of("Te0/0/1", "Te0/1/1", "Gi0")
    module = device.entity("subslot 0/1 transceiver 1")
    device.sensor("subslot 0/1 transceiver 1 Tx Power Sensor", module, DBM, -23)

    assert {("Te0/1/1", 0, "tx_power_dbm")} == set(device.values("cisco_entity_sensor"))


def test_a_line_card_with_a_single_port_is_not_that_port(device_of: Maker) -> None:
    device = device_of("Hu0/0/0")
    card = device.entity("1-port 100G line card")
    module = device.entity("QSFP28 transceiver", card)
    device.entity("HundredGigE0/0/0", module, PORT, port=1)
    device.entity("HundredGigE0/0/0 uplink", card, PORT, port=1)
    device.sensor("Inlet temperature", card, CELSIUS, 500)
    device.sensor("Receive power", module, DBM, -23)

    assert {("Hu0/0/0", 0, "rx_power_dbm")} == set(device.values("cisco_entity_sensor"))


def test_two_sensors_for_one_thing_are_left_out(device_of: Maker) -> None:
    """Which of them is meant cannot be known: no value is better than a wrong one."""
    device = device_of("TenGigE0/0/0/1")
    module = device.entity("TenGigE0/0/0/1", port=1)
    device.sensor("Transceiver Rx Power Sensor", module, WATTS, 5_000)
    device.sensor("Transceiver Rx Power Sensor", module, WATTS, 4_000)
    device.sensor("Transceiver Tx Power Sensor", module, WATTS, 3_000)

    assert {("TenGigE0/0/0/1", 0, "tx_power_dbm")} == set(device.values("cisco_entity_sensor"))


def test_supplies_line_cards_and_ports_without_optics_are_no_transceivers(device_of: Maker) -> None:
    device = device_of("Ethernet1", "Ethernet2")
    supply = device.entity("Power Supply 1", kind=SUPPLY)
    device.sensor("Input power", supply, WATTS, 5_000)
    device.sensor("Output current sensor", supply, AMPERES, 5_000)
    device.sensor("Line card 1 temperature", device.entity("Line card 1"), CELSIUS, 400)
    device.sensor("Ethernet2 PHY temperature", device.entity("Ethernet2", kind=PORT, port=2), CELSIUS, 400)

    assert {} == device.values()


def test_a_power_that_says_neither_rx_nor_tx_is_left_out(device_of: Maker) -> None:
    device = device_of("Ethernet1")
    device.sensor("Ethernet1 optical power", device.entity("Ethernet1", kind=PORT, port=1), DBM, -20)

    assert {} == device.values()


def test_a_sensor_whose_port_is_not_known_is_left_out(device_of: Maker) -> None:
    device = device_of("Ethernet1")
    device.sensor("DOM RX Power Sensor for Ethernet7", 0, WATTS, 5_000)

    assert {} == device.values()


def test_a_sensor_that_is_not_operational_has_no_value(device_of: Maker) -> None:
    device = device_of("Ethernet0")
    module = device.entity("SFP for Ethernet0", kind=PORT)
    device.sensor("DOM RX Power Sensor for Ethernet0/1", module, WATTS, 5_000)
    device.sensor("DOM TX Power Sensor for Ethernet0/1", module, WATTS, 5_000, status=2)

    values = device.values()

    assert values["Ethernet0", 1, "rx_power_dbm"] is not None
    assert values["Ethernet0", 1, "tx_power_dbm"] is None


@pytest.mark.parametrize("column", [1, 2, 3])
def test_a_value_without_its_unit_scale_or_precision_means_nothing(device_of: Maker, column: int) -> None:
    device = device_of("Ethernet0")
    device.sensor("DOM RX Power Sensor for Ethernet0/1", device.entity("SFP for Ethernet0"), WATTS, 5_000)
    device.cells[f"{_SENSOR}.{column}"] = {}

    assert {} == device.values()


def test_dbm_may_be_told_by_the_display_text(device_of: Maker) -> None:
    """ENTITY-SENSOR-MIB has no dBm: agents say other(1) and the text "dBm"."""
    device = device_of("Ethernet0")
    device.sensor("DOM RX Power Sensor for Ethernet0/1", device.entity("SFP for Ethernet0"), 1, -23)
    device.cells[f"{_SENSOR}.6"] = dict.fromkeys(device.cells[f"{_SENSOR}.4"], b"dBm")

    assert {("Ethernet0", 1, "rx_power_dbm"): -2.3} == device.values()
