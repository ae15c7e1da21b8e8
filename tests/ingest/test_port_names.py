"""Which port a text names: as vendors write it, and none where it names two or none."""

import pytest

from ingest.decode.interfaces import Interfaces, Mention

_IF, _IFX = "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1.1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DOM RX Power Sensor for Ethernet49/1", Mention(2)),
        ("DOM RX Power Sensor for Ethernet1/4", Mention(1, 4)),
        ("Ethernet1 Lane 1 Transceiver Voltage Sensor", Mention(1)),
        ("te 1/1/1 rx", Mention(3)),
        ("0/0-HundredGigE0/0/0/1", Mention(4)),
        ("0/0-HundredGigE0/0/0/1-Rx Power", Mention(4)),
        ("module in (HundredGigE0/0/0/1)", Mention(4)),
        ("Ethernet1 Ethernet49/1", None),
        ("Temp sensor 1", None),
        ("", None),
    ],
)
def test_a_text_names_one_port_or_none(text: str, expected: Mention | None) -> None:
    names = ["Ethernet1", "Ethernet49/1", "Te 1/1/1", "HundredGigE0/0/0/1", "1"]
    ports = Interfaces.of({_IFX: {str(i): name.encode() for i, name in enumerate(names, 1)}})

    assert expected == ports.mention(text)


def test_virtual_interfaces_are_no_cages() -> None:
    ports = Interfaces.of({_IFX: {"1": b"Port-Channel1", "2": b"Ethernet1"}, f"{_IF}.3": {"1": 161, "2": 6}})

    assert {2: "Ethernet1"} == ports.names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0/0-Optics0/0/0/1-Rx Power", Mention(1)),  # the controller of a port, whether or not IF-MIB has it
        ("TenGigE0/0/0/1", Mention(1)),  # as the module is named, not as the port runs
        ("HundredGigE0/0/0/2", Mention(2)),  # broken out: the cage is known by its first port
        ("HundredGigE0/0/0/4", None),
        ("GigabitEthernet0/0", None),
    ],
)
def test_ios_xrs_ports_are_found_by_their_slot(text: str, expected: Mention | None) -> None:
    names = ["HundredGigE0/0/0/1", "TenGigE0/0/0/2/0", "TenGigE0/0/0/2/1", "TenGigE0/0/0/3", "GigabitEthernet0/0/0"]
    ports = Interfaces.of({_IFX: {str(i): name.encode() for i, name in enumerate(names, 1)}})

    assert expected == ports.mention(text)
