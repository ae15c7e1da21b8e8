"""Sensors that are easily put in the wrong port, lane or module: what EOS and IOS-XR do with cages and breakouts."""

from collections.abc import Callable
from typing import Any

import pytest

CELSIUS, AMPERES, WATTS, DBM = 8, 5, 6, 14
CONTAINER = 5

Maker = Callable[..., Any]


def test_eos_names_a_modules_lanes_after_breakout_ports_that_may_not_be_in_use(device_of: Maker) -> None:
    """The module stays one, in its first port: Ethernet49/2 and on are lanes 2 and on of Ethernet49/1."""
    device = device_of("Ethernet49/1", "Ethernet49/2", "Ethernet49/3", "Ethernet49/4", "Ethernet50/1", "Ethernet50/2")
    module = device.entity("Xcvr for Ethernet49", kind=CONTAINER, serial="XQB1")
    device.sensor("DOM Temperature Sensor for Ethernet49", module, CELSIUS, 312)
    for lane in range(4):
        parent = device.entity(f"Lane {lane} for Xcvr for Ethernet49", module)
        device.sensor(f"DOM RX Power Sensor for Ethernet49/{lane + 1}", parent, WATTS, 5_000 + lane)

    lanes = {("Ethernet49/1", lane, "rx_power_dbm") for lane in (1, 2, 3, 4)}

    assert {("Ethernet49/1", 0, "temperature_c"), *lanes} == set(device.values())
    assert ["Ethernet49/1"] == list(device.decode().inventory)


def test_breakout_ports_whose_sensors_number_their_own_lane_stay_apart(device_of: Maker) -> None:
    """NX-OS: "Ethernet1/50/2 Lane 1" is lane 1 of Ethernet1/50/2."""
    device = device_of("Ethernet1/50/1", "Ethernet1/50/2")
    module = device.entity("Ethernet1/50 transceiver", serial="FNS50")
    for number in (1, 2):
        device.sensor(f"Ethernet1/50/{number} Lane 1 Transceiver Receive Power Sensor", module, DBM, -20 - number)

    expected = {("Ethernet1/50/1", 1, "rx_power_dbm"): -2.1, ("Ethernet1/50/2", 1, "rx_power_dbm"): -2.2}

    assert expected == device.values("cisco_entity_sensor")


def _xr_module(device: Any, name: str, serial: str) -> Any:
    module = device.entity(name, serial=serial)
    device.entity(f"{name}-IDPROM", module, serial=serial)
    for lane in range(2):
        device.sensor(f"{name}-Tx Lane {lane} Current", module, AMPERES, 3_000)
        device.sensor(f"{name}-Rx Lane {lane} Power", module, WATTS, 5_000 + lane)
    return module


def test_ios_xr_puts_the_port_before_a_dash_and_counts_lanes_from_0(device_of: Maker) -> None:
    device = device_of("HundredGigE0/0/0/29", "TenGigE0/0/0/18")
    module = _xr_module(device, "HundredGigE0/0/0/29", "FNS29")
    device.sensor("HundredGigE0/0/0/29-Temperature Sensor", module, CELSIUS, 312)
    expected = {("HundredGigE0/0/0/29", lane, q) for lane in (1, 2) for q in ("rx_power_dbm", "tx_bias_ma")}

    assert {("HundredGigE0/0/0/29", 0, "temperature_c"), *expected} == set(device.values("cisco_entity_sensor"))


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        (("TwentyFiveGigE0/0/0/28/1", "TwentyFiveGigE0/0/0/28/0"), "TwentyFiveGigE0/0/0/28/0"),  # broken out
        (("FortyGigE0/0/0/28",), "FortyGigE0/0/0/28"),  # of another speed
        (("HundredGigE0/0/0/28", "Optics0/0/0/28"), "HundredGigE0/0/0/28"),
    ],
)
def test_ios_xr_names_a_module_after_its_own_speed(device_of: Maker, ports: tuple[str, ...], expected: str) -> None:
    device = device_of(*ports, "HundredGigE0/0/0/2")
    _xr_module(device, "HundredGigE0/0/0/28", "FNS28")

    assert {expected} == {interface for interface, _, _ in device.values("cisco_entity_sensor")}


def test_a_module_and_its_idprom_are_one(device_of: Maker) -> None:
    """Also where neither has a sensor, as copper has none."""
    device = device_of("TenGigE0/0/0/18")
    device.entity("TenGigE0/0/0/18-IDPROM", device.entity("TenGigE0/0/0/18", serial="CU18"), serial="CU18")

    assert "CU18" == device.decode("cisco_entity_sensor").inventory["TenGigE0/0/0/18"].serial


def test_two_serial_numbers_in_one_port_are_none(device_of: Maker) -> None:
    device = device_of("TenGigE0/0/0/18")
    device.entity("TenGigE0/0/0/18 converter", device.entity("TenGigE0/0/0/18", serial="A1"), serial="B2")

    assert {} == device.decode("cisco_entity_sensor").inventory


@pytest.mark.parametrize("name", ["RxPower", "rx_power", "Receive Power", "Input Optical Power", "RX1 Power"])
def test_the_receiver_is_told_in_many_ways(device_of: Maker, name: str) -> None:
    device = device_of("Ethernet1")
    device.sensor(f"Ethernet1 {name}", device.entity("Ethernet1", port=1), DBM, -23)

    assert ["rx_power_dbm"] == [quantity for _, _, quantity in device.values("cisco_entity_sensor")]


@pytest.mark.parametrize("name", ["PoE output power", "Inline Power input", "Power Supply output power"])
def test_electric_power_of_a_port_is_no_light(device_of: Maker, name: str) -> None:
    device = device_of("Ethernet1")
    module = device.entity("Ethernet1", port=1)
    device.sensor("Ethernet1 Rx Power", module, DBM, -23)
    device.sensor(f"Ethernet1 {name}", module, WATTS, 50_000)

    assert {("Ethernet1", 0, "rx_power_dbm"): -2.3} == device.values("cisco_entity_sensor")


_HUAWEI = "1.3.6.1.4.1.2011.5.25.31.1.1.3.1"


def _huawei(device: Any, *powers: tuple[int, int]) -> Any:
    """Ports with a module each, that tell rx and tx in the columns of before there were lanes."""
    for port, (received, sent) in enumerate(powers, 1):
        entity = device.entity(f"XGigabitEthernet0/0/{port}", kind=10)
        for column, cell in ((5, 40), (6, 3300), (7, 6000), (8, received), (9, sent), (13, -1400)):
            device._put(f"{_HUAWEI}.{column}", entity, cell)
    return device


def test_old_huawei_devices_tell_microwatts(device_of: Maker) -> None:
    device = _huawei(device_of("XGigabitEthernet0/0/1", "XGigabitEthernet0/0/2"), (500, 562), (0, 631))
    powers = {key[::2]: value for key, value in device.values("huawei_vrp").items() if "power" in key[2]}

    assert pytest.approx(-3.0103, abs=1e-4) == powers["XGigabitEthernet0/0/1", "rx_power_dbm"]
    assert pytest.approx(-1.9997, abs=1e-4) == powers["XGigabitEthernet0/0/2", "tx_power_dbm"]
    assert powers["XGigabitEthernet0/0/2", "rx_power_dbm"] == -40.0
    assert {"rx_power_low_alarm_dbm": -14.0} == dict(device.decode("huawei_vrp").map.limits["XGigabitEthernet0/0/1"])


def test_a_huawei_device_with_a_negative_power_tells_all_of_them_in_dbm(device_of: Maker) -> None:
    device = _huawei(device_of("XGigabitEthernet0/0/1", "XGigabitEthernet0/0/2"), (-312, 105), (-1, 98))
    powers = {key[::2]: value for key, value in device.values("huawei_vrp").items() if "power" in key[2]}

    assert pytest.approx(-3.12) == powers["XGigabitEthernet0/0/1", "rx_power_dbm"]
    assert pytest.approx(1.05) == powers["XGigabitEthernet0/0/1", "tx_power_dbm"]
    assert pytest.approx(0.98) == powers["XGigabitEthernet0/0/2", "tx_power_dbm"]
    assert powers["XGigabitEthernet0/0/2", "rx_power_dbm"] is None


def test_a_single_huawei_module_without_a_negative_power_does_not_tell_its_unit(device_of: Maker) -> None:
    device = _huawei(device_of("XGigabitEthernet0/0/1"), (133, 252))

    assert {"temperature_c", "voltage_v", "tx_bias_ma"} == {key[2] for key in device.values("huawei_vrp")}


def test_lanes_of_huawei_are_not_told_twice(device_of: Maker) -> None:
    device = _huawei(device_of("XGigabitEthernet0/0/1"), (-250, -110))
    device._put(f"{_HUAWEI}.32", 101, b"-250.11")
    device._put(f"{_HUAWEI}.33", 101, b"")
    powers = {key: value for key, value in device.values("huawei_vrp").items() if "power" in key[2]}
    expected = {
        ("XGigabitEthernet0/0/1", 1, "rx_power_dbm"): -2.5011,
        ("XGigabitEthernet0/0/1", 0, "tx_power_dbm"): -1.1,
    }

    assert expected == pytest.approx(powers)


_MIKROTIK, _IF_MIB_NAME = "1.3.6.1.4.1.14988.1.1.19.1.1", "1.3.6.1.2.1.31.1.1.1.1"


def _mikrotik(device: Any, index: int, name: bytes) -> Any:
    for column, cell in ((2, name), (6, 41), (7, 3305), (8, 9), (9, -4512), (10, -6021)):
        device._put(f"{_MIKROTIK}.{column}", index, cell)
    return device


def test_a_port_that_the_table_itself_names_needs_no_row_in_if_mib(device_of: Maker) -> None:
    """RouterOS: IF-MIB without the ports that are not in use."""
    device = _mikrotik(device_of("ether1"), 25, b"sfp7")
    expected = {"temperature_c": 41.0, "voltage_v": 3.305, "tx_bias_ma": 9.0}
    expected |= {"tx_power_dbm": -4.512, "rx_power_dbm": -6.021}

    assert {("sfp7", 0, quantity): value for quantity, value in expected.items()} == device.values("mikrotik")
    assert device.decode("mikrotik").states["sfp7"].oper_up is None


def test_a_row_without_a_name_anywhere_is_left_out(device_of: Maker) -> None:
    assert {} == _mikrotik(device_of("ether1"), 25, b"").values("mikrotik")
