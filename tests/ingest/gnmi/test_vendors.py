"""Notifications as devices of several makers put them together, made from what their documents show."""

import contextlib
import json
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from pygnmi.spec.v080.gnmi_pb2 import (
    Encoding,
    Notification,
    Path,
    PathElem,
    ScalarArray,
    SubscribeResponse,
    TypedValue,
    Update,
    Value,
)

from ingest.decode.slots import QUANTITIES
from ingest.gnmi.events import Events
from ingest.gnmi.family import load_family
from ingest.gnmi.layout import Layout
from ingest.gnmi.mirror import Mirror, Round
from ingest.gnmi.places import Facts
from ingest.gnmi.response import response_of
from ingest.gnmi.rows import Rows

Told = dict[tuple[str, int, str], float]


class Device:
    """A device that sends notifications as they are."""

    def __init__(self, family: str = "openconfig") -> None:
        self.rounds: list[Round] = []
        self.mirror = Mirror(load_family(family), self.rounds.append)

    def send(self, prefix: str, leaves: dict[str, Any], *, origin: str = "openconfig", **more: Any) -> None:
        """One notification; values are bare ones or messages."""
        updates = [Update(path=path(leaf), val=typed(value)) for leaf, value in leaves.items()]
        head = path(prefix)
        head.origin, head.target = origin, "leaf01"
        stamp = more.pop("timestamp", time.time_ns())
        self.mirror.take(Notification(timestamp=stamp, prefix=head, update=updates, **more), time.time_ns())

    def rows(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Lanes and ports."""
        self.layout = self._synced()
        lanes, ports = self.made.take()
        return lanes.to_pylist(), ports.to_pylist()

    def _synced(self) -> Layout:
        self.mirror.sync(time.time_ns())
        self.mirror.end_round()
        facts = Facts(self.mirror.standing)
        layout = Layout(self.mirror.family, facts, self.mirror.leaves.values())
        self.made = Rows("default", "d", self.mirror.clock)
        self.made.lay_out(layout)
        for one in self.rounds:
            self.made.add(one, facts, {})
        return layout

    def told(self) -> Told:
        """Readings by port, lane and quantity."""
        lanes, ports = self.rows()
        found: Told = {}
        for row in [*lanes, *ports]:
            for quantity in QUANTITIES:
                if row.get(quantity) is not None:
                    found[row["interface"], row.get("lane", 0), quantity] = round(row[quantity], 4)
        return found


def path(text: str) -> Path:
    from gnmi_server.wire import parsed, path_of

    return path_of(parsed(text))


def typed(value: Any) -> TypedValue:
    if isinstance(value, TypedValue):
        return value
    if isinstance(value, bytes):
        return TypedValue(bytes_val=value)
    if isinstance(value, dict | list):
        return TypedValue(json_ietf_val=json.dumps(value).encode())
    if isinstance(value, str):
        return TypedValue(string_val=value)
    return TypedValue(double_val=value) if isinstance(value, float) else TypedValue(uint_val=value)


def eos(device: Device) -> None:
    """Leaves one by one below a prefix, names with a space, channels from 0, the component's name said by the port."""
    at = "components/component[name=Ethernet1 transceiver]/transceiver"
    device.send(
        "interfaces/interface[name=Ethernet1/1]/state", {"transceiver": "Ethernet1 transceiver", "oper-status": "UP"}
    )
    for channel, rx in enumerate((-1.5, -2.5)):
        device.send(f"{at}/physical-channels/channel[index={channel}]", {"state/input-power/instant": rx})


def xr(device: Device) -> None:
    """A container of JSON below a component; channels from 1; a temperature of the component; numbers as texts."""
    device.send(
        "",
        {
            "components/component[name=Optics0/0/0/1]/transceiver/physical-channels/channel[index=1]/state": {
                "index": 1,
                "input-power": {"instant": "-1.50", "avg": "-1.49", "interval": "30000000000"},
                "laser-bias-current": {"instant": "40.10"},
            },
            "components/component[name=Optics0/0/0/1]/state": {
                "temperature": {"instant": "41.0"},
                "type": "TRANSCEIVER",
            },
        },
    )
    device.send(
        "", {"interfaces/interface[name=HundredGigE0/0/0/1]/state": {"oper-status": "UP", "name": "HundredGigE0/0/0/1"}}
    )


def junos(device: Device) -> None:
    """Four bytes, keys in quotes, a list of channels; the whole key in the prefix."""
    at = "components/component[name=FPC0:PIC0:PORT3:Xcvr0]/transceiver/physical-channels/channel[index='0']/state"
    device.send(at, {"input-power/instant": struct.pack(">f", -1.5), "output-power/instant": TypedValue(float_val=0.5)})
    channels = TypedValue(leaflist_val=ScalarArray(element=[TypedValue(uint_val=0)]))
    device.send("interfaces/interface[name='et-0/0/3']/state", {"oper-status": "UP", "physical-channel": channels})


def translib(device: Device) -> None:
    """SONiC's translib: an answer is wrapped in the name of what was asked for, with its module."""
    channels = [{"index": 0, "state": {"input-power": {"instant": "-1.5"}}}]
    transceiver = {
        "physical-channels": {"channel": channels},
        "state": {"form-factor": "openconfig-transport-types:QSFP28"},
    }
    component = {"name": "Ethernet0", "openconfig-platform-transceiver:transceiver": transceiver}
    device.send(
        "openconfig-platform:components/component[name=Ethernet0]", {"": {"openconfig-platform:component": [component]}}
    )
    device.send(
        "",
        {
            "openconfig-interfaces:interfaces/interface[name=Ethernet0]/state/oper-status": {
                "openconfig-interfaces:oper-status": "UP"
            }
        },
    )


def sros(device: Device) -> None:
    """Lists of JSON from the root, keys inside the entries, names with modules."""
    channel = {"index": 1, "state": {"openconfig-platform-transceiver:input-power": {"instant": "-1.5"}}}
    component = {"name": "transceiver-1/1/c3", "transceiver": {"physical-channels": {"channel": [channel]}}}
    device.send("", {"": {"openconfig-platform:components": {"component": [component, {"name": "fan-1"}]}}})
    device.send(
        "",
        {
            "": {
                "openconfig-interfaces:interfaces": {
                    "interface": [{"name": "1/1/c3/1", "state": {"oper-status": "UP"}}]
                }
            }
        },
    )


@pytest.mark.parametrize(
    ("said", "port"),
    [
        (eos, "Ethernet1/1"),
        (xr, "HundredGigE0/0/0/1"),
        (junos, "et-0/0/3"),
        (translib, "Ethernet0"),
        (sros, "1/1/c3/1"),
    ],
)
def test_whoever_puts_a_message_together_its_first_lane_is_lane_1(said: Callable[[Device], None], port: str) -> None:
    """Prefixes, containers, lists, wrapped values, bytes, channels from 0 and from 1 (rows 36 to 41)."""
    device = Device()

    said(device)

    told = device.told()
    assert -1.5 == told[port, 1, "rx_power_dbm"], told
    assert {port} == {where for where, _, _ in told}
    assert not device.mirror.refused


def test_an_old_devices_value_and_path_are_read() -> None:
    """Before 0.4 a path was texts with their keys, and a value had its encoding beside it."""
    device = Device()
    at = [
        "components",
        r"component[name=Ethernet1\]a]",
        "transceiver",
        "physical-channels",
        "channel[index=1]",
        "state",
    ]
    old = [
        Update(path=Path(element=[*at, "input-power"]), value=Value(value=b'{"instant": "-1.5"}', type=Encoding.JSON)),
        Update(
            path=Path(element=["/".join([*at, "output-power", "instant"])]),
            value=Value(value=b"0.5", type=Encoding.ASCII),
        ),
    ]

    device.mirror.take(Notification(timestamp=time.time_ns(), update=old), time.time_ns())

    told = device.told()
    assert {("Ethernet1]a", 1, "rx_power_dbm"): -1.5, ("Ethernet1]a", 1, "tx_power_dbm"): 0.5} == told


def test_keys_in_a_name_and_names_with_modules_are_keys() -> None:
    device = Device()
    elems = [
        PathElem(name="openconfig-platform:components"),
        PathElem(name="component", key={"openconfig-platform:name": "Ethernet1"}),
        PathElem(name="openconfig-platform-transceiver:transceiver"),
        PathElem(name="physical-channels"),
        PathElem(name="channel[index=4]"),
        PathElem(name="state"),
        PathElem(name="input-power"),
        PathElem(name="instant"),
    ]

    update = Update(path=Path(elem=elems), val=TypedValue(double_val=-1.5))
    device.mirror.take(Notification(timestamp=time.time_ns(), update=[update]), time.time_ns())

    assert {("Ethernet1", 4, "rx_power_dbm"): -1.5} == device.told()


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_stamps_in_any_unit_are_the_same_time(unit: int) -> None:
    """The protocol says nanoseconds; milliseconds and seconds were seen."""
    device = Device()
    at = int(time.time()) - 5

    device.send(
        "components/component[name=Ethernet1]/transceiver/physical-channels/channel[index=1]/state",
        {"input-power/instant": -1.5},
        timestamp=at * unit,
    )

    lanes, _ = device.rows()
    assert at == lanes[0]["time"].timestamp()


def test_a_coherent_modules_channels_are_its_modules() -> None:
    """Powers of the optical channel, BER and SNR of the OTN channel that is assigned to it, all one port's."""
    device = Device()
    device.send("interfaces/interface[name=Ethernet4/1/1]/state", {"oper-status": "UP", "transceiver": "Ethernet4/1"})
    device.send(
        "components/component[name=Ethernet4/1]/transceiver/state",
        {"serial-no": "ZR1", "form-factor": "QSFP56_DD_TYPE2"},
    )
    device.send(
        "components/component[name=Ethernet4/1-Optical0]",
        {
            "state/parent": "Ethernet4/1",
            "optical-channel/state/input-power/instant": -8.5,
            "optical-channel/state/laser-bias-current/instant": 210.0,
        },
    )
    otn = "terminal-device/logical-channels/channel[index=8000]"
    device.send(f"{otn}/otn/state", {"pre-fec-ber/instant": 2e-3, "esnr/instant": 15.5, "fec-uncorrectable-blocks": 7})
    device.send(
        f"{otn}/logical-channel-assignments/assignment[index=1]/state", {"optical-channel": "Ethernet4/1-Optical0"}
    )

    lanes, ports = device.rows()

    port = next(row for row in ports if row["pre_fec_ber"] is not None)
    assert ("Ethernet4/1/1", 2e-3, 7) == (port["interface"], port["pre_fec_ber"], port["fec_uncorrected"])
    lane = {name: value for row in lanes for name, value in row.items() if value is not None}
    assert {0} == {row["lane"] for row in lanes}
    assert (-8.5, 210.0, 15.5) == tuple(lane[name] for name in ("rx_power_dbm", "tx_bias_ma", "snr_db"))
    assert "QSFP-DD" == device.layout.map.inventory["Ethernet4/1/1"].form_factor


def test_a_channel_that_says_nothing_is_its_clients_that_lies_on_it() -> None:
    """The Ethernet channel names interface and transceiver, and the OTN channel that carries it."""
    device = Device()
    device.send("components/component[name=Ethernet4/1]/transceiver/state", {"serial-no": "ZR1"})
    device.send("interfaces/interface[name=Ethernet4/1/1]/state", {"oper-status": "UP"})
    client = "terminal-device/logical-channels/channel[index=80000]"
    device.send(f"{client}/ingress/state", {"interface": "Ethernet4/1/1"})
    device.send(f"{client}/logical-channel-assignments/assignment[index=1]/state", {"logical-channel": 8000})
    device.send("terminal-device/logical-channels/channel[index=8000]/otn/state", {"pre-fec-ber/instant": 2e-3})

    assert {("Ethernet4/1/1", 0, "pre_fec_ber"): 2e-3} == device.told()


def test_what_paths_give_of_a_module_is_known_of_it() -> None:
    device = Device()
    device.send(
        "interfaces/interface[name=Ethernet1]",
        {"state/oper-status": "UP", "ethernet/state/port-speed": "openconfig-if-ethernet:SPEED_400GB"},
    )
    device.send(
        "components/component[name=Ethernet1]/transceiver/state",
        {
            "serial-no": "S1",
            "form-factor": "openconfig-transport-types:OSFP",
            "fec-mode": "openconfig-platform-types:FEC_ENABLED",
        },
    )

    device.rows()

    module = device.layout.map.inventory["Ethernet1"]
    assert ("OSFP", 400.0, "FEC_ENABLED") == (module.form_factor, module.speed_gbps, module.fec_mode)


def test_what_sonic_gives_of_a_module_is_known_of_it() -> None:
    device = Device("sonic")
    device.send("PORT_TABLE/Ethernet0", {"": {"speed": "400000", "fec": "rs", "oper_status": "up"}})
    device.send(
        "TRANSCEIVER_INFO/Ethernet0", {"": {"serial": "S1", "type": "QSFP-DD Double Density 8X Pluggable Transceiver"}}
    )

    device.rows()

    module = device.layout.map.inventory["Ethernet0"]
    assert ("QSFP-DD", 400.0, "rs") == (module.form_factor, module.speed_gbps, module.fec_mode)


def test_the_speed_of_a_broken_out_module_is_not_that_of_a_part() -> None:
    device = Device("sonic")
    for name in ("Ethernet0", "Ethernet2"):
        device.send(f"PORT_TABLE/{name}", {"": {"speed": "100000", "index": "1", "oper_status": "up"}})
    device.send("TRANSCEIVER_INFO/Ethernet0", {"": {"serial": "S1"}})

    device.rows()

    assert device.layout.map.inventory["Ethernet0"].speed_gbps is None


def srlinux(device: Device) -> None:
    """SR Linux's own models: containers of JSON, channels from 1, decimals as texts, limits by lane."""
    transceiver = {
        "oper-state": "up",
        "form-factor": "QSFPDD",
        "ethernet-pmd": "400GBASE-FR4",
        "vendor": "NOKIA",
        "vendor-part-number": "3HE1",
        "serial-number": "NK0001 ",
        "temperature": {"latest-value": 41, "high-alarm-threshold": 75, "low-alarm-threshold": -5},
        "voltage": {"latest-value": "3.2950", "high-alarm-condition": False},
        "channel": [
            {
                "index": 1,
                "wavelength": "1271.00",
                "input-power": {
                    "latest-value": "-1.50",
                    "low-alarm-threshold": "-11.20",
                    "high-alarm-threshold": "5.10",
                },
                "output-power": {"latest-value": "0.70"},
                "laser-bias-current": {"latest-value": "61.20"},
            },
            {"index": 2, "input-power": {"latest-value": "-40.00"}, "laser-bias-current": {"latest-value": "0.00"}},
        ],
    }
    device.send("", {"srl_nokia-interfaces:interface[name=ethernet-1/3]": {"transceiver": transceiver}}, origin="")
    device.send(
        "interface[name=ethernet-1/3]",
        {
            "oper-state": "up",
            "admin-state": "enable",
            "ethernet": {"port-speed": "400G", "statistics": {"in-crc-error-frames": "12"}},
            "statistics": {"in-unicast-packets": "123456789012", "carrier-transitions": "3"},
        },
        origin="",
    )


def test_sr_linux_is_read_by_its_own_models() -> None:
    device = Device("srlinux")

    srlinux(device)

    told, (_, ports) = device.told(), device.rows()
    module, where = device.layout.map.inventory["ethernet-1/3"], "ethernet-1/3"
    assert {
        (where, 1, "rx_power_dbm"): -1.5,
        (where, 1, "tx_power_dbm"): 0.7,
        (where, 1, "tx_bias_ma"): 61.2,
        (where, 2, "rx_power_dbm"): -40.0,
        (where, 2, "tx_bias_ma"): 0.0,
        (where, 0, "temperature_c"): 41.0,
        (where, 0, "voltage_v"): 3.295,
    } == told
    counted = next(row for row in ports if row["in_packets"] is not None)
    assert (123456789012, 12, 3, True, True) == tuple(
        counted[name] for name in ("in_packets", "crc_errors", "link_flaps", "oper_up", "admin_up")
    )
    assert ("NK0001", "3HE1", "QSFP-DD", 400.0) == (
        module.serial,
        module.part_number,
        module.form_factor,
        module.speed_gbps,
    )
    assert {
        "rx_power_low_alarm_dbm": -11.2,
        "rx_power_high_alarm_dbm": 5.1,
        "temperature_high_alarm_c": 75.0,
        "temperature_low_alarm_c": -5.0,
    } == device.layout.map.limits[where]


def test_nvidias_phy_tells_bins_and_a_ratio_that_was_not_measured_is_none() -> None:
    device = Device()
    device.send("components/component[name=swp1]/transceiver/state", {"serial-no": "S1"})
    bins = {f"rs-num-corr-err-bin{n}": 1000 - n for n in range(16)}
    device.send("interfaces/interface[name=swp1]/state", {"oper-status": "UP"})
    device.send("interfaces/interface[name=swp1]/phy-diag/state", {**bins, "raw-ber": "3E-6"})
    device.send("interfaces/interface[name=swp2]/phy-diag/state", {"raw-ber": "3E-6"})
    device.mirror.sync(time.time_ns())
    device.send("interfaces/interface[name=swp1]/phy-diag/state", {"raw-ber": "15E-255"})

    lanes, ports = device.rows()

    assert not lanes
    assert [("swp1", 3e-6)] == [(row["interface"], row["pre_fec_ber"]) for row in ports if row["pre_fec_ber"]]
    assert [1000 - n for n in range(16)] == next(row["fec_bins"] for row in ports if row["fec_bins"])


def test_ports_of_one_cage_count_for_themselves() -> None:
    """A breakout's module is one; its ports are several, and what they count is not one counter (rows 18 and 19)."""
    device = Device()
    device.send("components/component[name=Ethernet1]/transceiver/state", {"serial-no": "S1"})
    for n in range(1, 5):
        at = f"interfaces/interface[name=Ethernet1/{n}]/state"
        up = "UP" if n < 4 else "DOWN"
        device.send(at, {"transceiver": "Ethernet1", "physical-channel": [n - 1], "oper-status": up})
        device.send(f"{at}/counters", {"in-unicast-pkts": 100 * n if n < 4 else 0, "in-fcs-errors": n if n < 4 else 0})

    _, ports = device.rows()

    assert {("Ethernet1/1", 100, 1, "S1"), ("Ethernet1/2", 200, 2, None), ("Ethernet1/3", 300, 3, None)} == {
        (row["interface"], row["in_packets"], row["crc_errors"], row["serial"]) for row in ports
    }, "Ethernet1/4 is not in use"
    assert {"Ethernet1/1": "S1"} == {
        name: module.serial for name, module in device.layout.map.inventory.items() if module.serial
    }


def test_a_link_of_a_breakout_that_goes_down_is_that_link() -> None:
    device = Device()
    device.send("components/component[name=Ethernet1]/transceiver/state", {"serial-no": "S1"})
    for n in (1, 2):
        at = f"interfaces/interface[name=Ethernet1/{n}]/state"
        device.send(at, {"transceiver": "Ethernet1", "physical-channel": [n - 1], "oper-status": "UP"})
    device.rows()
    device.send("interfaces/interface[name=Ethernet1/2]/state", {"oper-status": "DOWN"})

    events = Events("default", "d", device.mirror.clock)
    for change in device.mirror.changes():
        events.add(change, device.layout, Facts(device.mirror.standing), missed=False)

    assert [("Ethernet1/2", "down")] == [(row["interface"], row["kind"]) for row in events.take()]
    assert {"Ethernet1/2": 1} == events.flaps


def test_letters_that_are_no_utf_8_cost_no_reading() -> None:
    device = Device()
    raw = b'{"vendor": "AC\xff\xfeME", "serial-no": "S1", "input-power": {"instant": "-2.0"}}'

    device.send("components/component[name=Ethernet1]/transceiver/state", {"": TypedValue(json_ietf_val=raw)})

    assert {("Ethernet1", 0, "rx_power_dbm"): -2.0} == device.told()
    assert "S1" == device.layout.map.inventory["Ethernet1"].serial


def test_a_scalar_of_json_without_quotes_is_a_text() -> None:
    device = Device()
    at = "components/component[name=Ethernet1]/transceiver/state"

    device.send(at, {"serial-no": TypedValue(json_ietf_val=b"S1-x"), "vendor": TypedValue(json_val=b'{"broken')})

    device.rows()
    assert ("S1-x", None) == (
        device.layout.map.inventory["Ethernet1"].serial,
        device.layout.map.inventory["Ethernet1"].vendor,
    )


def test_no_number_of_json_is_none_and_minus_infinity_is_no_light() -> None:
    device = Device()
    at = "components/component[name=Ethernet1]/transceiver/physical-channels/channel[index=1]/state"
    odd = {
        "input-power": TypedValue(json_val=b'{"instant": NaN, "avg": 3}'),
        "output-power": TypedValue(json_val=b'{"instant": -Infinity}'),
        "laser-bias-current": TypedValue(json_val=b'{"instant": Infinity}'),
    }

    device.send(at, odd)

    assert {("Ethernet1", 1, "tx_power_dbm"): -40.0} == device.told()


def test_an_atomic_message_without_a_prefix_replaces_nothing() -> None:
    """What it replaces is what is below its prefix; without one that would be all that is known of the device."""
    device = Device()
    device.send("components/component[name=Ethernet1]/transceiver/state", {"serial-no": "S1"})
    channel = "components/component[name=Ethernet1]/transceiver/physical-channels/channel[index=1]/state"

    device.send("", {f"{channel}/input-power/instant": -1.5}, origin="", atomic=True)

    device.rows()
    assert "S1" == device.layout.map.inventory["Ethernet1"].serial


def test_an_atomic_message_replaces_what_is_below_its_prefix() -> None:
    device = Device()
    at = "components/component[name=Ethernet1]/transceiver/state"
    device.send(at, {"serial-no": "S1", "vendor": "ACME"})

    device.send(at, {"serial-no": "S2"}, atomic=True)

    device.rows()
    module = device.layout.map.inventory["Ethernet1"]
    assert ("S2", None) == (module.serial, module.vendor)


@pytest.mark.parametrize("stamp", [0, -1, 2**63 - 1])
def test_a_stamp_that_is_none_or_of_the_future_gives_way_to_the_receipt(stamp: int) -> None:
    device = Device()
    at = "components/component[name=Ethernet1]/transceiver/physical-channels/channel[index=1]/state"
    before = time.time()

    device.send(at, {"input-power/instant": -1.5}, timestamp=stamp)

    lanes, _ = device.rows()
    assert before - 1 <= lanes[0]["time"].timestamp() <= time.time()


@given(st.binary(max_size=200), st.binary(min_size=1, max_size=20))
def test_any_bytes_are_a_message_or_an_error(raw: bytes, letters: bytes) -> None:
    """Texts that are no UTF-8 are mended wherever they stand; what is no message is refused as the library does."""
    with contextlib.suppress(DecodeError):
        response_of(raw)
    elem = PathElem(name="a" * len(letters), key={"name": "b" * len(letters)})
    whole = SubscribeResponse(
        update=Notification(timestamp=7, update=[Update(path=Path(elem=[elem]), val=TypedValue(double_val=-1.5))])
    )
    spoilt = whole.SerializeToString().replace(b"a" * len(letters), letters).replace(b"b" * len(letters), letters)

    found = response_of(spoilt).update

    assert (7, -1.5) == (found.timestamp, found.update[0].val.double_val)
    assert letters.decode("utf-8", "replace") == found.update[0].path.elem[0].name
