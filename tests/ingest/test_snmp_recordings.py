"""What the recorded devices said becomes what `expected.json` says, value by value.

Where a flag stands in `expected.json` the value there is the device's literal number; field_faults.md decides, and
`_by_the_rules` says which rule.
"""

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ingest.decode.discover import Decoded, columns_to_walk, decode
from ingest.decode.interfaces import text_of
from ingest.decode.profile import profiles_for
from ingest.snmp.gufo import GufoTransport
from ingest.snmp.pysnmp_engine import PysnmpTransport
from ingest.snmp.transport import ReplayTransport, Transport

pytestmark = pytest.mark.device

DEVICES = {
    "arista-eos": "entity_sensor",
    "cisco-iosxe-c9500x": "cisco_entity_sensor",
    "cisco-iosxr-asr9010": "cisco_entity_sensor",
    "cisco-nxos-n9k": "cisco_entity_sensor",
    "dell-z9100": "dell_os9",
    "edgecore-sonic": "entity_sensor",
    "huawei-s5720": "huawei_vrp",
    "juniper-mx5": "juniper_dom",
    "juniper-qfx5130": "juniper_dom",
    "mikrotik-crs317": "mikrotik",
}
ENGINES: dict[str, type[GufoTransport | PysnmpTransport]] = {"gufo": GufoTransport, "pysnmp": PysnmpTransport}

Expected = dict[str, Any]


async def _ask(transport: Transport) -> tuple[str, Decoded]:
    object_id = text_of((await transport.walk("1.3.6.1.2.1.1.2")).get("0"))
    profile = profiles_for(object_id)[0]
    plan = columns_to_walk(profile)
    cells = {column: await transport.walk(column) for column in (*plan.needed, *plan.extra)}
    transport.close()
    return profile.name, decode(cells, profile)


@cache
def _replayed(walk: Path) -> tuple[str, Decoded]:
    return asyncio.run(_ask(ReplayTransport.read(walk)))


def _expected(recordings: Path, device: str) -> list[Expected]:
    rows: list[Expected] = json.loads((recordings / f"{device}.expected.json").read_text())["expected"]
    return rows


def _by_the_rules(row: Expected, *, oper_up: bool | None, silent: bool) -> float | None:
    """The value that field_faults.md makes of a recording's literal one."""
    flags, value = set(row["flags"]), row["value"]
    if silent:  # rows 34 and 67: a module that says 0 to everything says nothing
        return None
    if row["raw"] == "-32768":  # row 12: no unit makes the end of a register plausible, flagged or not
        return None
    if "exact_zero_suspect" in flags:  # row 67: 0 V, or 0 C, of a running module
        return None
    if "exact_zero_dbm_suspect" in flags:  # row 6: 0.00 dBm is no light on a port that is down, a milliwatt on one up
        return value if oper_up else -40.0
    return None if value is None else float(value)


def _compare(decoded: Decoded, expected: list[Expected]) -> list[str]:
    """What differs, in words."""
    got = {(r.interface, r.lane, r.quantity): r.value for r in decoded.readings}
    zeros = {row["interface"] for row in expected} - {
        row["interface"] for row in expected if row["raw"] not in {"0", "0.0"}
    }
    wrong = []
    for row in expected:
        key = (row["interface"], row["lane"], row["quantity"])
        state = decoded.states.get(row["interface"])
        value = _by_the_rules(row, oper_up=state.oper_up if state else None, silent=row["interface"] in zeros)
        found = got.get(key, got.get((key[0], key[1], f"laser_{key[2]}")))
        if found is None and value is not None and _lane_has_it(decoded, row):
            continue
        if (found is None) != (value is None) or (found is not None and found != pytest.approx(value, abs=2e-6)):
            wrong.append(f"{key}: {found} is not {value} ({row['raw']}, {row['flags']})")
    return wrong


def _lane_has_it(decoded: Decoded, row: Expected) -> bool:
    """Junos tells most things twice, for the module and for its lanes; the lanes' rows are kept (row 14)."""
    return row["lane"] == 0 and any(
        r.lane and (r.interface, r.quantity) == (row["interface"], row["quantity"]) for r in decoded.readings
    )


@pytest.mark.parametrize("device", DEVICES)
def test_every_value_of_a_recording_is_the_expected_one(recordings: Path, device: str) -> None:
    profile, decoded = _replayed(recordings / f"{device}.snmprec")

    assert DEVICES[device] == profile
    assert [] == _compare(decoded, _expected(recordings, device))


@pytest.mark.parametrize("device", DEVICES)
def test_nothing_is_made_up(recordings: Path, device: str) -> None:
    """Fans, supplies and line cards have sensors of the same kinds; none of them is a transceiver."""
    _, decoded = _replayed(recordings / f"{device}.snmprec")
    known = {(row["interface"], row["lane"]) for row in _expected(recordings, device)}

    assert set() == {(r.interface, r.lane) for r in decoded.readings} - known


@pytest.mark.parametrize("device", DEVICES)
def test_limits_are_the_modules_own(recordings: Path, device: str) -> None:
    _, decoded = _replayed(recordings / f"{device}.snmprec")
    wrong = []
    for row in _expected(recordings, device):
        quantity, _, unit = row["quantity"].rpartition("_")
        for name, value in row["limits"].items():
            found = decoded.map.limits.get(row["interface"], {}).get(f"{quantity}_{name}_{unit}")
            usable = value is not None and row["raw"] != "-32768"  # IOS-XR's "none", in its limits too
            if usable and found != pytest.approx(value, abs=2e-6):
                wrong.append((row["interface"], row["quantity"], name, found, value))

    assert [] == wrong


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.snmpd
def test_both_engines_bring_over_the_wire_what_the_recording_holds(
    responder: Any, recordings: Path, device: str, engine: str
) -> None:
    transport = ENGINES[engine](responder.address, responder.port, device, timeout_s=5.0)

    profile, decoded = asyncio.run(_ask(transport))
    by_replay, replayed = _replayed(recordings / f"{device}.snmprec")

    assert by_replay == profile
    assert replayed.readings == decoded.readings
    assert (replayed.states, replayed.inventory) == (decoded.states, decoded.inventory)
    assert replayed.snapshot.counters.tolist() == decoded.snapshot.counters.tolist()


def test_zero_dbm_is_no_light_on_a_port_that_is_down(recordings: Path) -> None:
    """NX-OS and Junos say 0.00 dBm of shut ports; the recordings' ports are down (field_faults.md, row 6)."""
    for device in ("cisco-nxos-n9k", "juniper-qfx5130"):
        _, decoded = _replayed(recordings / f"{device}.snmprec")
        powers = {r.value for r in decoded.readings if r.quantity.endswith("_power_dbm")}

        assert {False} == {state.oper_up for state in decoded.states.values()}
        assert {-40.0} == powers


def test_zero_dbm_is_a_milliwatt_on_a_port_that_is_up(recordings: Path) -> None:
    _, decoded = _replayed(recordings / "cisco-iosxe-c9500x.snmprec")
    (sent,) = (r for r in decoded.readings if (r.interface, r.quantity) == ("Fif1/0/10", "tx_power_dbm"))

    assert decoded.states["Fif1/0/10"].oper_up
    assert 0.0 == sent.value


def test_a_module_that_says_0_to_everything_says_nothing(recordings: Path) -> None:
    _, decoded = _replayed(recordings / "mikrotik-crs317.snmprec")

    assert [] == decoded.readings


def test_a_module_that_cannot_be_read_is_still_there(recordings: Path) -> None:
    """IOS-XR gives -32768 for everything; the serial number stands."""
    _, decoded = _replayed(recordings / "cisco-iosxr-asr9010.snmprec")
    unread = "GigabitEthernet0/0/1/18"

    assert {None} == {r.value for r in decoded.readings if r.interface == unread}
    assert decoded.inventory[unread].serial
    assert decoded.states[unread].oper_up


@pytest.mark.parametrize(
    ("device", "interface", "serial", "vendor", "part_number"),
    [
        ("arista-eos", "Ethernet1", "G1904016438", "Arista Networks", "SFP-10GLR-31"),
        ("cisco-nxos-n9k", "Ethernet1/25", "J267C037", "Hisense", "LTF8501-BC+"),
        ("cisco-iosxr-asr9010", "GigabitEthernet0/0/1/0", "OPGU2001", None, "S125-W31-LP-LX-D"),
        ("cisco-iosxe-c9500x", "Fif1/0/10", "OPM23430UZB", "CISCO-OPLINK", "SFP-10/25G-LR-S"),
        ("edgecore-sonic", "Eth11/1(Port11)", None, "FS", "SFP-10GSR-85"),
        ("juniper-qfx5130", "et-0/0/0", "ADD8095B6271", "ADDON", "740-061408"),
        ("dell-z9100", "Hu 1/32", "F1800035045", "Fiberstore", "QSFP28-SR4-100G"),
        ("huawei-s5720", "GigabitEthernet0/0/1", "S1703243262", "OEM", "GPB-3524L-03CD-C"),
    ],
)
def test_modules_are_known_by_their_serial_numbers(
    recordings: Path, device: str, interface: str, serial: str | None, vendor: str | None, part_number: str
) -> None:
    _, decoded = _replayed(recordings / f"{device}.snmprec")
    module = decoded.inventory[interface]

    assert (serial, vendor, part_number) == (module.serial, module.vendor, module.part_number)
