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


@pytest.mark.slow
def test_several_workers_tell_the_same_within_a_second_and_end_in_order(
    settings: Settings, make_run: Callable[..., ScoreRun], make_alarm: Callable[..., AlarmRecord]
) -> None:
    """A step taken through one worker is seen through all."""
    with AlarmStore(settings.database_url) as store:
        store.apply(make_run(datetime.now(UTC)), [make_alarm()])

    with _serving(settings, "--workers", "3", FORELIGHT_OPERATOR_TOKEN=TOKEN) as (process, address):
        with Client(address, TOKEN, timeout_s=60.0) as client:
            client.acknowledge("alarm-001", "looking", key="k1")
        time.sleep(1.5)
        statuses = set()
        for _ in range(30):  # each a connection of its own, which any worker may take
            with Client(address, timeout_s=60.0) as client:
                statuses.add(client.alarm("alarm-001")[0].alarm.status)
        process.send_signal(signal.SIGTERM)

        assert {"acked"} == statuses
        assert 0 == process.wait(60)


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
