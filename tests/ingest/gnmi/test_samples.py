"""What real devices said, against what must be made of it: `../shared/recordings/gnmi`."""

import json
import re
import time
from pathlib import Path

import pytest
from pygnmi.spec.v080.gnmi_pb2 import Notification, TypedValue, Update
from pygnmi.spec.v080.gnmi_pb2 import Path as GnmiPath

from ingest.decode.slots import QUANTITIES
from ingest.dumps.reading import Reading
from ingest.dumps.sonic_keys import BINS, COUNTERS, take
from ingest.gnmi import family as family_module
from ingest.gnmi.family import load_family
from ingest.gnmi.layout import Layout
from ingest.gnmi.mirror import Mirror, Round
from ingest.gnmi.path_files import path_files
from ingest.gnmi.places import Facts
from ingest.gnmi.rows import Rows
from ingest.schema import LIMITS

Told = dict[tuple[str, int, str], float]


class _Device:
    """A device that said something once."""

    def __init__(self, family: str) -> None:
        self.rounds: list[Round] = []
        self.mirror = Mirror(load_family(family), self.rounds.append)

    def say(self, path: str, value: object, stamp: int = 0, target: str = "") -> None:
        from gnmi_server.wire import parsed, path_of

        told = Update(path=path_of(parsed(path)), val=TypedValue(json_ietf_val=json.dumps(value).encode()))
        self.mirror.take(Notification(timestamp=stamp, prefix=GnmiPath(target=target), update=[told]), time.time_ns())

    def rows(self) -> Rows:
        self.mirror.sync(time.time_ns())
        self.mirror.end_round()
        facts = Facts(self.mirror.standing)
        rows = Rows("default", "d", self.mirror.clock)
        rows.lay_out(Layout(self.mirror.family, facts, self.mirror.leaves.values()))
        for one in self.rounds:
            rows.add(one, facts, {})
        return rows


def _told(rows: Rows) -> Told:
    """Readings by port, lane and quantity, as rows of the tables have them."""
    lanes, ports = rows.take()
    found: Told = {}
    for row in [*lanes.to_pylist(), *ports.to_pylist()]:
        for quantity in QUANTITIES:
            if row.get(quantity) is not None:
                found[row["interface"], row.get("lane", 0), quantity] = row[quantity]
    return found


def _expected(file: Path, first_lane: int) -> Told:
    told = json.loads(file.read_text())
    shift = 1 - first_lane
    return {
        (each["port"], 0 if each["lane"] is None else each["lane"] + shift, each["quantity"]): each["value"]
        for each in told
    }


def test_openconfig_dom_of_eos(samples: Path) -> None:
    """Decimals are strings, an output power is an empty container, names hold spaces, and channels start at 0."""
    device = _Device("openconfig")
    for message in json.loads((samples / "arista_eos_openconfig_dom.gnmic.json").read_text()):
        for update in message["updates"]:
            device.say(update["Path"], next(iter(update["values"].values())), message["timestamp"])

    assert _expected(samples / "arista_eos_openconfig_dom.expected.json", 0) == pytest.approx(_told(device.rows()))


def test_sonic_dom_of_state_db(samples: Path) -> None:
    """Every value is a string; what is N/A is not there."""
    device = _Device("sonic")
    for key, fields in json.loads((samples / "sonic_state_db_transceiver.json").read_text()).items():
        device.say(key.split("|")[0], {key.split("|")[1]: fields}, target="STATE_DB")
    expected = _expected(samples / "sonic_state_db_transceiver.expected.json", 1)

    told = _told(device.rows())

    wanted = {place: value for place, value in expected.items() if place[2] in QUANTITIES}
    assert wanted
    assert wanted == pytest.approx({place: value for place, value in told.items() if place in wanted}, rel=1e-5)


def test_sonic_oddities_are_light_none_or_nothing(samples: Path) -> None:
    device = _Device("sonic")
    for key, fields in json.loads((samples / "sonic_state_db_dom_oddities.json").read_text()).items():
        device.say("/".join(key.split("|")), fields, target="STATE_DB")

    told = _told(device.rows())

    assert -40.0 == told["Ethernet0", 1, "rx_power_dbm"], "-inf is no light"
    assert ("Ethernet0", 1, "tx_bias_ma") not in told, "N/A"
    assert ("Ethernet0", 3, "tx_bias_ma") not in told, "inf is no current"
    assert not [place for place in told if place[0] == "Ethernet2"], "copper gives nothing"


def test_sonic_fec_counters_under_the_chips_names(samples: Path) -> None:
    """COUNTERS_DB keys its counters by object ids; COUNTERS_PORT_NAME_MAP says whose they are."""
    device = _Device("sonic")
    told = json.loads((samples / "sonic_counters_db_fec.json").read_text())
    for key, fields in told.items():
        table, _, rest = key.partition(":")
        device.say(f"{table}/{rest}" if rest else table, fields, target="COUNTERS_DB")
    for name in told["COUNTERS_PORT_NAME_MAP"]:
        device.say(f"TRANSCEIVER_INFO/{name}", {"serial": f"SN-{name}"}, target="STATE_DB")

    _, ports = device.rows().take()

    first = told["COUNTERS:oid:0x1000000000012"]
    row = next(row for row in ports.to_pylist() if row["interface"] == "Ethernet0")
    assert int(first["SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES"]) == row["fec_corrected"]
    assert int(first["SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES"]) == row["fec_uncorrected"]
    assert [int(first[f"SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S{n}"]) for n in range(16)] == row["fec_bins"]


def test_counters_of_eos_have_stamps_of_their_last_change(samples: Path) -> None:
    """One leaf a message, each with the time when it last changed, days ago: the row has the time of receipt."""
    device = _Device("openconfig")
    lines = (samples / "arista_eos_interface_counters.gnmic.jsonl").read_text().splitlines()
    wanted: dict[str, int] = {}
    names = set()
    for line in lines:
        message = json.loads(line)
        for update in message["updates"]:
            value = next(iter(update["values"].values()))
            device.say(update["Path"], value, message["timestamp"])
            found = re.fullmatch(r"interfaces/interface\[name=(.+?)\]/state/counters/in-unicast-pkts", update["Path"])
            if found:
                wanted[found[1]] = value
            names.add(update["Path"].split("[name=")[1].split("]")[0])
    for name in names:
        device.say(f"components/component[name={name} transceiver]/transceiver/state/serial-no", f"SN-{name}")

    _, ports = device.rows().take()

    rows = {row["interface"]: row for row in ports.to_pylist() if row["in_packets"] is not None}
    assert wanted
    assert wanted == {name: row["in_packets"] for name, row in rows.items()}
    assert all(row["time"] <= row["received_at"] for row in rows.values())
    assert all((row["received_at"] - row["time"]).total_seconds() < 60 for row in rows.values())


@pytest.mark.parametrize("field", sorted(COUNTERS))
def test_a_dump_and_a_stream_of_sonic_mean_the_same_counter(field: str) -> None:
    found = list(load_family("sonic").read([("COUNTERS", {}), ("Ethernet0", {})], {field: "7"}))

    assert [COUNTERS[field]] == [leaf.column for leaf, _ in found if leaf is not None]


def test_a_dump_and_a_stream_of_sonic_mean_the_same_bins() -> None:
    fields = {f"SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S{n}": "1" for n in range(16)}
    found = list(load_family("sonic").read([("COUNTERS", {}), ("Ethernet0", {})], fields))

    assert all(BINS.fullmatch(field) for field in fields)
    assert [str(n) for n in range(16)] == [leaf.sub for leaf, _ in found if leaf is not None]


@pytest.mark.parametrize("table", ["TRANSCEIVER_DOM_SENSOR", "TRANSCEIVER_DOM_THRESHOLD"])
def test_a_dump_and_a_stream_of_sonic_mean_the_same_quantities(table: str, samples: Path) -> None:
    for key, fields in json.loads((samples / "sonic_state_db_transceiver.json").read_text()).items():
        if key.startswith(f"{table}|"):
            reading = Reading(line=1)
            for name, value in fields.items():
                take(reading, name, value)
            streamed = {
                (leaf.sub or "0", leaf.column)
                for leaf, value in load_family("sonic").read([(table, {}), ("Ethernet0", {})], fields)
                if leaf is not None and value != "N/A" and leaf.column in {*QUANTITIES, *LIMITS}
            }

            assert {(str(lane), quantity) for lane, quantity in reading.values} | _limits(reading) == streamed


def _limits(reading: Reading) -> set[tuple[str, str]]:
    parts = ((quantity.rpartition("_"), told) for quantity, told in reading.limits.items())
    return {("0", f"{stem}_{name}_{unit}") for (stem, _, unit), told in parts for name in told}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("COUNTERS/Ethernet0", {"SAI_PORT_STAT_IF_IN_UCAST_PKTS": "7"}),
        ("COUNTERS/Ethernet*", {"Ethernet0": {"SAI_PORT_STAT_IF_IN_UCAST_PKTS": "7"}}),
        ("COUNTERS/Ethernet*/SAI_PORT_STAT_IF_IN_UCAST_PKTS", {"Ethernet0": {"SAI_PORT_STAT_IF_IN_UCAST_PKTS": "7"}}),
        ("COUNTERS", {"Ethernet0": {"SAI_PORT_STAT_IF_IN_UCAST_PKTS": "7"}}),
        ("COUNTERS/Ethernet0/SAI_PORT_STAT_IF_IN_UCAST_PKTS", "7"),
        ("COUNTERS_DB/localhost/COUNTERS/Ethernet0", {"SAI_PORT_STAT_IF_IN_UCAST_PKTS": "7"}),
    ],
)
def test_sonic_answers_in_any_of_its_shapes(path: str, value: object) -> None:
    found = list(load_family("sonic").read([(name, {}) for name in path.split("/")], value))  # type: ignore[arg-type]

    assert [("in_packets", "Ethernet0", "7")] == [(leaf.column, leaf.place, said) for leaf, said in found if leaf]


@pytest.mark.parametrize("name", sorted(path_files()))
def test_a_file_of_paths_is_short_and_asks_for_what_it_reads(name: str) -> None:
    """A family is a page; each leaf lies at or below a path that is asked for."""
    told, file = path_files()[name], Path(family_module.__file__).parent / "paths" / f"{name}.yaml"
    asked = {
        path.replace("/Ethernet*", "") for stream in told.streams for path in (*stream.sample, *stream.on_change)
    } | {"COUNTERS_PORT_NAME_MAP"}  # the names of ports are asked for with their counters
    read = [re.sub(r"\[.*?\]", "", f"{leaves.at}/{leaf}") for leaves in told.leaves for leaf in leaves.fields]
    unread = [leaf for leaf in read if not any(f"{leaf}/".startswith(f"{path}/") for path in asked)]

    assert len(file.read_text().splitlines()) <= 40
    assert not unread
