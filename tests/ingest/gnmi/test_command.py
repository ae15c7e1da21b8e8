"""`forelight collect` with streams: one process, one lake, one status for both kinds of target."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from ingest.schema import LANE_SAMPLES, MODULES, PORT_EVENTS, PORT_SAMPLES

pytestmark = pytest.mark.slow


def _streamed(site: Any, port: int, more: str = "") -> None:
    with site.config.open("a") as file:
        file.write(f'[[target]]\ndevice = "leaf1"\naddress = "localhost"\nport = {port}\nprotocol = "gnmi"\n')
        file.write(f"[target.gnmi]\ninsecure = true\nsample_s = 0.2\n{more}\n")


def _until(true: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not true():
        assert time.monotonic() < give_up, "it has not come to pass"
        time.sleep(0.1)


def _status(site: Any, device: str = "leaf1") -> dict[str, Any]:
    path = site.home / "collect.json"
    told = json.loads(path.read_text()) if path.exists() else {"targets": []}
    return next((each for each in told["targets"] if each["device"] == device), {})


def test_once_asks_both_kinds_of_target(site: Any, responder: Any, server: Any) -> None:
    site.target("cisco-nxos-n9k", responder.port, "cisco-nxos-n9k")
    _streamed(site, server.port)

    done = site.run("--once")

    assert 0 == done.returncode, done.stderr
    assert "forelight: warning: leaf1: insecure: no TLS" in done.stderr
    assert {"cisco-nxos-n9k", "leaf1"} == site.devices()
    sources = site.lake.scan(PORT_SAMPLES).collect().group_by("device").agg("source").to_dicts()
    assert {"cisco-nxos-n9k": {"snmp"}, "leaf1": {"gnmi"}} == {row["device"]: set(row["source"]) for row in sources}


def test_a_stream_that_ends_is_in_status_metrics_and_the_list_of_gaps(site: Any, server: Any, tree: Any) -> None:
    _streamed(site, server.port)
    with subprocess.Popen(site.command(), env=site.env, stderr=subprocess.PIPE, text=True) as collector:
        try:
            _until(lambda: bool(_status(site).get("rows")))
            server.stop()
            _until(lambda: bool(_status(site).get("error")))
            tree.put("interfaces/interface[name=Ethernet1/1]/state/oper-status", "DOWN")
            server.start()
            _until(lambda: bool(_status(site).get("gaps")))
            _until(lambda: not _status(site).get("error"))
        finally:
            collector.send_signal(signal.SIGTERM)
            _, said = collector.communicate(timeout=60)

    assert 0 == collector.returncode, said
    assert "leaf1: not heard from" in said
    (line,) = [json.loads(text) for file in (site.home / "gaps").iterdir() for text in file.read_text().splitlines()]
    assert ("leaf1", "default") == (line["device"], line["site"])
    assert line["start"] < line["end"]
    told = site.lake.scan(LANE_SAMPLES).collect()
    assert told.filter(interface="Ethernet1/1", lane=1).height > 5
    events = site.lake.scan(PORT_EVENTS).collect()
    assert [("Ethernet1/1", "down", "oper-status DOWN, while not heard")] == events.select(
        "interface", "kind", "cause"
    ).rows()


def test_a_second_run_installs_nothing_again(site: Any, server: Any) -> None:
    _streamed(site, server.port)

    assert [0, 0] == [site.run("--once").returncode for _ in range(2)]
    assert 2 == site.lake.scan(MODULES).collect().height


def test_a_dead_device_is_one_line_and_exit_1(site: Any, server: Any) -> None:
    _streamed(site, server.port)
    server.stop()

    done = site.run("--once")

    assert 1 == done.returncode
    assert f"leaf1: no answer from localhost:{server.port}" in done.stderr
