"""Status and metrics of a real collector, as an operator and Prometheus see them."""

import json
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ingest.schema import PORT_SAMPLES

pytestmark = [pytest.mark.device, pytest.mark.snmpd, pytest.mark.slow]

_DEVICE = "cisco-nxos-n9k"


@pytest.fixture(name="port")
def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(name="two_switches")
def _two_switches(site: Any, responder: Any, agent: Callable[..., Any], port: int) -> Any:
    """One that answers and one that is silent."""
    site.collect(interval_s=0.5, more=f"metrics_port = {port}")
    site.target(_DEVICE, responder.port, _DEVICE)
    site.target("leaf07", agent(lambda _: None).port, "any", timeout_s=0.2)
    return site


@contextmanager
def _collecting(site: Any, sweeps: int) -> Iterator[None]:
    """A collector that has swept so often."""
    with subprocess.Popen(site.command(), env=site.env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            while sweeps > 0 and process.poll() is None:
                sweeps -= " targets, " in process.stderr.readline()
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def _metrics(port: int) -> dict[tuple[str, str], float]:
    """Values by name and device."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    return {(s.name, s.labels.get("device", "")): s.value for family in families for s in family.samples}


def test_the_status_tells_of_each_target(two_switches: Any) -> None:
    with _collecting(two_switches, sweeps=3):
        shown, plain = two_switches.run("--status"), two_switches.run("--status", "--json")
    status = json.loads(plain.stdout)
    good, silent = status["targets"]

    assert (0, "", 0, "") == (shown.returncode, shown.stderr, plain.returncode, plain.stderr)
    assert all(
        word in shown.stdout for word in (_DEVICE, "leaf07", "cisco_entity", "never", "no answer", "spool: 0 rows")
    )
    assert (7, 7, None, 0) == (good["rows"], good["ports"], good["error"], good["failures"])
    assert 0 < good["coverage"] <= 1
    assert "no answer" in silent["error"]
    assert silent["failures"] >= 1
    assert silent["last_success"] is None
    assert status["sweeps"] >= 3
    assert (False, 0, None) == (status["stale"], status["spool"]["rows"], status["spool"]["error"])


def test_prometheus_is_told_the_same(two_switches: Any, port: int) -> None:
    with _collecting(two_switches, sweeps=3):
        metrics = _metrics(port)

    assert (1.0, 0.0) == (metrics["forelight_collect_up", _DEVICE], metrics["forelight_collect_up", "leaf07"])
    assert abs(metrics["forelight_collect_last_success_timestamp_seconds", _DEVICE] - time.time()) < 60
    assert ("forelight_collect_last_success_timestamp_seconds", "leaf07") not in metrics
    assert metrics["forelight_collect_duration_seconds", "leaf07"] >= 0.2
    assert (7, 7, 0) == tuple(metrics[f"forelight_collect_{name}", _DEVICE] for name in ("rows", "ports", "partial"))
    assert metrics["forelight_collect_errors_total", "leaf07"] >= 1
    assert metrics["forelight_collect_coverage_ratio", _DEVICE] > 0
    assert metrics["forelight_collect_sweeps_total", ""] >= 3
    assert metrics["forelight_collect_sweep_duration_seconds", ""] > 0
    assert metrics["forelight_collect_sweep_overruns_total", ""] >= 0
    assert metrics["forelight_lake_append_seconds", ""] > 0
    assert (1, 0, 0) == tuple(
        metrics[name, ""]
        for name in ("forelight_lake_up", "forelight_spool_bytes", "forelight_spool_rows_dropped_total")
    )


def test_a_status_that_grew_old_is_said_to_be(two_switches: Any) -> None:
    two_switches.run("--once")
    path = two_switches.home / "collect.json"
    status = json.loads(path.read_text())
    status["written_at"] = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
    path.write_text(json.dumps(status))
    done = two_switches.run("--status")

    assert 0 == done.returncode
    assert "the collector does not run, or hangs" in done.stderr
    assert json.loads(two_switches.run("--status", "--json").stdout)["stale"]


def test_no_status_is_one_line_and_exit_1(site: Any) -> None:
    """Not even the configuration is read: there may be none on this machine."""
    site.config.unlink()
    done = site.run("--status")

    assert 1 == done.returncode
    assert done.stderr.startswith(f"forelight: {site.home}/collect.json: there is none")
    assert 1 == done.stderr.count("\n")


def test_a_port_that_is_taken_is_one_line(two_switches: Any, port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        done = two_switches.run()

    assert 1 == done.returncode
    assert f"forelight: metrics_port {port} on 127.0.0.1: Address already in use" in done.stderr


def test_a_sweep_beside_a_running_collector_writes_rows_and_leaves_the_status_alone(two_switches: Any) -> None:
    with _collecting(two_switches, sweeps=2):
        before = json.loads((two_switches.home / "collect.json").read_text())
        done = two_switches.run("--once")
        after = json.loads((two_switches.home / "collect.json").read_text())
    rows = two_switches.lake.scan(PORT_SAMPLES).collect()

    assert "leaf07: no answer" in done.stderr
    assert before["started_at"] == after["started_at"]
    assert after["sweeps"] >= before["sweeps"] >= 2
    assert rows.height >= 7 * (after["sweeps"] + 1)
    assert rows.height == rows.unique(PORT_SAMPLES.key).height
