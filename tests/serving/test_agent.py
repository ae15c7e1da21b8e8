"""``forelight agent`` against the real service: what it kept is in the lake after real kills of either of them.

No NIC is here: ``/sys`` is made, and executables on the path print what ``ethtool`` prints.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.agent.reading import Round, as_sample
from ingest.agent.spool import Spool
from ingest.agent.sysfs import found
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, MODULES, PORT_SAMPLES

TOKEN = "correct horse battery staple"
MODULE = Path(__file__).parents[1] / "ingest" / "dumps" / "samples" / "ethtool_module.json"
STATISTICS = MODULE.with_name("ethtool_statistics.txt")
RUN = "from serving.cli import main; main()"
LEDGER = """
import sys, threading, signal
from pathlib import Path
from ingest.agent import loop
from ingest.agent.pushing import Service
from ingest.agent.spool import Spool
put = Spool.put
def noted(self, said):
    put(self, said)
    with open(sys.argv[3], "a") as file:
        file.writelines(each["time"] + "\\n" for each in said.get("readings", [])[:1])
Spool.put = noted
options = loop.Options("gpu1", Path(sys.argv[2]), interval_s=0.3, sys=Path(sys.argv[4]))
loop._LONGEST_WAIT_S = 1.0
loop.Agent(options, Service(sys.argv[1], sys.argv[5], None, 10.0), print).run(threading.Event())
"""


class Machine:
    """A host with an agent, and a service, both as processes of their own that can be killed."""

    def __init__(self, root: Path, ending: ExitStack, nics: int = 2) -> None:
        self.root, self._ending = root, ending
        self.home, self.spool, self.ledger, self.sys = root / "home", root / "spool", root / "ledger", root / "sys"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        for number in range(nics):
            net = self.sys / "class" / "net" / f"eth{number}"
            (net / "device").mkdir(parents=True)
            for name, text in {"type": "1", "operstate": "up", "flags": "0x1003", "carrier_down_count": "2"}.items():
                (net / name).write_text(f"{text}\n")
        tool = root / "bin" / "ethtool"
        tool.parent.mkdir()
        told = f'case "$*" in "--json -m "*) cat {MODULE};; "-S "*) cat {STATISTICS};; *) exit 1;; esac'
        tool.write_text(f"#!/bin/sh\n{told}\n")
        tool.chmod(0o755)

    def start(self, *words: str, **env: str) -> "subprocess.Popen[bytes]":
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        ours = {"FORELIGHT_HOME": str(self.home), "FORELIGHT_OPERATOR_TOKEN": TOKEN, "FORELIGHT_AGENT_TOKEN": TOKEN}
        process = subprocess.Popen([sys.executable, *words], env=os.environ | ours | {"PATH": path} | env)
        self._ending.callback(kill, process)
        return process

    def serve(self) -> "subprocess.Popen[bytes]":
        process = self.start("-c", RUN, "serve", "--port", str(self.port))
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/livez", timeout=1):
                return process
            time.sleep(0.1)
        raise AssertionError(process.poll())

    def agent(self) -> "subprocess.Popen[bytes]":
        return self.start("-c", LEDGER, self.url, str(self.spool), str(self.ledger), str(self.sys), TOKEN)

    def kept(self) -> set[datetime]:
        """Times of the rounds of which the agent knew that they are on its disk."""
        return {datetime.fromisoformat(line) for line in self.ledger.read_text().splitlines()}


def kill(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.fixture(name="machine")
def _machine(tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    with ExitStack() as ending:
        yield lambda **more: Machine(tmp_path, ending, **more)


def wait_for(done: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_one_round_is_in_the_lake(machine: Callable[..., Machine]) -> None:
    host = machine()
    host.serve()
    options = ("--url", host.url, "--spool", str(host.spool), "--sys", str(host.sys), "--device", "gpu1", "--once")

    assert 0 == host.start("-c", RUN, "agent", *options).wait(60)

    lake = Lake(str(host.home / "lake"))
    assert {("eth0", "agent"), ("eth1", "agent")} == set(
        lake.latest(PORT_SAMPLES).collect().select("interface", "source").iter_rows()
    )
    assert {("gpu1", "eth0", "LM0000400", "nic"), ("gpu1", "eth1", "LM0000400", "nic")} == set(
        lake.latest(MODULES).collect().select("device", "interface", "serial", "role").iter_rows()
    )
    assert 1.0 == pytest.approx(lake.latest(LANE_SAMPLES).collect()["tx_power_dbm"].max(), abs=0.01)
    assert [] == list(host.spool.glob("*.json.gz"))


def test_without_a_token_it_says_how_to_make_one(machine: Callable[..., Machine], tmp_path: Path) -> None:
    host = machine()

    ended = host.start(
        "-c", RUN, "agent", "--url", host.url, "--spool", str(tmp_path / "s"), FORELIGHT_AGENT_TOKEN=""
    ).wait(60)

    assert 1 == ended


@pytest.mark.slow
def test_kills_of_agent_and_service_lose_nothing_that_was_read(machine: Callable[..., Machine]) -> None:
    """`kill -9` of either at random moments, and a time without the service before them."""
    rng, host = random.Random(7), machine()
    for _ in range(4):  # nobody to push to
        agent = host.agent()
        time.sleep(rng.uniform(1.0, 2.5))
        kill(agent)
    waited = len(host.kept())
    agent = host.agent()
    for _ in range(3):
        service = host.serve()
        time.sleep(rng.uniform(1.0, 3.0))
        kill(agent)
        agent = host.agent()
        time.sleep(rng.uniform(0.5, 2.0))
        kill(service)
    host.serve()
    time.sleep(1.0)
    kill(agent)
    kept = host.kept()

    options = ("--url", host.url, "--spool", str(host.spool), "--sys", str(host.sys), "--device", "gpu1", "--once")
    wait_for(lambda: 0 == host.start("-c", RUN, "agent", *options).wait(60))

    lake = Lake(str(host.home / "lake"))
    there = lake.latest(PORT_SAMPLES).collect()
    assert 5 < waited < len(kept)
    assert set() == kept - set(there["time"])
    assert there.height == there.unique(["device", "interface", "time"]).height


def _usage(process: "subprocess.Popen[bytes]") -> tuple[float, float]:
    """Seconds of CPU, its children's included, and the most memory it ever had in MB."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(int(fields[place]) for place in (11, 12, 13, 14))
    status: dict[str, Any] = dict(
        line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
    )
    return ticks / os.sysconf("SC_CLK_TCK"), int(status["VmHWM"].split()[0]) / 1024


@pytest.mark.slow
def test_it_costs_a_hundredth_of_a_core_and_sixty_megabytes(machine: Callable[..., Machine]) -> None:
    """Eight ports, what their commands take included; at the default interval a round is a minute's work."""
    host = machine(nics=8)
    host.serve()
    options = ("--url", host.url, "--spool", str(host.spool), "--sys", str(host.sys), "--device", "gpu1")
    agent = host.start("-c", RUN, "agent", *options)
    lake = Lake(str(host.home / "lake"))
    wait_for(lambda: lake.exists(PORT_SAMPLES))
    before, _ = _usage(agent)
    began, rounds = time.monotonic(), lake.latest(PORT_SAMPLES).collect()["time"].n_unique()
    time.sleep(70.0)
    after, memory_mb = _usage(agent)
    share = (after - before) / (time.monotonic() - began)
    more = lake.latest(PORT_SAMPLES).collect()["time"].n_unique() - rounds

    print(f"{share:.2%} of a core, {memory_mb:.1f} MB, {more} more rounds")  # noqa: T201 - the figure
    assert 1 <= more
    assert 0.01 >= share
    assert 60.0 >= memory_mb


def test_a_day_without_the_service_fits_into_the_spool(
    machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round a minute of eight ports, in the default bound; twenty rounds tell how large a day's are."""
    host = machine(nics=8)
    monkeypatch.setenv("PATH", f"{host.root / 'bin'}:{os.environ['PATH']}")
    samples = [as_sample(each) for each in Round(host.sys, 10.0).read(found(host.sys), datetime.now(UTC))]
    spool = Spool(host.spool, int(256e6), print)

    for _ in range(20):
        spool.put({"readings": samples})

    a_day = sum(path.stat().st_size for path in host.spool.glob("*.json.gz")) * 24 * 60 / 20
    print(f"{a_day / 1e6:.1f} MB a day")  # noqa: T201 - the figure
    assert (0, 20) == (spool.dropped, spool.files)
    assert 256e6 > a_day
