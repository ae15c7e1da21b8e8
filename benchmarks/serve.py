"""Load on the service: one worker, SQLite, tokens checked, 100,000 transceivers, 5,000 standing alarms.

Run ``python benchmarks/serve.py [seconds of each measurement]``; wrk makes the load (Debian: wrk). Beside what was seen
it says what the service would do with a core of its own, from the processor time that it took: on a machine that others
use, what was seen is theirs as much as ours.

``mlflow models serve`` of the same model answers in the same run. It is given rows of features that are ready, where
the service is given a day of readings of each module and makes the features itself; and it checks no token.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from ingest.lake import Lake
from ingest.schema import SCORES, Action, FailureType
from models.day_one import day_one
from models.registry import Registry
from serving.access.tokens import Scope, TokenStore
from serving.alarms import AlarmRecord, Level, ScoreRun, Suspect
from serving.settings import Settings
from serving.store import AlarmStore

TRANSCEIVERS, ALARMS, PORTS = 100_000, 5_000, 64
CONNECTIONS = 16
HALF_PER_S = 2_000
HALF_SCORES_PER_S = 250
_LARGE = 100_000
"""Bytes of a body that holds many modules."""
_LUA = """
wrk.headers["Authorization"] = "Bearer {token}"
wrk.headers["Content-Type"] = "application/json"
{setup}
local i = 0
request = function() i = i + 1; return wrk.format({request}) end
{delay}
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('{{"requests": %d, "us": %d, "p50": %d, "p99": %d, "max": %d, "bad": %d}}',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency.max,
    e.status + e.read + e.write + e.connect + e.timeout))
end
"""
_DELAY = "delay = function() return math.floor(0.5 - math.log(1 - math.random()) * {ms:.3f}) end"
"""Callers come by themselves, as in life: with one and the same pause they would come all at the same moment."""
PATHS = {
    "GET /v1/alarms/{id}": f'"GET", string.format("/v1/alarms/alarm-%05d", i % {ALARMS})',
    "GET /v1/transceivers/…": '"GET", string.format("/v1/transceivers/leaf%04d/Ethernet%d", '
    f"i % {TRANSCEIVERS // PORTS}, i * 7 % {PORTS})",
}
"""Each alarm in turn, and port after port of ever another device."""


def _fill(settings: Settings, now: datetime) -> str:
    """A fleet that was just scored; the token of whoever reads."""
    ports = [(f"leaf{n // PORTS:04}", f"Ethernet{n % PORTS}") for n in range(TRANSCEIVERS)]
    columns = {"device": [device for device, _ in ports], "interface": [interface for _, interface in ports]}
    same = {
        "time": now,
        "received_at": now,
        "site": "default",
        "status": "scored",
        "serial": "SN0001",
        **{f"risk_{hours}h": 0.0001 * hours for hours in (6, 12, 24, 48, 96, 168)},
        "action": "none",
        "data_age_s": 60.0,
        "model_version": "1",
    }
    rows = pl.DataFrame(columns).with_columns(pl.lit(value).alias(name) for name, value in same.items())
    empty = pl.lit([], dtype=pl.List(pl.String))
    Lake(settings.lake_uri).append(SCORES, rows.with_columns(empty.alias("reasons")))
    Registry(settings.tracking_uri, settings.artifact_root).log(day_one(), {})
    run = ScoreRun(
        at=now, started_at=now, finished_at=now, model_version="1", modules_scored=TRANSCEIVERS, modules_unknown=0
    )
    with AlarmStore(settings.database_url) as store:
        store.apply(run, [_alarm(n, *ports[n * PORTS % TRANSCEIVERS + n // 1600], now) for n in range(ALARMS)])
        return TokenStore(store.engine).create("wrk", Scope.READ, who="bench", expires_at=None)[1]


def _alarm(number: int, device: str, interface: str, now: datetime) -> AlarmRecord:
    return AlarmRecord(
        alarm_id=f"alarm-{number:05}",
        link_id=f"default/{device}/{interface}",
        site="default",
        device=device,
        interface=interface,
        suspect=Suspect.MODULE,
        level=Level.ACT,
        raised_at=now - timedelta(hours=number % 48),
        risk_24h=0.5,
        risk_168h=0.75,
        failure_type=FailureType.LASER_DEGRADATION,
        action=Action.REPLACE_TRANSCEIVER,
        expected_from=now,
        expected_to=now + timedelta(days=1),
        model_version="1",
        reasons=("bias of lane 2 is 38 % above its baseline at equal temperature",),
    )


@contextmanager
def _serving(settings: Settings, token: str) -> Iterator["_Service"]:
    """The service in a process of its own, once it answers."""
    env = {**os.environ, "FORELIGHT_HOME": str(settings.home), "FORELIGHT_RATE_PER_S": "1000000"}
    command = [sys.executable, "-c", "from serving.cli import main; main()", "serve", "--port", "0", "--closed"]
    with subprocess.Popen(command, env=env | {"PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = re.search(r"http://\S+?:\d+", process.stdout.readline())
        assert address is not None
        try:
            for path in ("/v1/alarms/alarm-00000", "/v1/transceivers/leaf0000/Ethernet0"):
                _curl(address.group() + path, token)
            yield _Service(address.group(), token, process.pid)
        finally:
            process.terminate()


def _curl(url: str, token: str, body: str | None = None) -> str:
    command = ["curl", "-sf", "-H", f"Authorization: Bearer {token}", "-H", "Content-Type: application/json", url]
    if body is not None:
        command += ["-d", "@-"]
    return subprocess.run(command, input=body, capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True)
class _Service:
    """Where the service is, and how to ask it."""

    url: str
    token: str
    pid: int

    def measure(
        self,
        name: str,
        request: str,
        seconds: int,
        *,
        per_s: float | None = None,
        setup: str = "",
        callers: int = CONNECTIONS,
    ) -> None:
        """Print a line; of so many requests a second where `per_s` is given, else of as many as it takes."""
        before = self._cpu_s()
        told = self.load(request, seconds, per_s=per_s, setup=setup, callers=callers)
        own = told["requests"] / max(self._cpu_s() - before, 1e-3)
        rate = told["requests"] / told["us"] * 1e6
        print(
            f"{name:36} {rate:8,.0f} req/s   p50 {told['p50'] / 1000:6.1f}   p99 {told['p99'] / 1000:6.1f}   "
            f"max {told['max'] / 1000:6.1f} ms   failed {told['bad']:.0f}   "
            f"of a core of its own {own:8,.0f} req/s   load {os.getloadavg()[0]:.1f}",
            flush=True,
        )

    def load(
        self, request: str, seconds: int, *, per_s: float | None = None, setup: str = "", callers: int = CONNECTIONS
    ) -> dict[str, float]:
        """What wrk saw."""
        connections = callers if per_s is None else 40
        wait = "" if per_s is None else _DELAY.format(ms=connections / per_s * 1000)
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(_LUA.format(token=self.token, request=request, delay=wait, setup=setup))
            script.flush()
            command = ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--timeout", "30s"]
            out = subprocess.run([*command, "-s", script.name, self.url], capture_output=True, text=True, check=True)
        told: dict[str, float] = json.loads(out.stdout[out.stdout.index("{") :])
        return told

    def _cpu_s(self) -> float:
        return sum(_cpu_ticks(pid) for pid in _family(self.pid)) / os.sysconf("SC_CLK_TCK")


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _family(pid: int) -> Iterator[int]:
    """A process and those that it began, and so on."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text(encoding="utf-8").split():
            yield from _family(int(child))


def _modules(count: int, now: datetime) -> str:
    """A body of ``POST /v1/score``: a day of hourly readings of four lanes of each module."""
    times = [(now - timedelta(hours=hour, minutes=30)).isoformat() for hour in range(24)]
    lanes = {"time": [t for t in times for _ in range(4)], "lane": [1, 2, 3, 4] * 24}
    lanes |= {"rx_power_dbm": [-2.5] * 96, "tx_power_dbm": [0.5] * 96, "tx_bias_ma": [50.0] * 96}
    ports = {"time": times, "temperature_c": [45.0] * 24, "voltage_v": [3.3] * 24}
    modules = [{"device": f"d{n}", "interface": "e", "lanes": lanes, "ports": ports} for n in range(count)]
    return json.dumps({"modules": modules})


def main(seconds: int) -> None:
    """Print a line a measurement."""
    if shutil.which("wrk") is None or shutil.which("curl") is None:
        print("wrk or curl is not installed: nothing was measured (Debian: wrk, curl)")
        return
    with tempfile.TemporaryDirectory() as home:
        settings = Settings.from_env({"FORELIGHT_HOME": home})
        now = datetime.now(UTC).replace(microsecond=0)
        token = _fill(settings, now)
        with _serving(settings, token) as service:
            for name, request in PATHS.items():
                service.measure(name, request, seconds)
                service.measure(f"{name} at {HALF_PER_S}/s", request, seconds, per_s=HALF_PER_S)
            for count in (1, 1000):
                _scores(service, "/v1/score", _modules(count, now), f"POST /v1/score, {count} modules", seconds)
        with _mlflow_serving(settings) as mlflow:
            for count in (1, 1000):
                _scores(mlflow, "/invocations", _rows(count), f"mlflow, {count} rows of features", seconds)


def _scores(service: _Service, path: str, body: str, name: str, seconds: int) -> None:
    """A small body by many callers, and at half of what is asked for; a large one by one caller after another."""
    _curl(f"{service.url}{path}", service.token, body)
    small = len(body) < _LARGE
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(body)
        file.flush()
        setup = f'local f = io.open("{file.name}"); local body = f:read("*a"); f:close()'
        request = f'"POST", "{path}", nil, body'
        service.load(request, 2, setup=setup, callers=1)
        service.measure(name, request, seconds, setup=setup, callers=CONNECTIONS if small else 1)
        if small:
            half = f"{name} at {HALF_SCORES_PER_S}/s"
            service.measure(half, request, seconds, setup=setup, per_s=HALF_SCORES_PER_S)


def _rows(count: int) -> str:
    """A body of ``POST /invocations``: rows of all features."""
    names = day_one().model.names
    return json.dumps({"dataframe_split": {"columns": names, "data": [[0.5] * len(names)] * count}})


@contextmanager
def _mlflow_serving(settings: Settings) -> Iterator[_Service]:
    """``mlflow models serve`` of the champion, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "models", "serve", "--env-manager", "local", "--workers", "1"]
    command += ["--model-uri", "models:/forelight@champion", "--port", str(port)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # where MLflow looks for uvicorn
    env = {**os.environ, "MLFLOW_TRACKING_URI": settings.tracking_uri, "PATH": path}
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            _wait(f"{url}/ping")
            yield _Service(url, "none", process.pid)
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def _wait(url: str) -> None:
    """Until it answers, for two minutes at most."""
    end = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
