"""Notifications as devices of several makers put them together, made from what their documents show."""

import json
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest
from pygnmi.spec.v080.gnmi_pb2 import (
    Encoding,
    Notification,
    Path,
    PathElem,
    ScalarArray,
    TypedValue,
    Update,
    Value,
)

from ingest.decode.slots import QUANTITIES
from ingest.gnmi.family import load_family
from ingest.gnmi.layout import Layout
from ingest.gnmi.mirror import Mirror, Round
from ingest.gnmi.places import Facts
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
