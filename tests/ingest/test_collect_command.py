"""`forelight collect` as an operator runs it: exit codes, one clear line, rows in the lake."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from ingest.schema import MODULES, PORT_EVENTS, PORT_SAMPLES

pytestmark = [pytest.mark.device, pytest.mark.snmpd, pytest.mark.slow]


def test_once_polls_every_target_into_the_lake(site: Any, responder: Any) -> None:
    names = ["cisco-nxos-n9k", "dell-z9100", "juniper-mx5"]
    for name in names:
        site.target(name, responder.port, name)

    done = site.run("--once")

    assert (0, "") == (done.returncode, done.stderr)
    assert all(name in done.stdout for name in names)
    assert set(names) == site.devices()
    assert {7 + 21 + 5} == {site.lake.scan(table).collect().height for table in (PORT_SAMPLES, MODULES)}


def test_a_second_run_installs_nothing_again(site: Any, responder: Any) -> None:
    site.target("cisco-nxos-n9k", responder.port, "cisco-nxos-n9k")

    assert [0, 0] == [site.run("--once").returncode for _ in range(2)]
    assert 7 == site.lake.scan(MODULES).collect().height
    assert 14 == site.lake.scan(PORT_SAMPLES).collect().height


def test_a_silent_target_is_one_line_and_exit_1_and_the_rest_is_kept(
    site: Any, responder: Any, agent: Callable[..., Any]
) -> None:
    silent = agent(lambda _: None)
    site.target("leaf07", silent.port, "any", timeout_s=0.2)
    site.target("cisco-nxos-n9k", responder.port, "cisco-nxos-n9k")

    done = site.run("--once")

    assert 1 == done.returncode
    assert done.stderr.startswith(
        f"forelight: leaf07: no answer within 1 s from localhost:{silent.port} (wrong address"
    )
    assert 1 == done.stderr.count("\n")
    assert {"cisco-nxos-n9k"} == site.devices()


def test_a_wrong_community_is_told_as_silence(site: Any, responder: Any) -> None:
    site.target("leaf01", responder.port, "not-the-community", timeout_s=0.5)

    done = site.run("--once")

    assert 1 == done.returncode
    assert "wrong community: agents do not answer those" in done.stderr


def test_json_is_for_machines(site: Any, responder: Any, agent: Callable[..., Any]) -> None:
    silent = agent(lambda _: None)
    site.target("leaf07", silent.port, "any", timeout_s=0.2)
    site.target("dell-z9100", responder.port, "dell-z9100")

    done = site.run("--once", "--json")
    answer = json.loads(done.stdout)
    failed, polled = answer["targets"]

    assert 1 == answer["failed"]
    assert ("leaf07", None) == (failed["device"], failed["profile"])
    assert "no answer" in failed["error"]
    assert ("dell_os9", 21, 24, None) == (polled["profile"], polled["ports"], polled["lane_rows"], polled["error"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("[colect]\n", "unknown key 'colect'; the nearest is 'collect'"), ("not toml", "forelight.toml")],
)
def test_a_configuration_that_cannot_be_is_one_line(site: Any, text: str, expected: str) -> None:
    site.config.write_text(text)

    done = site.run("--once")

    assert 1 == done.returncode
    assert expected in done.stderr
    assert 1 == done.stderr.count("\n")


def test_a_community_in_the_file_is_warned_about_and_not_shown(site: Any, responder: Any) -> None:
    with site.config.open("a") as file:
        file.write(f'[[target]]\ndevice = "edge"\naddress = "127.0.0.1"\nport = {responder.port}\n')
        file.write('[target.snmp]\ncommunity = "mikrotik-crs317"\n')

    done = site.run("--once")

    assert 0 == done.returncode
    assert "forelight: warning: edge: community stands in the file" in done.stderr
    assert "mikrotik-crs317" not in done.stdout + done.stderr
    assert "no transceiver" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_sweeps_after_the_write(site: Any, responder: Any, number: signal.Signals) -> None:
    site.target("cisco-nxos-n9k", responder.port, "cisco-nxos-n9k")
    with subprocess.Popen(site.command(), env=site.env, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not site.devices() and time.monotonic() < until:
            time.sleep(0.2)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)

    assert 0 == process.returncode
    assert "1 of 1 targets, 7 lane rows" in said
    assert {"cisco-nxos-n9k"} == site.devices()


def test_syslog_is_heard_beside_the_sweeps(site: Any, responder: Any) -> None:
    """A message of a port that the sweep has found becomes its event, under the port's own name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    site.collect(more=f"[syslog]\nudp_port = {port}")
    site.target("cisco-nxos-n9k", responder.port, "cisco-nxos-n9k")
    message = b"<189>Mar  1 10:00:00 cisco-nxos-n9k %ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Eth1/25 is down"
    with subprocess.Popen(site.command(), env=site.env, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not site.lake.exists(PORT_EVENTS) and time.monotonic() < until:
            if site.lake.exists(MODULES):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
                    out.sendto(message, ("127.0.0.1", port))
            time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)

    assert 0 == process.returncode, said
    event = site.lake.latest(PORT_EVENTS).collect().row(0, named=True)
    assert ("cisco-nxos-n9k", "Ethernet1/25", "down", "syslog") == tuple(
        event[name] for name in ("device", "interface", "kind", "source")
    )


def test_more_targets_than_open_files_raise_the_limit() -> None:
    """A soft limit of 1,024, as systemd and shells set it, would end 2,000 targets' sockets half-way."""
    script = (
        "import resource; hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, min(hard, 500)))\n"
        "from serving.cli.collect import allow_sockets\n"
        "allow_sockets(100); print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
        "allow_sockets(9_000); print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ["356", "500"] == done.stdout.split()
    assert "9000 targets need 9256 open files, of which 500 are allowed" in done.stderr
