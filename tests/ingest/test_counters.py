"""Counters beside the readings: of the standard MIBs for every device, of a vendor's own where it has some."""

import pytest

from ingest.decode.discover import columns_to_walk, decode
from ingest.decode.profile import COMMON, load_profile, profiles
from ingest.decode.slots import COUNTERS
from ingest.snmp.transport import Cell, Column

OPTICAL, MIKROTIK = "1.3.6.1.4.1.14988.1.1.19.1.1", "1.3.6.1.4.1.14988.1.1.14.1.1"
ETHERLIKE, ETHERLIKE_64, MAU = "1.3.6.1.2.1.10.7.2.1", "1.3.6.1.2.1.10.7.11.1", "1.3.111.2.802.3.1.13.1.2.1.1"


def device(*ports: str, columns: dict[str, Column] | None = None) -> dict[str, Column]:
    """A MikroTik with a lit module in each port."""
    rows = {str(i): name.encode() for i, name in enumerate(ports, 1)}
    lit: dict[str, Cell] = dict.fromkeys(rows, -2000)
    cells: dict[str, Column] = {
        "1.3.6.1.2.1.31.1.1.1.1": {**rows},
        f"{OPTICAL}.2": {**rows},
        f"{OPTICAL}.10": lit,
    }
    return cells | (columns or {})


def counted(cells: dict[str, Column], profile: str = "mikrotik") -> dict[str, dict[str, int]]:
    """Counters by port, as far as there are any."""
    decoded = decode(cells, load_profile(profile))
    return {
        port: {name: int(n) for name, n in zip(COUNTERS, row, strict=True) if n >= 0}
        for port, row in zip(decoded.map.ports, decoded.snapshot.counters, strict=True)
    }


def test_the_64_bit_counter_is_taken_where_a_port_has_one_and_the_other_where_it_has_not() -> None:
    cells = device("sfp1", "sfp2", columns={f"{ETHERLIKE}.3": {"1": 5, "2": 6}, f"{ETHERLIKE_64}.2": {"1": 2**40}})

    assert {"sfp1": {"crc_errors": 2**40}, "sfp2": {"crc_errors": 6}} == counted(cells)


def test_symbol_errors_and_packets_are_counted() -> None:
    packets: dict[str, Column] = {"1.3.6.1.2.1.31.1.1.1.7": {"1": 70}, "1.3.6.1.2.1.31.1.1.1.11": {"1": 110}}
    cells = device("sfp1", columns=packets | {f"{ETHERLIKE}.18": {"1": 9}})

    assert {"sfp1": {"symbol_errors": 9, "in_packets": 70, "out_packets": 110}} == counted(cells)


def test_fec_blocks_are_told_by_port_and_mau() -> None:
    cells = device("sfp1", columns={f"{MAU}.17": {"1.1": 1200}, f"{MAU}.18": {"1.1": 3}})

    assert {"sfp1": {"fec_corrected": 1200, "fec_uncorrected": 3}} == counted(cells)


def test_what_a_device_does_not_count_is_unknown_and_not_0() -> None:
    assert {"sfp1": {}} == counted(device("sfp1"))


def test_a_vendors_own_counter_goes_before_the_standards() -> None:
    own: dict[str, Column] = {f"{MIKROTIK}.45": {"1": 8}, f"{MIKROTIK}.90": {"1": 4}}
    cells = device("sfp1", columns=own | {f"{ETHERLIKE}.3": {"1": 5}})

    assert {"sfp1": {"crc_errors": 8, "link_flaps": 4}} == counted(cells)


def test_cisco_counts_carrier_transitions() -> None:
    sensor = "1.3.6.1.4.1.9.9.91.1.1.1.1"
    entity = "1.3.6.1.2.1.47.1.1.1.1"
    cells: dict[str, Column] = {
        "1.3.6.1.2.1.31.1.1.1.1": {"7": b"Ethernet1/1"},
        f"{entity}.7": {"300": b"Ethernet1/1 Transceiver Receive Power Sensor"},
        f"{entity}.5": {"300": 8},
        f"{entity}.4": {"300": 0},
        **{f"{sensor}.{column}": {"300": cell} for column, cell in ((1, 14), (2, 9), (3, 3), (4, -2100), (5, 1))},
        "1.3.6.1.4.1.9.9.276.1.1.2.1.4": {"7": 12},
    }

    assert {"Ethernet1/1": {"link_flaps": 12}} == counted(cells, "cisco_entity_sensor")


@pytest.mark.parametrize("name", profiles())
def test_counters_are_asked_of_every_device(name: str) -> None:
    asked = columns_to_walk(load_profile(name))

    wanted = {f"{table.table}.{column.column}" for table in load_profile(COMMON).tables for column in table.columns}
    assert wanted <= {*asked.needed, *asked.extra}
