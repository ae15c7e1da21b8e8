"""Lakes on disk and on a real S3 server, and rows for them."""

import contextlib
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from ingest.lake import Lake
from ingest.lake.lease import FileLease

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerProcess

T0 = datetime(2026, 3, 1, tzinfo=UTC)
Rows = Callable[..., pl.DataFrame]


@pytest.fixture(name="t0", scope="session")
def _t0() -> datetime:
    """Midnight, long ago enough for its day to be closed."""
    return T0


@pytest.fixture(name="rows", scope="session")
def _rows() -> Rows:
    """One lane's readings, by default an hour apart from midnight on."""

    def make(count: int = 1, **changes: object) -> pl.DataFrame:
        start, every = changes.pop("start", T0), changes.pop("every", timedelta(hours=1))
        received = changes.pop("received", timedelta())
        assert isinstance(start, datetime)
        assert isinstance(every, timedelta)
        assert isinstance(received, timedelta)
        times = [start + every * i for i in range(count)]
        values: dict[str, object] = {
            "time": times,
            "received_at": [moment + received for moment in times],
            "site": "default",
            "device": "leaf01",
            "interface": "Ethernet0",
            "lane": 1,
            "rx_power_dbm": -2.0,
            "quality": 0,
            "source": "file",
        }
        return pl.DataFrame(values | changes)

    return make


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture(name="lease")
def _lease(tmp_path: Path) -> FileLease:
    return FileLease(tmp_path / "lock")


@pytest.fixture(name="s3_server", scope="session")
def _s3_server() -> Iterator[str]:
    """Address of moto's S3 server, in a process of its own."""
    pytest.importorskip("moto", reason="moto is not installed (group dev)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(f"http://127.0.0.1:{port}/moto-api/", server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail("moto's server did not start")


@pytest.fixture(name="s3")
def _s3(s3_server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """URI of an empty bucket; the environment says how to reach it, as in operation."""
    bucket = f"lake-{abs(hash(str(tmp_path)))}"
    for name, value in {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }.items():
        monkeypatch.setenv(name, value)
    request = urllib.request.Request(f"{s3_server}/{bucket}", method="PUT")
    with urllib.request.urlopen(request, timeout=5):
        return f"s3://{bucket}/forelight"


class BadS3:
    """What stands before the S3 server: its faults come by a plan, see ``bad_s3.py``."""

    def __init__(self, address: str, environment: dict[str, str]) -> None:
        self.environment = environment
        self._plan = f"{address}/_plan"

    def plan(self, *kinds: str, **how: object) -> None:
        """Let requests fail from now on; without kinds none."""
        plan = {"kinds": kinds, "chance": 1.0, "times": 1_000_000, **how} if kinds else {}
        request = urllib.request.Request(self._plan, method="PUT", data=json.dumps(plan).encode())
        with urllib.request.urlopen(request, timeout=5):
            pass

    def done(self) -> list[str]:
        """The faults that came to pass since the last plan."""
        with urllib.request.urlopen(self._plan, timeout=5) as answer:
            found: list[str] = json.loads(answer.read())
            return found


@pytest.fixture(name="bad_s3")
def _bad_s3(s3: str, s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[BadS3]:
    """The way to the S3 server leads through a proxy that may let requests fail; a request is given up after 2 s."""
    program = Path(__file__).with_name("bad_s3.py")
    with subprocess.Popen([sys.executable, str(program), s3_server], stdout=subprocess.PIPE, text=True) as proxy:
        try:
            assert proxy.stdout is not None
            address = f"http://127.0.0.1:{int(proxy.stdout.readline())}"
            environment = {"AWS_ENDPOINT_URL": address, "AWS_TIMEOUT": "2 seconds"}
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
            yield BadS3(address, environment)
        finally:
            proxy.kill()


@pytest.fixture(name="anywhere", params=["file", "s3"])
def _anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URI of a lake, on disk and on S3."""
    return str(request.getfixturevalue("s3")) if request.param == "s3" else str(tmp_path / "lake")


PROLOGUE = """
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
import polars as pl
from ingest.lake import Lake
from ingest.lake.lease import FileLease
from ingest.schema import LANE_SAMPLES
os.environ.update(environment)
T0 = datetime(2026, 3, 1, tzinfo=UTC)
lake, lease = Lake(uri), FileLease(Path(lease_path))
say("ready")
"""
"""What each worker's program begins with."""


class Worker:
    """A program in a process of its own that tells what it has done, and can be killed anywhere."""

    def __init__(self, process: "ForkServerProcess", said: "Connection[object, object]") -> None:
        self.process = process
        self._said = said

    def said(self) -> list[object]:
        """What it said that was not read yet, when it has ended."""
        found = []
        with contextlib.suppress(EOFError, OSError):
            while True:
                found.append(self._said.recv())
        self.process.join()
        return found

    def killed(self, after_s: float) -> list[object]:
        """Kill it some time from now; what it said until then."""
        time.sleep(after_s)
        self.process.kill()
        return self.said()


@pytest.fixture(name="work", scope="session")
def _work() -> Callable[..., Worker]:
    """Starts a program with `lake`, `lease`, `say` and other names; returns when it is ready.

    From a fork server, since importing what it needs would take a second each time.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "ingest.lake", "ingest.lake.lease"])

    def start(code: str, lake: Lake, lease: FileLease, **names: object) -> Worker:
        receiver, sender = context.Pipe(duplex=False)
        environment = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        said = {"say": sender.send, "uri": lake.uri, "lease_path": str(lease.path), "environment": environment}
        process = context.Process(target=exec, args=(PROLOGUE + code, said | names), daemon=True)
        process.start()
        sender.close()
        assert "ready" == receiver.recv()
        return Worker(process, receiver)

    return start
