"""Lakes on disk and on a real S3 server, and rows for them."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from ingest.lake import Lake
from ingest.lease import FileLease

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


@pytest.fixture(name="anywhere", params=["file", "s3"])
def _anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URI of a lake, on disk and on S3."""
    return str(request.getfixturevalue("s3")) if request.param == "s3" else str(tmp_path / "lake")


@pytest.fixture(name="python")
def _python() -> Callable[..., subprocess.Popen[str]]:
    """Starts a program that says "ready" when its imports are done; nothing of it outlives the test run."""

    def start(code: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "RUST_BACKTRACE": "0"},
        )
        assert process.stdout is not None
        assert "ready" == process.stdout.readline().strip()
        return process

    return start
