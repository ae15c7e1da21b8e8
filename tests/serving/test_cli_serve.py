"""``forelight serve`` as a process of its own."""

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from ingest.lake import Lake
from ingest.schema import SCORES
from serving.access.tokens import Scope, TokenStore
from serving.alarms import AlarmRecord, ScoreRun
from serving.client import Client
from serving.settings import Settings
from serving.store import AlarmStore

TOKEN = "0123456789abcdef"
_RUN = [sys.executable, "-c", "from serving.cli import main; main()", "serve", "--port", "0"]


def _env(settings: Settings, more: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "FORELIGHT_HOME": str(settings.home), "PYTHONUNBUFFERED": "1", **(more or {})}


@contextmanager
def _serving(settings: Settings, *arguments: str, **more: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The process and the address that it printed."""
    process = subprocess.Popen([*_RUN, *arguments], env=_env(settings, more), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        address = re.search(r"https?://\S+?:\d+", line)
        assert address is not None, line
        yield process, address.group()
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()


@pytest.mark.slow
def test_it_prints_its_address_answers_there_and_ends_when_told(
    settings: Settings,
    make_run: Callable[..., ScoreRun],
    make_alarm: Callable[..., AlarmRecord],
    make_score: Callable[..., pl.DataFrame],
) -> None:
    at = datetime.now(UTC)
    with AlarmStore(settings.database_url) as store:
        Lake(settings.lake_uri).append(SCORES, make_score("HundredGigE0/0/0/1", at))
        store.apply(make_run(at), [make_alarm()])

    with _serving(settings) as (process, address):
        with urllib.request.urlopen(f"{address}/v1/alarms") as answer:
            assert "alarm-001" == json.load(answer)["alarms"][0]["alarm_id"]
        with urllib.request.urlopen(f"{address}/v1/transceivers/leaf01/HundredGigE0%2F0%2F0%2F1") as answer:
            assert 0.5 == json.load(answer)["risks"]["24h"]
        process.send_signal(signal.SIGINT)

        assert 0 == process.wait(20)


@pytest.mark.slow
def test_sigterm_ends_it_in_order_too(settings: Settings) -> None:
    with _serving(settings) as (process, address):
        with pytest.raises(urllib.error.HTTPError, match="503") as caught:
            urllib.request.urlopen(f"{address}/v1/alarms")
        caught.value.close()
        process.send_signal(signal.SIGTERM)

        assert 0 == process.wait(20)


@pytest.mark.slow
def test_bound_wide_it_asks_for_the_token(settings: Settings) -> None:
    with _serving(settings, "--host", "0.0.0.0", FORELIGHT_OPERATOR_TOKEN=TOKEN) as (_, address):
        url = f"{address.replace('0.0.0.0', '127.0.0.1')}/v1/alarms"
        statuses = []
        for headers in ({}, {"Authorization": f"Bearer {TOKEN}"}):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(urllib.request.Request(url, headers=headers))
            statuses.append(caught.value.code)
            caught.value.close()

        assert [401, 503] == statuses


@pytest.mark.slow
def test_a_token_of_the_store_is_enough_to_bind_wide_and_revoking_it_shuts_it_out_within_seconds(
    settings: Settings,
) -> None:
    with AlarmStore(settings.database_url) as store:
        tokens = TokenStore(store.engine)
        _, text = tokens.create("nhc", Scope.READ, who="x", expires_at=None)

        with _serving(settings, "--host", "0.0.0.0") as (_, address):
            url = f"{address.replace('0.0.0.0', '127.0.0.1')}/v1/alarms"
            assert 503 == _status(url, text)
            tokens.revoke("nhc", who="x")

            deadline = time.monotonic() + 5.0
            while _status(url, text) == 503 and time.monotonic() < deadline:
                time.sleep(0.1)
            assert 403 == _status(url, text)


@pytest.mark.slow
def test_closed_it_asks_for_a_token_on_loopback_too(settings: Settings) -> None:
    with _serving(settings, "--closed", FORELIGHT_OPERATOR_TOKEN=TOKEN) as (_, address):
        assert [401, 503] == [_status(f"{address}/v1/alarms", text) for text in ("", TOKEN)]


_PATIENT_S: Final = 300.0
"""Workers that start import for seconds, and for much longer where the machine is busy."""


@pytest.mark.slow
def test_several_workers_tell_the_same_within_a_second_and_end_in_order(
    settings: Settings, make_run: Callable[..., ScoreRun], make_alarm: Callable[..., AlarmRecord], tmp_path: Path
) -> None:
    """A step taken through one worker is seen through all."""
    with AlarmStore(settings.database_url) as store:
        store.apply(make_run(datetime.now(UTC)), [make_alarm()])

    workers = Workers(settings, tmp_path, FORELIGHT_OPERATOR_TOKEN=TOKEN)
    with workers.serving() as (process, address):
        for _ in workers.each():  # what is in memory from now on is not what will be true
            assert "open" == _alarm_status(address)
        with Client(address, TOKEN, timeout_s=_PATIENT_S) as client:
            client.acknowledge("alarm-001", "looking", key="k1")
        time.sleep(1.0)  # what is in memory is older then, and compared before it is told

        assert ["acked", "acked"] == [_alarm_status(address) for _ in workers.each()]
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(_PATIENT_S)


@pytest.mark.slow
def test_a_scrape_of_any_worker_tells_of_all_and_of_those_that_died(settings: Settings, tmp_path: Path) -> None:
    """What a worker counted outlives it; the request that it died of is not in progress any more."""
    workers = Workers(settings, tmp_path)
    with workers.serving() as (process, address):
        for _ in workers.each():
            for _ in range(10):
                _get(f"{address}/livez")
        _until(lambda: _told(address) == (20.0, 1.0))  # the scrape itself is in progress
        for _ in workers.each():
            _until(lambda: _told(address) == (20.0, 1.0))

        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=_PATIENT_S) as hanging:
            hanging.sendall(b"POST /v1/score HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
            _until(lambda: _told(address) == (20.0, 2.0))
            died = workers.pids()
            for pid in died:
                os.kill(pid, signal.SIGKILL)
            _until(lambda: len(workers.pids() - died) == 2)
        for _ in workers.each():
            _get(f"{address}/livez")

        _until(lambda: _told(address) == (22.0, 1.0))
        for _ in workers.each():
            _until(lambda: _told(address) == (22.0, 1.0))
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(_PATIENT_S)
        assert [] == list(tmp_path.glob("forelight-metrics-*")), "the counts go with the service"


class Workers:
    """A service of two processes, each of which can be asked alone."""

    def __init__(self, settings: Settings, folder: Path, **more: str) -> None:
        self.settings, self.folder, self.more = settings, folder, {**more, "TMPDIR": str(folder)}

    @contextmanager
    def serving(self) -> Iterator[tuple["subprocess.Popen[str]", str]]:
        with _serving(self.settings, "--workers", "2", **self.more) as found:
            _until(lambda: len(self.pids()) == 2)
            yield found

    def pids(self) -> set[int]:
        """Of the workers that live and have begun to count."""
        files = self.folder.glob("forelight-metrics-*/gauge_livesum_*.db")
        return {int(file.stem.rsplit("_", 1)[1]) for file in files}

    def each(self) -> Iterator[int]:
        """Each in turn, while the others stand still and take no connection."""
        pids = self.pids()
        for pid in pids:
            others = pids - {pid}
            for other in others:
                os.kill(other, signal.SIGSTOP)
            try:
                yield pid
            finally:
                for other in others:
                    os.kill(other, signal.SIGCONT)


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENT_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.1)


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=_PATIENT_S) as answer:
        text: str = answer.read().decode()
        return text


def _alarm_status(address: str) -> str:
    status: str = json.loads(_get(f"{address}/v1/alarms/alarm-001"))["alarm"]["status"]
    return status


def _told(address: str) -> tuple[float, float]:
    """Answers of ``/livez``, and requests in progress."""
    told = dict(line.rsplit(" ", 1) for line in _get(f"{address}/metrics").splitlines() if not line.startswith("#"))
    answers = 'forelight_http_requests_total{code="200",method="GET",route="/livez"}'
    return float(told.get(answers, 0)), float(told["forelight_http_requests_in_progress"])


def _status(url: str, token: str) -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    caught.value.close()
    return caught.value.code


@pytest.fixture(name="certificate")
def _certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of this machine's loopback, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


@pytest.mark.slow
def test_with_a_certificate_it_speaks_https_only(settings: Settings, certificate: tuple[Path, Path]) -> None:
    with _serving(settings, "--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1])) as (_, address):
        trusting = ssl.create_default_context(cafile=str(certificate[0]))
        with urllib.request.urlopen(f"{address}/livez", context=trusting) as answer:
            assert 200 == answer.status
        assert address.startswith("https://")
        with pytest.raises(OSError, match=r"closed|reset|refused|Remote"):
            urllib.request.urlopen(address.replace("https", "http"))


@pytest.mark.slow
def test_what_cannot_be_served_is_one_clear_line(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        cases = {
            ("--host", "0.0.0.0"): "binding 0.0.0.0 lets others in: make a token first",
            ("--port", port): f"cannot bind 127.0.0.1 port {port}",
            ("--port", "70000"): "there is no port 70000",
            ("--tls-cert", "a.pem"): "--tls-cert and --tls-key go together",
            ("--tls-cert", "a.pem", "--tls-key", "b.pem"): "a.pem and b.pem cannot be used for TLS: No such file",
        }
        for arguments, says in cases.items():
            env = _env(settings)
            done = subprocess.run([*_RUN, *arguments], env=env, capture_output=True, text=True, check=False, timeout=60)

            assert 1 == done.returncode
            assert 1 == len(done.stderr.splitlines())
            assert says in done.stderr
