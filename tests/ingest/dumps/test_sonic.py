"""SONiC's databases and what its commands print."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest import gnmi
from ingest.dumps import DumpReport, Given, Reading
from ingest.dumps.sonic_keys import TABLES
from ingest.dumps.sonic_keys import take as take_field
from ingest.quarantine import Kind
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES, Quality, Table

Take = Callable[..., DumpReport]
Rows = Callable[[Table], list[dict[str, Any]]]
Read = Callable[..., list[Reading]]
Sample = Callable[[str], str]

GNMI = Path(__file__).parents[4] / "shared" / "recordings" / "gnmi"
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
UNNAMED = Given(at=AT)
CLOSE = 0.0001


def test_a_dump_names_its_device_and_every_lane(take: Take, rows: Rows) -> None:
    """The hostname of DEVICE_METADATA stands; values lie in redis-dump's value, below type and ttl."""
    take("sonic_dump.json", given=UNNAMED)

    lanes = {row["lane"]: row for row in rows(LANE_SAMPLES)}
    assert {("leaf07", "Ethernet0")} == {(row["device"], row["interface"]) for row in lanes.values()}
    assert [1, 2, 3, 4] == list(lanes)
    assert (-1.5, -40.0) == (lanes[2]["rx_power_dbm"], lanes[3]["rx_power_dbm"])
    assert "rx_power_dbm" not in lanes[4]
    assert pytest.approx(106.952) == lanes[1]["tx_bias_ma"]
    assert (1.2e-07, pytest.approx(23.1)) == (lanes[1]["pre_fec_ber"], lanes[1]["snr_db"])
    assert 52.5 == lanes[2]["laser_temperature_c"]


def test_zero_dbm_is_a_milliwatt_where_the_port_is_up(take: Take, rows: Rows) -> None:
    """The same database says that it is (field_faults.md, row 6)."""
    take("sonic_dump.json", given=UNNAMED)

    assert 0.0 == next(row["rx_power_dbm"] for row in rows(LANE_SAMPLES) if row["lane"] == 1)


def test_what_is_no_number_is_null_and_named_by_its_line(take: Take) -> None:
    """Infinity is no current; N/A is no fault at all."""
    report = take("sonic_dump.json", given=UNNAMED)

    assert [("tx2bias", 21), ("tx3bias", 21), ("", 34)] == [
        (finding.column, int(finding.where.rpartition(":")[2])) for finding in report.findings
    ]


def test_limits_that_contradict_each_other_are_dropped_and_marked(take: Take, rows: Rows) -> None:
    """An alarm below its warning is no limit (field_faults.md, rows 21 and 30); N/A is none."""
    take("sonic_dump.json", given=UNNAMED)

    module = rows(MODULES)[0]
    assert pytest.approx(-4.9) == module["rx_power_low_alarm_dbm"]
    assert not [name for name in module if name.startswith(("tx_bias", "temperature"))]
    assert {int(Quality.LIMITS_IMPLAUSIBLE)} == {row["quality"] for row in rows(LANE_SAMPLES)}


def test_a_breakouts_module_is_one_and_its_ports_keep_their_counters(take: Take, rows: Rows) -> None:
    """Sub-ports of one cage show the same serial (field_faults.md, rows 18 to 20)."""
    take("sonic_dump.json", given=UNNAMED)

    (module,) = rows(MODULES)
    assert ("Ethernet0", "LM0000800", "OSFP", "1.4.2") == tuple(
        module[name] for name in ("interface", "serial", "form_factor", "firmware")
    )
    assert ("400GBASE-DR4 (Cl 124)", 400.0) == (module["media"], module["speed_gbps"])
    ports = {row["interface"]: row for row in rows(PORT_SAMPLES)}
    assert (100, 7) == (ports["Ethernet0"]["in_packets"], ports["Ethernet4"]["in_packets"])
    assert (False, True) == (ports["Ethernet4"]["oper_up"], ports["Ethernet0"]["oper_up"])


def test_counters_are_joined_by_their_name_map(take: Take, rows: Rows) -> None:
    """N/A is null and not 0 (row 61); sixteen bins; the port's own BER of RATES; flags are tri-state (row 32)."""
    take("sonic_dump.json", given=UNNAMED)

    port = rows(PORT_SAMPLES)[0]
    assert (130402, [1000, *[0] * 14, 2], 2.4e-08) == (port["fec_corrected"], port["fec_bins"], port["pre_fec_ber"])
    assert (True, False) == (port["rx_los"], port["cdr_lol"])
    assert not {"fec_uncorrected", "tx_fault"} & port.keys()


def test_counters_without_their_name_map_are_said(read: Read, quarantine: Any) -> None:
    """An oid alone is nobody's port."""
    read(json.dumps({"COUNTERS:oid:0x1": {"SAI_PORT_STAT_IF_IN_UCAST_PKTS": "1"}}))

    assert ["counters of ports that no COUNTERS_PORT_NAME_MAP names"] == [f.reason for f in quarantine.findings]


def test_tables_may_be_nested_as_in_config_db(read: Read) -> None:
    """sonic-cfggen and gNMI answer by table."""
    (reading,) = read(json.dumps({"TRANSCEIVER_DOM_SENSOR": {"Ethernet0": {"rx1power": "-2.5"}}}))

    assert ("Ethernet0", -2.5) == (reading.interface, reading.values[1, "rx_power_dbm"])


def test_databases_that_follow_each_other_are_of_one_device(read: Read) -> None:
    """The device, its ports and what they count lie in different ones; releases to 201911 have other keys."""
    databases = (
        {"DEVICE_METADATA": {"localhost": {"hostname": "leaf08"}}, "PORT": {"Ethernet0": {"index": "0"}}},
        {"TRANSCEIVER_INFO|Ethernet0": {"serialnum": "LM1", "modelname": "LM-X", "manufacturename": "Lumora"}},
        {"COUNTERS_PORT_NAME_MAP": {"Ethernet0": "oid:0x1"}},
        {"COUNTERS:oid:0x1": {"SAI_PORT_STAT_IF_IN_UCAST_PKTS": "5"}},
    )
    (reading,) = read(
        "\n".join(map(json.dumps, databases[1:])) + "\n" + json.dumps(databases[0] | databases[1]), UNNAMED
    )

    assert ("leaf08", "LM1", {"in_packets": 5}) == (reading.device, reading.module["serial"], reading.counters)


def test_an_object_a_key_is_a_dump_too(read: Read) -> None:
    """As the other redis-dump writes it, a line each."""
    keys = (
        {"db": 6, "key": "TRANSCEIVER_DOM_SENSOR|Ethernet0", "ttl": -1, "type": "hash", "value": {"rx1power": "-2.5"}},
        {"db": 6, "key": "TRANSCEIVER_INFO|Ethernet0", "ttl": -1, "type": "hash", "value": {"serial": "LM1"}},
    )
    (reading,) = read("\n".join(map(json.dumps, keys)))

    assert (-2.5, "LM1") == (reading.values[1, "rx_power_dbm"], reading.module["serial"])


def test_the_eeprom_command_tells_the_same(read: Read, sample: Sample, quarantine: Any) -> None:
    """Units behind the numbers, limits with the columns aligned, an SFP's one lane, a cage without module."""
    first, single = read(sample("sonic_eeprom.txt"))

    assert ("Ethernet0", "LM0000400", "QSFP-DD", "1.4.2") == (
        first.interface,
        *(first.module[name] for name in ("serial", "form_factor", "firmware")),
    )
    assert (0.3802, float("-inf"), 6.76) == (
        first.values[1, "rx_power_dbm"],
        first.values[2, "rx_power_dbm"],
        first.values[2, "tx_bias_ma"],
    )
    assert {"high_alarm": 3.4001, "low_alarm": -13.5067} == first.limits["rx_power_dbm"]
    assert (30.9258, 3.2824) == (first.values[0, "temperature_c"], first.values[0, "voltage_v"])
    assert ("Ethernet48", -2.1) == (single.interface, single.values[1, "rx_power_dbm"])
    assert ["(text):37"] == [finding.where for finding in quarantine.findings]


def test_status_performance_and_fec_tables(read: Read, sample: Sample, quarantine: Any) -> None:
    """One lane without signal is a port without; of min, avg and max the mean is taken; down ports say N/A."""
    (status,) = read(sample("sonic_status.txt"))
    (performance,) = read(sample("sonic_pm.txt"))
    up, down = read(sample("sonic_fec.txt"))

    assert {"rx_los": True, "tx_fault": False, "cdr_lol": False} == status.states
    assert {(0, "pre_fec_ber"): 4.66e-04} == performance.values
    assert ({"fec_corrected": 130402, "fec_uncorrected": 3}, 1.2e-08) == (up.counters, up.values[0, "pre_fec_ber"])
    assert ({}, {"oper_up": False}) == (down.counters, down.states)
    assert ["not as many cells as the table has columns"] == [finding.reason for finding in quarantine.findings]


def test_hgetall_in_three_spellings(read: Read, sample: Sample, quarantine: Any) -> None:
    """Numbered, as a dictionary, as lines in turn; a field without a value is refused by itself."""
    first, other = read(sample("sonic_hgetall.txt"))

    assert ("Ethernet0", "LM0000100", -1.25) == (
        first.interface,
        first.module["serial"],
        first.values[1, "rx_power_dbm"],
    )
    assert {(0, "temperature_c"): 41.0, (1, "rx_power_dbm"): -3.5} == other.values
    assert [("a field without a value", "(text):16")] == [(f.reason, f.where) for f in quarantine.findings]


def _named_by_gnmi() -> dict[str, str]:
    """SONiC's fields and their columns, as the paths of gNMI have them, for lane 2, bin 3 and the high alarm."""
    told = yaml.safe_load((Path(gnmi.__file__).parent / "paths" / "sonic.yaml").read_text(encoding="utf-8"))
    words = {"{lane}": "2", "{bin}": "3", "{side}": "high", "{level}": "alarm"}
    found = {}
    for leaves in told["leaves"]:
        for pair in leaves["fields"].items():
            key, column = (re.sub(r"\{\w+\}", lambda word: words.get(word[0], ""), text) for text in pair)
            if leaves["at"].partition("/")[0] in {*TABLES, "COUNTERS"} and column != "cage":
                found[key] = column
    return found


def test_dumps_and_streams_agree_on_what_sonics_fields_mean() -> None:
    """The same key is the same column, whichever way it comes."""
    apart = {}
    for key, column in _named_by_gnmi().items():
        reading = Reading(1)
        take_field(reading, key, "{'code': 'x'}" if column == "media" else "1")
        limits = {
            f"{name.rpartition('_')[0]}_{level}_{name.rpartition('_')[2]}"
            for name, levels in reading.limits.items()
            for level in levels
        }
        found = {name for _, name in reading.values} | reading.states.keys() | reading.counters.keys() | limits
        found |= reading.module.keys() | ({"fec_bins"} if reading.fec_bins else set())
        if found != {column}:
            apart[key] = (column, found)

    assert {} == apart


@pytest.mark.skipif(not GNMI.is_dir(), reason="no recordings beside the repository")
@pytest.mark.parametrize("name", ["sonic_state_db_transceiver", "sonic_state_db_dom_oddities"])
def test_recorded_databases_come_to_their_normal_form(take: Take, rows: Rows, name: str) -> None:
    """Every reading of the recording, and none that is not in it; 0 mA of a dark lane is a reading."""
    take(GNMI / f"{name}.json", given=Given(device="leaf", at=AT))

    expected = GNMI / f"{name}.expected.json"
    found = {
        (row["interface"], row["lane"], column): value
        for row in rows(LANE_SAMPLES)
        for column, value in row.items()
        if column in ("rx_power_dbm", "tx_power_dbm", "tx_bias_ma")
    }
    assert found
    assert all(-40.0 <= value < 8.16 for (_, _, column), value in found.items() if column.endswith("dbm"))
    if expected.is_file():
        wanted = {
            (fact["port"], fact["lane"], fact["quantity"]): fact["value"]
            for fact in json.loads(expected.read_text())
            if fact["lane"] is not None
        }
        assert wanted.keys() == found.keys()
        assert all(abs(wanted[key] - found[key]) < CLOSE for key in wanted)


@pytest.mark.skipif(not GNMI.is_dir(), reason="no recordings beside the repository")
def test_recorded_counters_keep_their_bins(take: Take, rows: Rows) -> None:
    """Three ports by their names, sixteen bins of the one that has them."""
    take(GNMI / "sonic_counters_db_fec.json", given=Given(device="leaf", at=AT))

    ports = {row["interface"]: row for row in rows(PORT_SAMPLES)}
    assert {"Ethernet0", "Ethernet4", "Ethernet8"} == set(ports)
    assert (130402, 16) == (ports["Ethernet0"]["fec_corrected"], len(ports["Ethernet0"]["fec_bins"]))


def test_readings_under_names_that_are_not_known_are_told(take: Take, rows: Rows, tmp_path: Path) -> None:
    """Another release's names would be a module without light, which nobody would miss."""
    told = {"TRANSCEIVER_DOM_SENSOR|Ethernet0": {"rxlevel1": "-1.5", "last_update_time": "now"}}
    aside = {"TRANSCEIVER_DOM_SENSOR|Ethernet4": {"rx1power": "N/A", "last_update_time": "now"}}
    (dump := tmp_path / "STATE_DB.json").write_text(json.dumps(told | aside))

    report = take(dump, given=Given(device="leaf07", at=AT))

    assert [] == rows(LANE_SAMPLES)
    assert ["none of its fields is a reading that is known"] == [
        finding.reason for finding in report.findings if finding.kind is Kind.ROW
    ]


def test_a_cmis_module_as_it_is_printed_says_firmware_and_media(read: Read) -> None:
    """Its first application is what it is for; the others stand in lines of their own."""
    application = "400GAUI-8 C2M (Annex 120E) - Host Assign (0x1) - 400GBASE-DR4 (Cl 124) - Media Assign (0x1)"
    lines = (
        "Ethernet16: SFP EEPROM detected",
        "        Active Firmware Version: 61.20",
        f"        Application Advertisement: {application}",
        "                100GAUI-2 C2M (Annex 135G) - Host Assign (0x55) - 100GBASE-DR (Cl 140) - Media Assign (0xf)",
        "        Identifier: QSFP-DD Double Density 8X Pluggable Transceiver",
        "        ChannelMonitorValues:",
        "                RX1Power: -1.7 dBm",
    )

    (reading,) = read("\n".join(lines))

    assert ("61.20", "400GBASE-DR4 (Cl 124)", "QSFP-DD") == tuple(
        reading.module[name] for name in ("firmware", "media", "form_factor")
    )
    assert {(1, "rx_power_dbm"): -1.7} == reading.values


@pytest.mark.parametrize("shape", ["a document each", "below names of namespaces", "below names of databases"])
def test_asics_that_number_their_ports_alike_keep_their_counters_apart(
    take: Take, rows: Rows, tmp_path: Path, shape: str
) -> None:
    """Each ASIC's COUNTERS_DB begins its oids anew."""

    def counters(port: str, packets: int) -> dict[str, Any]:
        return {
            "COUNTERS_PORT_NAME_MAP": {"type": "hash", "value": {port: "oid:0x1000000000001"}},
            "COUNTERS:oid:0x1000000000001": {"value": {"SAI_PORT_STAT_IF_IN_UCAST_PKTS": str(packets)}, "type": "hash"},
            "RATES:oid:0x1000000000001": {"value": {"FEC_PRE_BER": f"{packets}e-9"}, "type": "hash"},
        }

    asics = counters("Ethernet0", 7), counters("Ethernet256", 9)
    text = {
        "a document each": "\n".join(map(json.dumps, asics)),
        "below names of namespaces": json.dumps(dict(zip(("asic0", "asic1"), asics, strict=True))),
        "below names of databases": json.dumps({f"asic{n}": {"COUNTERS_DB": each} for n, each in enumerate(asics)}),
    }
    (dump := tmp_path / "COUNTERS_DB.json").write_text(text[shape])

    take(dump, given=Given(device="leaf07", at=AT))

    ports = rows(PORT_SAMPLES)
    assert [("Ethernet0", 7), ("Ethernet256", 9)] == [(row["interface"], row["in_packets"]) for row in ports]
    assert pytest.approx([7e-9, 9e-9]) == [row["pre_fec_ber"] for row in ports]


def test_a_list_of_keys_and_a_database_of_configuration_are_read(take: Take, rows: Rows, tmp_path: Path) -> None:
    """The hostname may stand in a document of its own, which tells of no transceiver."""
    listed = [
        {"key": "TRANSCEIVER_INFO|Ethernet0", "type": "hash", "value": {"serial": "S0"}},
        {"key": "TRANSCEIVER_DOM_SENSOR|Ethernet0", "type": "hash", "value": {"rx1power": "-1.5"}},
    ]
    configured = {"DEVICE_METADATA|localhost": {"hostname": "leaf77"}, "PORT|Ethernet0": {"speed": "100000"}}
    (dump := tmp_path / "dump.json").write_text(f"{json.dumps(listed)}\n{json.dumps(configured)}\n")

    take(dump, given=UNNAMED)

    (lane,), (module,) = rows(LANE_SAMPLES), rows(MODULES)
    assert ("leaf77", "S0", 100.0) == (lane["device"], module["serial"], module["speed_gbps"])


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"rx1power": "-0.5dBm", "tx1power": "N/A", "tx1bias": "6.75mA"}, (-0.5, None, 6.75), id="201911"),
        pytest.param({"rx1power": "-inf", "tx1power": "-infdBm", "tx1bias": "0.0"}, (-40.0, -40.0, 0.0), id="no light"),
        pytest.param({"rx1_power": "-2", "tx1_power": "1", "tx1_bias": "61"}, (-2.0, 1.0, 61.0), id="underscores"),
        pytest.param({"rx_power_1": "-2", "tx_power_1": "1", "tx_bias_1": "61"}, (-2.0, 1.0, 61.0), id="lane behind"),
        pytest.param({"RX1Power": "-2", "TX1Power": "inf", "TX1Bias": "-inf"}, (-2.0, None, None), id="capitals"),
    ],
)
def test_lanes_of_every_release_are_lanes(
    take: Take, rows: Rows, tmp_path: Path, fields: dict[str, str], expected: tuple[float | None, ...]
) -> None:
    """Units, N/A, infinities and spellings from 201911 to 202405; the voltage of 201911 had its unit, too."""
    dump = {
        "TRANSCEIVER_INFO|Ethernet8": {"type": "QSFP28 or later", "serialnum": "S8", "manufacturename": "ACME"},
        "TRANSCEIVER_DOM_SENSOR|Ethernet8": {"temperature": "45.3C", "voltage": "3.2974Volts", **fields},
        "PORT_TABLE|Ethernet8": {"netdev_oper_status": "up"},
    }
    (file := tmp_path / "STATE_DB.json").write_text(json.dumps(dump))

    take(file, given=Given(device="leaf07", at=AT))

    (lane,), (port,), (module,) = rows(LANE_SAMPLES), rows(PORT_SAMPLES), rows(MODULES)
    names = ("rx_power_dbm", "tx_power_dbm", "tx_bias_ma")
    assert expected == tuple(pytest.approx(lane[name]) if name in lane else None for name in names)
    assert (pytest.approx(45.3), pytest.approx(3.2974)) == (port["temperature_c"], port["voltage_v"])
    assert ("S8", "ACME", "QSFP28") == (module["serial"], module["vendor"], module["form_factor"])


def test_eight_lanes_of_cmis_with_all_their_tables(take: Take, rows: Rows, tmp_path: Path) -> None:
    """An 800G module of 202405: DOM, VDM, flags, status, limits; unlit and unknown lanes beside lit ones."""
    dom = {f"tx{n}power": str(1 + n / 10) for n in range(1, 9)} | {f"tx{n}bias": "75.5" for n in range(1, 9)}
    dom |= {f"rx{n}power": str(-n) for n in range(1, 7)} | {"rx7power": "-inf", "rx8power": "N/A"}
    vdm = {f"prefec_ber_curr_media_input{n}": f"{n}e-7" for n in range(1, 9)}
    vdm |= {f"esnr_media_input{n}": str(20 + n) for n in range(1, 9)} | {"laser_temperature_media1": "44.5"}
    flags = {f"rx{n}los": str(n == 7) for n in range(1, 9)} | {f"tx{n}fault": "N/A" for n in range(1, 9)}
    dump = {
        "TRANSCEIVER_INFO|Ethernet0": {"type": "OSFP 8X Pluggable Transceiver", "serial": "S0", "cmis_rev": "5.0"},
        "TRANSCEIVER_DOM_SENSOR|Ethernet0": {**dom, "temperature": "45.3", "voltage": "3.3"},
        "TRANSCEIVER_VDM_REAL_VALUE|Ethernet0": vdm,
        "TRANSCEIVER_STATUS_FLAG|Ethernet0": flags,
        "TRANSCEIVER_STATUS|Ethernet0": {"cmis_state": "READY", "module_state": "ModuleReady"},
        "TRANSCEIVER_DOM_FLAG|Ethernet0": {"rx7powerLAlarm": "True"},
        "TRANSCEIVER_VDM_HALARM_FLAG|Ethernet0": {"prefec_ber_curr_media_input1": "False"},
        "TRANSCEIVER_DOM_THRESHOLD|Ethernet0": {"rxpowerlowalarm": "-13.5", "rxpowerlowwarning": "N/A"},
    }
    (file := tmp_path / "STATE_DB.json").write_text(
        json.dumps({k: {"type": "hash", "value": v} for k, v in dump.items()})
    )

    report = take(file, given=Given(device="leaf07", at=AT))

    lanes, (port,), (module,) = rows(LANE_SAMPLES), rows(PORT_SAMPLES), rows(MODULES)
    assert [] == report.findings
    assert [*map(float, range(-1, -7, -1)), -40.0, None] == [lane.get("rx_power_dbm") for lane in lanes]
    assert [pytest.approx(n * 1e-7) for n in range(1, 9)] == [lane["pre_fec_ber"] for lane in lanes]
    assert (44.5, 28.0) == (lanes[0]["laser_temperature_c"], lanes[7]["snr_db"])
    assert (True, None) == (port["rx_los"], port.get("tx_fault"))
    assert ("OSFP", -13.5) == (module["form_factor"], module["rx_power_low_alarm_dbm"])


def test_what_a_command_prints_is_known_by_its_readings_too(take: Take, rows: Rows, tmp_path: Path) -> None:
    """A release whose title line is another one."""
    (file := tmp_path / "dom.txt").write_text(
        "Ethernet0: DOM information\n        ChannelMonitorValues:\n                RX1Power: -1.5dBm\n"
        "        Vendor Serial Number: S0\n        Vendor Part Number: P0\n"
    )

    take(file, given=Given(device="leaf07", at=AT))

    (lane,), (module,) = rows(LANE_SAMPLES), rows(MODULES)
    assert ("Ethernet0", -1.5, "S0", "P0") == (
        lane["interface"],
        lane["rx_power_dbm"],
        module["serial"],
        module["part_number"],
    )
