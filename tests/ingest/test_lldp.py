"""Neighbours over LLDP: who is at the other end, and no answer rather than a wrong one."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.decode.interfaces import IF_COLUMNS, Interfaces
from ingest.decode.lldp import LLDP_PROBES, Lldp, Neighbour, walk_lldp
from ingest.decode.lldp_text import id_text, looks_like_port, same_port
from ingest.snmp.transport import Cell, Column, ReplayTransport

V1, V2 = "1.0.8802.1.1.2.1", "1.3.111.2.802.1.1.13.1"
RECORDINGS = Path(__file__).parents[3] / "shared" / "recordings" / "snmp"
MAC = bytes.fromhex("0c42a1000001")


def walked(cells: dict[str, Cell]) -> tuple[Lldp, list[str]]:
    """What LLDP says in these cells, and the columns that were walked for it."""
    transport, asked = ReplayTransport(cells), []

    async def walk(column: str) -> Column:
        asked.append(column)
        return await transport.walk(column)

    async def both() -> Lldp:
        found = await walk_lldp(walk)
        return Lldp.of(found, Interfaces.of({column: await transport.walk(column) for column in IF_COLUMNS}))

    return asyncio.run(both()), asked


def ports(**names: str) -> dict[str, Cell]:
    """IF-MIB of Ethernet ports: ``_7="Ethernet1"`` has ifIndex 7."""
    cells: dict[str, Cell] = {}
    for index, name in names.items():
        cells[f"1.3.6.1.2.1.31.1.1.1.1.{index[1:]}"] = name.encode()
        cells[f"1.3.6.1.2.1.2.2.1.3.{index[1:]}"] = 6
    return cells


def local(number: int, sent: bytes, kind: int = 5, description: bytes = b"") -> dict[str, Cell]:
    """One row of lldpLocPortTable."""
    return {f"{V1}.3.7.1.{column}.{number}": value for column, value in ((2, kind), (3, sent), (4, description))}


def remote(
    index: str, port: bytes, kind: int = 5, *, name: bytes = b"spine01", description: bytes = b"", chassis: bytes = MAC
) -> dict[str, Cell]:
    """One row of lldpRemTable."""
    row: tuple[Cell, ...] = (4, chassis, kind, port, description, name)
    return {f"{V1}.4.1.1.{column}.{index}": value for column, value in enumerate(row, 4)}


def test_a_device_without_lldp_costs_four_walks() -> None:
    lldp, asked = walked(ports(_1="Ethernet1"))

    assert Lldp() == lldp
    assert [column for probes in LLDP_PROBES for column in probes] == asked


def test_the_local_port_is_the_one_that_its_table_names_not_the_one_of_that_ifindex() -> None:
    cells = ports(_1="Ethernet1", _2="Ethernet2") | local(1, b"Ethernet2") | remote("0.1.9", b"Ethernet5")

    lldp, _ = walked(cells)

    assert [("Ethernet2", "spine01", "Ethernet5")] == [
        (one.interface, one.peer_device, one.peer_interface) for one in lldp.neighbours
    ]


@pytest.mark.parametrize(
    ("sent", "kind", "description"),
    [
        (b"uplink", 1, b"Ethernet2"),
        (b"2", 7, b""),
        (bytes.fromhex("001c73000002"), 3, b""),
        (b"00 1C 73 00 00 02", 3, b"x"),
    ],
    ids=["description", "ifIndex in both", "MAC", "MAC as text"],
)
def test_a_local_port_is_also_known_by(sent: bytes, kind: int, description: bytes) -> None:
    macs: dict[str, Cell] = {f"1.3.6.1.2.1.2.2.1.6.{index}": bytes.fromhex(f"001c7300000{index}") for index in (1, 2)}
    cells = ports(_1="Ethernet1", _2="Ethernet2") | macs | local(2, sent, kind, description) | remote("0.2.1", b"Eth9")

    lldp, _ = walked(cells)

    assert ["Ethernet2"] == [one.interface for one in lldp.neighbours]


def test_a_local_port_that_nothing_names_gives_no_link_though_its_number_is_an_ifindex() -> None:
    cells = ports(_1="Ethernet1", _2="Ethernet2") | local(1, b"uplink", 1) | remote("0.1.1", b"Ethernet5")

    lldp, _ = walked(cells)

    assert [] == lldp.neighbours
    assert ["neighbours at local ports that the device does not name: 1"] == lldp.doubts


def test_a_number_is_an_ifindex_where_all_other_ports_of_the_device_prove_it() -> None:
    names = ports(_1="Ethernet1", _2="Ethernet2")

    lldp, _ = walked(names | local(1, b"Ethernet1") | local(2, b"uplink", 1) | remote("0.2.1", b"Ethernet5"))

    assert ["Ethernet2"] == [one.interface for one in lldp.neighbours]


def test_a_mac_that_all_ports_share_names_none_of_them() -> None:
    shared: dict[str, Cell] = {f"1.3.6.1.2.1.2.2.1.6.{index}": MAC for index in (1, 2)}

    lldp, _ = walked(ports(_1="Ethernet1", _2="Ethernet2") | shared | local(7, MAC, 3) | remote("0.7.1", b"Ethernet5"))

    assert [] == lldp.neighbours


@pytest.mark.parametrize(
    ("port", "kind", "description", "expected"),
    [
        (b"Te1/3", 5, b"TenGigabitEthernet1/3", "Te1/3"),
        (b"612", 7, b"ge-0/1/2", "ge-0/1/2"),
        (b"to leaf01", 1, b"Ethernet7/1", "Ethernet7/1"),
        (b"612", 7, b"to leaf01", "612"),
        (MAC, 3, b"enp59s0f0np0", "enp59s0f0np0"),
        (MAC, 3, b"PCI-E Slot 3, Port 1", "0c:42:a1:00:00:01"),
        (b"", 5, b"Ethernet7", "Ethernet7"),
    ],
)
def test_the_peers_port_is_named_by_its_id_or_by_a_description_that_is_a_ports_name(
    port: bytes, kind: int, description: bytes, expected: str
) -> None:
    cells = ports(_1="Ethernet1") | local(1, b"Ethernet1") | remote("0.1.1", port, kind, description=description)

    lldp, _ = walked(cells)

    assert [expected] == [one.peer_interface for one in lldp.neighbours]


@pytest.mark.parametrize("name", [b"", b"localhost", b"(none)"])
def test_an_adapter_that_does_not_say_its_hosts_name_is_known_by_its_mac(name: bytes) -> None:
    lldp, _ = walked(ports(_1="Ethernet1") | local(1, b"Ethernet1") | remote("0.1.1", MAC, 3, name=name))

    mac = "0c:42:a1:00:00:01"
    assert [Neighbour("Ethernet1", mac, mac, mac, mac)] == lldp.neighbours


def test_what_an_adapters_firmware_and_its_host_say_of_one_port_is_one_neighbour() -> None:
    firmware = remote("0.1.1", MAC, 3, name=b"")
    host = remote("0.1.2", MAC, 3, name=b"gpu01", description=b"enp59s0f0np0", chassis=bytes.fromhex("aabbccddeeff"))

    lldp, _ = walked(ports(_1="Ethernet1") | local(1, b"Ethernet1") | firmware | host)

    assert [("gpu01", "enp59s0f0np0")] == [(one.peer_device, one.peer_interface) for one in lldp.neighbours]


def test_several_neighbours_at_one_port_are_no_link_and_said() -> None:
    hub = remote("0.1.1", b"Ethernet5") | remote("0.1.2", b"eth0", name=b"vm07")

    lldp, _ = walked(ports(_1="Ethernet1") | local(1, b"Ethernet1") | hub)

    assert [] == lldp.neighbours
    assert ["Ethernet1 sees several neighbours, so none is the other end: spine01 Ethernet5, vm07 eth0"] == lldp.doubts


def test_a_neighbour_without_any_name_is_no_link_and_said() -> None:
    cells = ports(_1="Ethernet1") | local(1, b"Ethernet1") | remote("0.1.1", b"", 3, name=b"", chassis=b"")

    lldp, _ = walked(cells)

    assert [] == lldp.neighbours
    assert ["neighbours do not say who they are, or at which port, at Ethernet1"] == lldp.doubts


def test_management_ports_have_no_links() -> None:
    lldp, _ = walked(ports(_1="Management1") | local(1, b"Management1") | remote("0.1.1", b"Ethernet5"))

    assert [] == lldp.neighbours


def test_the_ports_of_a_breakout_have_a_neighbour_each() -> None:
    names = ports(_1="Ethernet1/1", _2="Ethernet1/2") | local(1, b"Ethernet1/1") | local(2, b"Ethernet1/2")

    lldp, _ = walked(names | remote("0.1.1", b"eth0", name=b"gpu01") | remote("0.2.1", b"eth0", name=b"gpu02"))

    assert [("Ethernet1/1", "gpu01"), ("Ethernet1/2", "gpu02")] == [
        (one.interface, one.peer_device) for one in lldp.neighbours
    ]


def test_lldp_v2_numbers_ports_by_ifindex_and_has_its_columns_one_further_on() -> None:
    row: tuple[Cell, ...] = (5, b"\x01\x0a\x00\x00\x07", 5, b"Ethernet5", b"", b"")
    cells = ports(_7="Ethernet1") | {f"{V2}.4.1.1.{column}.123.7.1.44": value for column, value in enumerate(row, 5)}
    own: dict[str, Cell] = {f"{V2}.3.1.0": 4, f"{V2}.3.2.0": MAC, f"{V2}.3.3.0": b"leaf01.example.net"}

    lldp, _ = walked(cells | own | {f"{V2}.3.7.1.2.7": 7, f"{V2}.3.7.1.3.7": b"507"})

    assert [Neighbour("Ethernet1", "10.0.0.7", "Ethernet5", "10.0.0.7", "Ethernet5")] == lldp.neighbours
    assert ("0c:42:a1:00:00:01", "leaf01.example.net", {"507": "Ethernet1"}) == (
        lldp.chassis,
        lldp.sys_name,
        lldp.ports,
    )


def test_the_same_neighbour_under_two_destination_addresses_is_one() -> None:
    row: tuple[Cell, ...] = (4, MAC, 5, b"Ethernet5", b"", b"spine01")
    cells = ports(_7="Ethernet1")
    for destination in (1, 3):
        cells |= {f"{V2}.4.1.1.{column}.0.7.{destination}.44": value for column, value in enumerate(row, 5)}

    lldp, _ = walked(cells)

    assert 1 == len(lldp.neighbours)


@pytest.mark.parametrize("index", ["8", "0.0.8"])
def test_routeros_has_the_local_port_in_its_own_table(index: str) -> None:
    cells = ports(_15="sfp-sfpplus15") | remote(index, b"sfp1") | {"1.3.6.1.4.1.14988.1.1.11.1.1.8.8": 15}

    lldp, _ = walked(cells)

    assert ["sfp-sfpplus15"] == [one.interface for one in lldp.neighbours]


def test_ids_read_alike_however_they_were_written() -> None:
    spellings = (MAC, b"0C:42:A1:00:00:01", b"0c42.a100.0001", b"0C 42 A1 00 00 01")

    assert {"0c:42:a1:00:00:01"} == {id_text(spelling, mac=True) for spelling in spellings}
    assert ("00:ff:10", "") == (id_text(b"\x00\xff\x10"), id_text(None))
    assert "fe80::1" == id_text(b"\x02" + bytes.fromhex("fe80" + 13 * "00" + "01"), address=True)


@pytest.mark.parametrize(
    "text", ["Ethernet1/1", "swp12", "eth0", "xe-0/0/1", "Eth49(Port49)", "Port 3", "FortyGigE1/0/49"]
)
def test_a_ports_name_is_known_as_one(text: str) -> None:
    assert looks_like_port(text)


@pytest.mark.parametrize("text", ["", "Guest", "spine01", "to spine01 Ethernet5", "100G uplink", "rack 12"])
def test_what_somebody_wrote_is_not_a_ports_name(text: str) -> None:
    assert not looks_like_port(text)


def test_a_port_is_the_same_only_where_its_number_is() -> None:
    assert same_port("Hu0/0/0/1", "HundredGigE0/0/0/1")
    assert not same_port("ge-0/0/1", "xe-0/0/1")
    assert not same_port("Ethernet1/1", "Ethernet1/11")
    assert not same_port("uplink", "uplinks")


@pytest.fixture(name="recorded")
def _recorded() -> Callable[[str], Lldp]:
    def read(name: str) -> Lldp:
        walk = RECORDINGS / f"{name}.snmprec"
        if not walk.is_file():
            pytest.skip(f"no recording {walk.name} beside the repository")
        transport = ReplayTransport.read(walk)

        async def both() -> Lldp:
            cells = {column: await transport.walk(column) for column in IF_COLUMNS}
            return Lldp.of(await walk_lldp(transport.walk), Interfaces.of(cells))

        return asyncio.run(both())

    return read


@pytest.mark.device
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "arista-eos",
            {
                *(
                    (f"Ethernet{port}", f"00:1b:21:bb:e6:{mac}", f"00:1b:21:bb:e6:{mac}")
                    for port, mac in ((1, "f0"), (3, "ea"), (5, "f6"), (6, "f5"))
                ),
                ("Ethernet47", "3750E-Estudio1.example.net", "TenGigabitEthernet1/0/1"),
                ("Ethernet48", "4900M-CORE.example.net", "Te1/3"),
            },
        ),
        ("dell-z9100", {("hundredGigE 1/32", "swrr309a", "hundredGigE 1/9")}),
        (
            "juniper-mx5",
            {
                ("xe-0/0/1", "lab-er2", "xe-0/0/1"),
                ("ge-1/1/0", "lab-s1", "ge-0/1/2"),
                ("ge-1/1/9", "lab-s1", "ge-0/0/0"),
                ("xe-0/0/0", "lab-er100.lab.local", "TenGigE0/0/0/20"),
            },
        ),
        ("mikrotik-crs317", {("ether1", "router.jason.corp.local", "Phones")}),
        ("huawei-s5720", set()),
    ],
)
def test_a_recorded_device_has_these_neighbours(
    name: str, expected: set[tuple[str, str, str]], recorded: Callable[[str], Lldp]
) -> None:
    lldp = recorded(name)

    assert expected == {(one.interface, one.peer_device, one.peer_interface) for one in lldp.neighbours}


@pytest.mark.device
def test_a_recorded_sonic_names_its_ports_by_ifname_and_counts_who_did_not_name_themselves(
    recorded: Callable[[str], Lldp],
) -> None:
    lldp = recorded("edgecore-sonic")

    ends = {one.interface: one.peer_interface for one in lldp.neighbours}
    assert ("Te1/1/4", "Eth53(Port53)") == (ends["Eth44/4(Port47)"], ends["Eth51(Port51)"])
    assert (8, 1) == (len(ends), len(lldp.doubts))


@pytest.mark.device
def test_recorded_trunks_with_several_neighbours_are_said(recorded: Callable[[str], Lldp]) -> None:
    doubts = recorded("mikrotik-crs317").doubts

    assert {f"sfp-sfpplus{port}" for port in (13, 14, 15, 16)} == {doubt.split()[0] for doubt in doubts}
