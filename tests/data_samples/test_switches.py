"""Simulated switches: what a collector reads from them is what the fleet last said."""

import asyncio
import csv
from pathlib import Path

import polars as pl
import pytest

from data_samples.switches import SimulatedSwitches, SimulatorError, SwitchRecording, write_recordings
from ingest.decode.discover import Decoded, columns_to_walk, decode
from ingest.decode.interfaces import text_of
from ingest.decode.profile import profiles_for
from ingest.snmp.gufo import GufoTransport
from ingest.snmp.transport import ReplayTransport, Transport

SAMPLE = Path(__file__).parents[2] / "data_samples" / "sample"
PROFILES = {"eos": "entity_sensor", "nxos": "cisco_entity_sensor", "junos": "juniper_dom"}
PRECISION = {"tx_power_dbm": 0.006, "rx_power_dbm": 0.006, "tx_bias_ma": 0.006}
"""Half of the coarsest step: 0.01 dBm (Junos), 0.01 mA (EOS); at the floor of 0.1 uW it is more."""


@pytest.fixture(name="recordings", scope="module")
def _recordings(tmp_path_factory: pytest.TempPathFactory) -> list[SwitchRecording]:
    return write_recordings(tmp_path_factory.mktemp("recordings"), SAMPLE)


async def _ask(transport: Transport) -> tuple[str, Decoded]:
    object_id = text_of((await transport.walk("1.3.6.1.2.1.1.2")).get("0"))
    profile = profiles_for(object_id)[0]
    plan = columns_to_walk(profile)
    cells = {column: await transport.walk(column) for column in (*plan.needed, *plan.extra)}
    transport.close()
    return profile.name, decode(cells, profile)


def _replay(recording: SwitchRecording) -> tuple[str, Decoded]:
    return asyncio.run(_ask(ReplayTransport.read(recording.path)))


def _last_rows(device: str) -> pl.DataFrame:
    """The last sample of each port of a device that is up and has DOM."""
    rows = pl.read_parquet(SAMPLE / "telemetry" / "*.parquet").filter(pl.col("device") == device)
    last = rows.filter(pl.col("time") == pl.col("time").max().over("interface"))
    return last.filter(pl.col("oper_up"), pl.col("temperature_c").is_not_null())


def test_there_is_one_switch_of_each_system(recordings: list[SwitchRecording]) -> None:
    assert ["eos", "nxos", "junos"] == [recording.system for recording in recordings]
    assert ["leaf000", "leaf001", "leaf002"] == [recording.community for recording in recordings]


def test_each_is_read_by_its_own_profile(recordings: list[SwitchRecording]) -> None:
    assert list(PROFILES.values()) == [_replay(recording)[0] for recording in recordings]


def test_readings_are_the_last_of_the_history_lane_by_lane(recordings: list[SwitchRecording]) -> None:
    for recording in recordings:
        found = {(r.interface, r.lane, r.quantity): r.value for r in _replay(recording)[1].readings}
        rows = _last_rows(recording.device).to_dicts()

        assert rows
        for row in rows:
            for quantity, step in PRECISION.items():
                value = found[row["interface"], row["lane"], quantity]
                assert row[quantity] == pytest.approx(value, abs=step)


def test_modules_have_the_serials_of_the_inventory(recordings: list[SwitchRecording]) -> None:
    with (SAMPLE / "inventory.csv").open(encoding="utf-8") as file:
        modules = [row for row in csv.DictReader(file) if not row["removed_at"]]
    serials = {(row["device"], row["interface"]): row["serial"] for row in modules}

    for recording in recordings:
        inventory = _replay(recording)[1].inventory

        assert inventory
        assert {name: serials[recording.device, name] for name in inventory} == {
            name: module.serial for name, module in inventory.items()
        }


def test_limits_are_those_of_the_inventory(recordings: list[SwitchRecording]) -> None:
    with (SAMPLE / "inventory.csv").open(encoding="utf-8") as file:
        modules = {(row["device"], row["interface"]): row for row in csv.DictReader(file)}
    for recording in recordings:
        limits = _replay(recording)[1].map.limits

        assert limits
        for interface, told in limits.items():
            row = modules[recording.device, interface]
            assert float(row["rx_low_warn_dbm"]) == pytest.approx(told["rx_power_low_warn_dbm"], abs=0.01)
            assert float(row["tx_bias_high_alarm_ma"]) == pytest.approx(told["tx_bias_high_alarm_ma"], abs=0.01)


def test_a_recording_says_that_it_is_made(recordings: list[SwitchRecording]) -> None:
    assert all("synthetic recording" in recording.path.read_text() for recording in recordings)


def test_a_device_that_is_no_switch_of_the_fleet_is_named(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match="leaf999"):
        write_recordings(tmp_path, SAMPLE, ["leaf999"])


@pytest.mark.snmpd
def test_the_simulator_serves_every_switch_and_stops(recordings: list[SwitchRecording]) -> None:
    pytest.importorskip("snmpsim", reason="snmpsim is not installed")
    with SimulatedSwitches(recordings) as switches:
        for recording in recordings:
            profile, live = asyncio.run(_ask(GufoTransport(switches.host, switches.port, recording.community)))
            by_replay, replayed = _replay(recording)

            assert by_replay == profile
            assert replayed.readings == live.readings
            assert (replayed.states, replayed.inventory) == (live.states, live.inventory)
        process = switches._process
    assert process is not None
    assert process.poll() is not None


@pytest.mark.snmpd
def test_a_recording_that_cannot_be_served_is_an_error_that_says_so(tmp_path: Path) -> None:
    pytest.importorskip("snmpsim", reason="snmpsim is not installed")
    (tmp_path / "leaf000.snmprec").write_text("")
    empty = SwitchRecording("leaf000", "eos", tmp_path / "leaf000.snmprec", 0)

    with pytest.raises(SimulatorError, match="leaf000 does not answer"):
        SimulatedSwitches([empty], start_s=3.0).__enter__()
