"""A real collector that is killed, stopped, and cut off from its lake, again and again."""

import json
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES

pytestmark = [pytest.mark.device, pytest.mark.snmpd, pytest.mark.slow]

_DEVICE, _PORTS = "cisco-nxos-n9k", 7


class Running:
    """A collector whose sweeps are counted as it tells of them: what is told is written."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.acknowledged = 0
        self.said: list[str] = []
        self._threads = [threading.Thread(target=read) for read in (self._count, self._listen)]
        for thread in self._threads:
            thread.start()

    def _count(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.acknowledged += sum(target["error"] is None for target in json.loads(line)["targets"])

    def _listen(self) -> None:
        assert self.process.stderr
        self.said += list(self.process.stderr)

    def sweeps(self, count: int) -> None:
        """Wait until so many are acknowledged."""
        until = time.monotonic() + 60
        while self.acknowledged < count and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)

    def end(self, number: signal.Signals) -> int:
        """Send a signal and give the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        for thread in self._threads:
            thread.join()
        return code


@contextmanager
def _running(site: Any) -> Iterator[Running]:
    with subprocess.Popen(
        site.command("--json"), env=site.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        collector = Running(process)
        try:
            yield collector
        finally:
            if process.poll() is None:
                collector.end(signal.SIGKILL)


def _polls(site: Any) -> list[Any]:
    """Times of polls in the lake in the order of their commits; each poll must be whole, and there once."""
    rows = site.lake.scan(PORT_SAMPLES).collect()
    polls = rows.group_by("time", maintain_order=True).agg(pl.len(), pl.col("interface").n_unique())

    assert {(_PORTS, _PORTS)} == set(polls.select("len", "interface").rows())
    return list(polls["time"])


@pytest.fixture(name="one_switch")
def _one_switch(site: Any, responder: Any) -> Any:
    site.collect(interval_s=0.2)
    site.target(_DEVICE, responder.port, _DEVICE)
    return site


@pytest.fixture(name="away")
def _away() -> dict[str, str]:
    """The environment of a lake in an object store that does not exist."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    return {
        "FORELIGHT_LAKE_URI": "s3://bucket/lake",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
    }


def test_kill_9_tears_nothing_and_loses_at_most_the_poll_in_flight(one_switch: Any) -> None:
    acknowledged = 0
    for _ in range(6):
        with _running(one_switch) as collector:
            collector.sweeps(2)
            time.sleep(random.uniform(0.0, 0.5))

            assert -signal.SIGKILL == collector.end(signal.SIGKILL), collector.said
        acknowledged += collector.acknowledged
        polls = _polls(one_switch)

        assert acknowledged <= len(polls)
        assert polls == sorted(polls)
    modules = one_switch.lake.scan(MODULES).collect()

    assert acknowledged >= 12
    assert _PORTS == modules.height == modules["interface"].n_unique(), "a restart installs nothing again"
    assert one_switch.lake.scan(LANE_SAMPLES).collect().height >= _PORTS * acknowledged


def test_kill_9_while_the_lake_is_away_loses_no_acknowledged_sweep(one_switch: Any, away: dict[str, str]) -> None:
    assert 0 == one_switch.run("--once").returncode
    here, acknowledged = dict(one_switch.env), 1
    for _ in range(2):
        one_switch.env = here | away
        with _running(one_switch) as collector:
            collector.sweeps(2)

            assert -signal.SIGKILL == collector.end(signal.SIGKILL), collector.said
        acknowledged += collector.acknowledged
    one_switch.env = here
    done = one_switch.run("--once")
    polls = _polls(one_switch)

    assert 0 == done.returncode, done.stderr
    assert "rows went from the spool into the lake" in done.stderr
    assert acknowledged + 1 <= len(polls)
    assert polls == sorted(polls)
    assert _PORTS == one_switch.lake.scan(MODULES).collect().height
    assert [] == list((one_switch.home / "spool").glob("*.arrow*"))


@pytest.mark.parametrize("lake", ["here", "away"])
def test_sigterm_ends_the_write_and_the_process(one_switch: Any, away: dict[str, str], lake: str) -> None:
    assert 0 == one_switch.run("--once").returncode
    here = dict(one_switch.env)
    one_switch.env = here | (away if lake == "away" else {})
    with _running(one_switch) as collector:
        collector.sweeps(2)
        began = time.monotonic()

        assert 0 == collector.end(signal.SIGTERM), collector.said
        assert time.monotonic() - began < 20
    one_switch.env = here

    assert 0 == one_switch.run("--once").returncode
    assert collector.acknowledged + 2 == len(_polls(one_switch))


def test_a_first_start_without_its_lake_says_so(one_switch: Any, away: dict[str, str]) -> None:
    """What is installed is not known: to install every module anew would be wrong for ever."""
    one_switch.env |= away
    done = one_switch.run("--once")

    assert 1 == done.returncode
    assert done.stderr.startswith("forelight: the lake does not answer (")
    assert 1 == done.stderr.count("\n")


def test_once_with_the_lake_away_keeps_the_rows_and_exits_1(one_switch: Any, away: dict[str, str]) -> None:
    assert 0 == one_switch.run("--once").returncode
    here = dict(one_switch.env)
    one_switch.env = here | away
    done = one_switch.run("--once")
    one_switch.env = here

    assert 1 == done.returncode
    assert "rows wait in the spool for the next run: " in done.stderr
    assert 0 == one_switch.run("--once").returncode
    assert 3 == len(_polls(one_switch))


def _waiting(site: Any) -> dict[str, Any]:
    """The spool as the status has it."""
    return dict(json.loads((site.home / "collect.json").read_text())["spool"])


def test_a_full_disk_is_told_and_its_rows_come_in_when_there_is_room(one_switch: Any, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=32m", str(small_disk)], check=True)  # a sweep takes some 30 kB
    one_switch.env |= {"FORELIGHT_LAKE_URI": str(small_disk / "lake")}
    one_switch.lake = Lake(str(small_disk / "lake"))
    with _running(one_switch) as collector:
        collector.sweeps(2)
        filler = small_disk / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        collector.sweeps(collector.acknowledged + 4)
        full = _waiting(one_switch)
        filler.unlink()
        until = time.monotonic() + 60
        while _waiting(one_switch)["rows"] and time.monotonic() < until:
            time.sleep(0.2)

        assert 0 == collector.end(signal.SIGTERM), collector.said
    polls = _polls(one_switch)

    assert full["files"] > 0
    assert "No space left on device" in full["error"]
    assert collector.acknowledged <= len(polls) <= collector.acknowledged + 1
    assert polls == sorted(polls)
    assert (0, 0, None) == tuple(_waiting(one_switch)[name] for name in ("rows", "dropped_rows", "error"))
