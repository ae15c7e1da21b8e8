"""Profiles that no real walk backs read their MIB as it is defined: recordings typed from it, value by value."""

import asyncio
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import ingest.decode.profile
from ingest.decode.discover import Decoded, columns_to_walk, decode
from ingest.decode.interfaces import text_of
from ingest.decode.profile import load_profile, profiles, profiles_for
from ingest.snmp.transport import ReplayTransport

MADE = sorted(Path(__file__).with_name("recordings").glob("*/walk.snmprec"))
RECORDED = {"cisco_entity_sensor", "dell_os9", "entity_sensor", "huawei_vrp", "juniper_dom", "mikrotik"}
"""Backed by real walks: tests/ingest/test_snmp_recordings.py."""
PROFILES = Path(ingest.decode.profile.__file__).with_name("profiles")

Ports = dict[str, dict[str, Any]]

walks = pytest.mark.parametrize("walk", MADE, ids=lambda path: path.parent.name)


async def _ask(transport: ReplayTransport) -> Decoded:
    object_id = text_of((await transport.walk("1.3.6.1.2.1.1.2")).get("0"))
    profile = profiles_for(object_id)[0]
    plan = columns_to_walk(profile)
    return decode({column: await transport.walk(column) for column in (*plan.needed, *plan.extra)}, profile)


@cache
def _replayed(walk: Path) -> Decoded:
    return asyncio.run(_ask(ReplayTransport.read(walk)))


def _expected(walk: Path) -> Ports:
    ports: Ports = json.loads(walk.with_name("expected.json").read_text())
    return ports


def _unbacked(names: Iterable[str]) -> list[str]:
    """Profiles that neither a real nor a made recording backs."""
    return sorted(set(names) - RECORDED - {walk.parent.name for walk in MADE})


@walks
def test_a_made_recording_says_that_it_was_made(walk: Path) -> None:
    assert walk.read_text().startswith("# Made, not recorded: ")


@walks
def test_a_device_is_read_by_the_profile_that_its_recording_is_named_after(walk: Path) -> None:
    assert walk.parent.name == _replayed(walk).map.profile


def test_cisco_catalyst_1300_may_have_the_small_switches_mib() -> None:
    tried = [profile.name for profile in profiles_for("1.3.6.1.4.1.9.1.9999")]
    assert tried == ["cisco_entity_sensor", "cisco_small_business", "entity_sensor"]


def test_what_runs_on_a_switch_of_fs_is_tried_in_turn() -> None:
    """FS sells switches of three makers; only some models of BDCOM's are known by number."""
    known, other = (profiles_for(f"1.3.6.1.4.1.52642.1.{model}.0") for model in (458, 9999))
    assert [profile.name for profile in known] == ["bdcom", "fs_centec", "ruijie", "entity_sensor"]
    assert [profile.name for profile in other] == ["fs_centec", "ruijie", "bdcom", "entity_sensor"]


@walks
def test_every_value_is_the_expected_one_and_there_is_no_other(walk: Path) -> None:
    expected = {
        (port, int(lane), quantity): value
        for port, module in _expected(walk).items()
        for lane, values in module["lanes"].items()
        for quantity, value in values.items()
    }
    got = {(r.interface, r.lane, r.quantity): r.value for r in _replayed(walk).readings if r.value is not None}

    assert expected == pytest.approx(got, abs=1e-4)


@walks
def test_limits_and_marks_need_not_be_walked_for_the_readings(walk: Path) -> None:
    """The collector chooses a profile by the readings that the needed columns give."""
    profile = load_profile(walk.parent.name)
    cells = _replayed(walk).map.cells
    needed = decode({oid: cells[oid] for oid in columns_to_walk(profile).needed}, profile)

    assert _replayed(walk).readings == needed.readings


@walks
def test_modules_are_known_also_those_that_give_no_reading(walk: Path) -> None:
    expected = {port: (m["serial"], m["part_number"], m["vendor"]) for port, m in _expected(walk).items()}
    expected = {port: told for port, told in expected.items() if any(told)}
    inventory = _replayed(walk).inventory

    assert expected == {port: (m.serial, m.part_number, m.vendor) for port, m in inventory.items()}


@walks
def test_limits_are_the_modules_own(walk: Path) -> None:
    expected = {port: m["limits"] for port, m in _expected(walk).items() if m["limits"]}
    limits = {port: dict(found) for port, found in _replayed(walk).map.limits.items() if found}

    assert expected.keys() == limits.keys()
    for port, of_port in expected.items():
        assert of_port == pytest.approx(limits[port], abs=1e-4), port


@walks
def test_what_is_calibrated_outside_the_module_is_marked(walk: Path) -> None:
    expected = {port for port, module in _expected(walk).items() if module.get("uncalibrated")}

    assert expected == _replayed(walk).map.uncalibrated


def test_every_profile_is_backed_by_a_recording() -> None:
    """A vendor file without a walk beside it is a guess."""
    assert [] == _unbacked(profiles())


def test_a_profile_that_no_recording_backs_is_refused() -> None:
    assert ["acme"] == _unbacked([*profiles(), "acme"])


@pytest.mark.parametrize("profile", profiles())
def test_every_profile_is_valid_and_short(profile: str) -> None:
    lines = (PROFILES / f"{profile}.yaml").read_text().splitlines()

    assert profile == load_profile(profile).name
    assert len(lines) <= 40
