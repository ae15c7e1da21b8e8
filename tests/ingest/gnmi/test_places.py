"""Which port a component is, by what devices call them; and what shares a cage."""

import pytest

from ingest.gnmi.places import Facts, Places
from ingest.gnmi.values import Value


@pytest.mark.parametrize(
    ("component", "port"),
    [
        ("Ethernet49 transceiver", "Ethernet49/1"),
        ("Ethernet3/1 transceiver", "Ethernet3/1"),
        ("FPC0:PIC1:PORT3:Xcvr0", "et-0/1/3"),
        ("0/0/0/5-Optics0/0/0/5", "HundredGigE0/0/0/5"),
        ("Optics0/0/0/5", "HundredGigE0/0/0/5"),
        ("transceiver-1/7", "ethernet-1/7"),
        ("ethernet-1/7", "ethernet-1/7"),
        ("Ethernet44", "Ethernet44"),
        ("transceiver_Ethernet44", "Ethernet44"),
        ("swp5-transceiver", "swp5"),
        ("CPU0", None),
        ("Ethernet99 transceiver", None),
    ],
)
def test_a_component_is_the_port_that_its_name_means(component: str, port: str | None) -> None:
    ports = [
        "Ethernet49/1",
        "Ethernet49/2",
        "Ethernet3/1",
        "et-0/1/3",
        "HundredGigE0/0/0/5",
        "ethernet-1/7",
        "Ethernet44",
        "swp5",
    ]

    places = Places(Facts({}), ports, [component])

    assert port == places.cage("component", component)
    assert ([component] if port is None else []) == places.unplaced


def test_what_the_device_says_goes_over_names() -> None:
    told: dict[tuple[str, str, str, str], Value] = {
        ("interface", "Ethernet2", "transceiver", ""): "Ethernet1 transceiver",
        ("component", "module 7", "parent", ""): "port 7",
        ("interface", "Ethernet3", "hardware_port", ""): "port 7",
    }

    places = Places(Facts(told), ["Ethernet1"], ["Ethernet1 transceiver", "module 7"])

    assert "Ethernet2" == places.cage("component", "Ethernet1 transceiver")
    assert "Ethernet3" == places.cage("component", "module 7")


def test_ports_of_one_numbered_cage_are_the_first_of_them() -> None:
    """SONiC numbers its cages; a breakout's ports have one number (row 19)."""
    told: dict[tuple[str, str, str, str], Value] = {
        ("interface", name, "cage", ""): cage
        for name, cage in (("Ethernet8", "2"), ("Ethernet10", "2"), ("Ethernet0", "1"))
    }

    places = Places(Facts(told), [], [])

    assert ["Ethernet8", "Ethernet8", "Ethernet0"] == [
        places.cage("interface", name) for name in ("Ethernet8", "Ethernet10", "Ethernet0")
    ]


def test_without_any_port_a_component_is_called_by_its_own_name() -> None:
    assert "Ethernet49" == Places(Facts({}), [], ["Ethernet49 transceiver"]).cage("component", "Ethernet49 transceiver")
