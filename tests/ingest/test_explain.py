"""`forelight collect --explain`: which profile and why, what is read and what is not, and why a device is silent."""

import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.device, pytest.mark.snmpd]


def test_it_tells_the_profile_the_modules_and_what_is_not_read(site: Any, responder: Any) -> None:
    site.target("arista-eos", responder.port, "arista-eos")

    done = site.run("--explain", "arista-eos")

    assert (0, "") == (done.returncode, done.stderr)
    assert "profile entity_sensor: fits sysObjectID 1.3.6.1.4.1.30065" in done.stdout
    assert "G1904016438" in done.stdout
    assert "neighbour: " in done.stdout
    assert not site.home.joinpath("lake").exists()


def test_as_json_every_reading_and_every_reason_is_there(site: Any, responder: Any) -> None:
    site.target("cisco-iosxr-asr9010", responder.port, "cisco-iosxr-asr9010")

    told = json.loads(site.run("--explain", "cisco-iosxr-asr9010", "--json").stdout)

    assert ["cisco_entity_sensor"] == [tried["profile"] for tried in told["tried"]]
    assert any("-32768 is no value that a module can have" in line for line in told["unread"])
    assert {"GigabitEthernet0/0/1/0"} <= {reading["interface"] for reading in told["readings"]}


def test_a_silent_device_is_one_line_that_says_why(site: Any, agent: Callable[..., Any]) -> None:
    site.target("leaf07", agent(lambda _: None).port, "any", timeout_s=0.2)

    done = site.run("--explain", "leaf07")

    assert 1 == done.returncode
    assert done.stderr.startswith("forelight: leaf07: localhost:")
    assert "silence" in done.stderr


def test_an_unknown_device_names_those_there_are(site: Any) -> None:
    site.target("leaf01", 9, "any")

    done = site.run("--explain", "leaf99")

    assert 1 == done.returncode
    assert "no target 'leaf99'; there are leaf01" in done.stderr
