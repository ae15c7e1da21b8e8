"""`forelight collect --explain` of a device that streams: what it can do, what is read of it, and what is not."""

import json
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def _target(site: Any, port: int) -> None:
    with site.config.open("a") as file:
        file.write(f'[[target]]\ndevice = "leaf1"\naddress = "localhost"\nport = {port}\nprotocol = "gnmi"\n')
        file.write("[target.gnmi]\ninsecure = true\ntimeout_s = 3\n")


def test_it_tells_the_paths_the_modules_and_what_is_not_told(site: Any, server: Any) -> None:
    _target(site, server.port)

    done = site.run("--explain", "leaf1")

    assert 0 == done.returncode, done.stderr
    assert "leaf1: gNMI 0.8.0" in done.stdout
    assert "paths openconfig: it has openconfig-" in done.stdout
    assert "SN0001" in done.stdout
    assert "not told: channel " in done.stdout
    assert "sysObjectID" not in done.stdout
    assert not site.home.joinpath("lake").exists()


def test_as_json_readings_counts_and_reasons_are_there(site: Any, server: Any, tree: Any) -> None:
    """A component at no port is named: a reading without its place is nobody's."""
    tree.put("components/component[name=Slot 99 transceiver]/transceiver/state/serial-no", "LOST")
    _target(site, server.port)

    told = json.loads(site.run("--explain", "leaf1", "--json").stdout)

    assert ["openconfig"] == [tried["profile"] for tried in told["tried"]]
    assert {"Ethernet1/1"} <= {reading["interface"] for reading in told["readings"]}
    assert told["rows"]["component rx_power_dbm"]
    assert ["component Slot 99 transceiver: has a transceiver, and is at no port"] == [
        line for line in told["unread"] if "Slot 99" in line
    ]


def test_a_device_that_does_not_answer_is_one_line(site: Any, server: Any) -> None:
    _target(site, server.port)
    server.stop()

    done = site.run("--explain", "leaf1")

    assert 1 == done.returncode
    assert done.stderr.splitlines()[-1].startswith("forelight: leaf1: ")
