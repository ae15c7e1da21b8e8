"""Stores on both databases, and the service over them: real ones, empty at each test."""

import contextlib
import getpass
import importlib.util
import io
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock
from uuid import uuid4

import numpy as np
import polars as pl
import pytest
import uvicorn
from starlette.testclient import TestClient

from features.cube import LakeTiles
from features.fleet import Fleet
from ingest.lake import Lake
from ingest.schema import SCORES, Action, FailureType
from models.artifact import Artifact
from models.policy import ALARM_HORIZON_H
from models.registry import Registry
from models.risk_log import RiskLog
from models.walk import walk
from serving.access.auth import OperatorToken
from serving.alarms import AlarmRecord, Level, ScoreRun, Suspect
from serving.app import create_app
from serving.cli import main
from serving.settings import Settings
from serving.store import AlarmStore
from serving.storms import HeldBack

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
TOKEN = "correct horse battery staple"


class Clock:
    """A wall clock that stands until it is moved."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture(name="now")
def _now() -> datetime:
    return NOW


@pytest.fixture(name="clock")
def _clock() -> Clock:
    return Clock(NOW)


@pytest.fixture(name="make_alarm")
def _make_alarm(make_alarms: Callable[..., AlarmRecord]) -> Callable[..., AlarmRecord]:
    return make_alarms


@pytest.fixture(name="make_alarms", scope="session")
def _make_alarms() -> Callable[..., AlarmRecord]:
    """As `make_alarm`, for fixtures that live longer than a test."""

    def make(number: int = 1, **changes: object) -> AlarmRecord:
        values: dict[str, object] = {
            "alarm_id": f"alarm-{number:03}",
            "link_id": f"default/leaf01/Ethernet{number}--default/spine01/Ethernet{number}",
            "site": "default",
            "device": "leaf01",
            "interface": f"Ethernet{number}",
            "serial": f"SN{number:04}",
            "suspect": Suspect.MODULE,
            "level": Level.ACT,
            "raised_at": NOW - timedelta(hours=number),
            "risk_24h": 0.5,
            "risk_168h": 0.75,
            "failure_type": FailureType.LASER_DEGRADATION,
            "action": Action.REPLACE_TRANSCEIVER,
            "expected_from": NOW,
            "expected_to": NOW + timedelta(days=1),
            "peer_device": "spine01",
            "peer_interface": f"Ethernet{number}",
            "model_version": "3",
            "reasons": ("bias 38 % above its baseline",),
        }
        return AlarmRecord(**(values | changes))  # type: ignore[arg-type]  # the record itself checks them

    return make


@pytest.fixture(name="held_back")
def _held_back(make_alarm: Callable[..., AlarmRecord]) -> Callable[[int], list[HeldBack]]:
    """So many alarms that a storm on leaf01 held back."""

    def make(count: int) -> list[HeldBack]:
        alarms = [make_alarm(number, risk_24h=number / 1000) for number in range(1, count + 1)]
        return [HeldBack.of(alarm, NOW, f"{count} new alarms at once on leaf01") for alarm in alarms]

    return make


@pytest.fixture(name="make_run")
def _make_run() -> Callable[..., ScoreRun]:
    def make(at: datetime = NOW, **changes: object) -> ScoreRun:
        values: dict[str, object] = {
            "at": at,
            "started_at": at,
            "finished_at": at + timedelta(seconds=9),
            "model_version": "3",
            "modules_scored": 1,
            "modules_unknown": 0,
            "newest_data_at": at - timedelta(minutes=15),
        }
        return ScoreRun(**(values | changes))  # type: ignore[arg-type]  # the tests give the right ones

    return make


@pytest.fixture(name="postgres", scope="session")
def _postgres() -> Iterator[str]:
    """URL of a PostgreSQL server of our own, without the database's name."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not folders:
        pytest.skip("PostgreSQL's binaries are not installed (Debian: postgresql)")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed (extra: postgres)")
    with _data_folder() as data, _server(folders[-1].parent, data) as port:
        yield f"postgresql+psycopg://forelight@127.0.0.1:{port}"


@contextlib.contextmanager
def _data_folder() -> Iterator[Path]:
    """A folder of the server's user: not below pytest's, which only we may enter."""
    folder = Path(tempfile.mkdtemp(prefix="forelight-pg-"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _server(binaries: Path, folder: Path) -> Iterator[int]:
    user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if getpass.getuser() == "root" else {}
    data = folder / "data"
    initdb = [binaries / "initdb", "--no-sync", "--auth=trust", "--username=forelight", "--encoding=UTF8", "-D", data]
    subprocess.run(initdb, cwd=folder, check=True, capture_output=True, **user)  # type: ignore[call-overload]  # as above
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ["-D", data, "-p", str(port), "-k", folder, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([binaries / "postgres", *arguments], cwd=folder, stdout=log, stderr=log, **user)  # type: ignore[call-overload]  # as above
    try:
        _wait_until_ready(binaries, port)
        yield port
    finally:
        server.terminate()
        server.wait(20)


def _wait_until_ready(binaries: Path, port: int) -> None:
    for _ in range(100):
        ready = subprocess.run([binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)], check=False)
        if ready.returncode == 0:
            return
        time.sleep(0.1)
    pytest.fail("PostgreSQL did not start")


@pytest.fixture(name="database_url", params=["sqlite", "postgresql"])
def _database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'forelight.db'}"
    server: str = request.getfixturevalue("postgres")
    import psycopg

    name = f"test_{uuid4().hex}"
    with psycopg.connect(f"{server}/postgres".replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{server}/{name}"


@pytest.fixture(name="store")
def _store(database_url: str, clock: Clock) -> Iterator[AlarmStore]:
    with AlarmStore(database_url, clock=clock) as store:
        yield store


@pytest.fixture(name="settings")
def _settings(tmp_path: Path) -> Settings:
    return Settings.from_env({"FORELIGHT_HOME": str(tmp_path / "home")})


@pytest.fixture(name="lake")
def _lake(settings: Settings) -> Lake:
    return Lake(settings.lake_uri)


@pytest.fixture(name="client")
def _client(store: AlarmStore, settings: Settings, clock: Clock) -> Iterator[TestClient]:
    """The service over the store and the lake, as it runs on loopback."""
    app = create_app(settings, store, token=OperatorToken.of(TOKEN), clock=clock)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(name="live", scope="module")
def _live() -> Iterator[Callable[..., str]]:
    """Serves at a port of this machine in a thread: ``live(settings, store, token)``; gives the address."""
    with contextlib.ExitStack() as ending:

        def live(settings: Settings, store: AlarmStore, token: OperatorToken) -> str:
            ending.callback(store.close)  # at last: whoever serves longer than the test's store lasts opened it again
            bound = ending.enter_context(socket.create_server(("127.0.0.1", 0)))
            server = uvicorn.Server(uvicorn.Config(create_app(settings, store, token=token), log_level="warning"))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
            thread.start()
            ending.callback(thread.join)
            ending.callback(setattr, server, "should_exit", True)
            while not server.started:
                time.sleep(0.01)
            return f"http://127.0.0.1:{bound.getsockname()[1]}"

        yield live


@pytest.fixture(name="authorized")
def _authorized() -> dict[str, str]:
    """Headers of whoever has the token."""
    return {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(name="advance")
def _advance(clock: Clock) -> Callable[..., None]:
    """Moves the clock: ``advance(hours=3)``."""
    return clock.advance


@pytest.fixture(name="make_score")
def _make_score(make_scores: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
    return make_scores


@pytest.fixture(name="make_scores", scope="session")
def _make_scores() -> Callable[..., pl.DataFrame]:
    """As `make_score`, for fixtures that live longer than a test."""

    def make(interface: str = "Ethernet1", at: datetime = NOW, **changes: object) -> pl.DataFrame:
        values: dict[str, object] = {
            "time": at,
            "received_at": at + timedelta(seconds=9),
            "site": "default",
            "device": "leaf01",
            "interface": interface,
            "serial": "SN0001",
            "status": "scored",
            "risk_6h": 0.25,
            "risk_24h": 0.5,
            "risk_168h": 0.75,
            "failure_type": "laser_degradation",
            "type_probabilities": {"laser_degradation": 0.75, "contamination": 0.25},
            "suspect": "module",
            "suspect_device": "leaf01",
            "suspect_interface": interface,
            "suspect_probability": 0.875,
            "action": "replace_transceiver",
            "reasons": ["bias 38 % above its baseline"],
            "peer_device": "spine01",
            "peer_interface": "Ethernet1",
            "data_age_s": 60.0,
            "model_version": "3",
        }
        return pl.DataFrame([values | changes])

    return make


@pytest.fixture(name="score")
def _score(
    store: AlarmStore, lake: Lake, make_score: Callable[..., pl.DataFrame], make_run: Callable[..., ScoreRun]
) -> Callable[..., None]:
    """Puts scores into the lake and applies their run, as `forelight score` does."""

    def score(*rows: pl.DataFrame, raised: tuple[AlarmRecord, ...] = (), at: datetime = NOW, **run: object) -> None:
        lake.append(SCORES, pl.concat(rows or (make_score(at=at),), how="diagonal_relaxed"))
        store.apply(make_run(at, **run), raised)

    return score


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture(name="console", scope="session")
def _console() -> Callable[..., Ran]:
    """Runs `forelight` as its console script does: ``console(home, "model", "list")``."""

    def run(home: Path, *arguments: str, **env: str) -> Ran:
        out, err, code = io.StringIO(), io.StringIO(), 0
        argv = mock.patch.object(sys, "argv", ["forelight", *arguments])
        ours = {"FORELIGHT_HOME": str(home), "COLUMNS": "200", **env}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("FORELIGHT_", "MLFLOW_"))}
        environment = mock.patch.dict(os.environ, kept | ours, clear=True)
        with environment, argv, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
        return Ran(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(name="trained_home", scope="session")
def _trained_home(fleet_lake: Lake, artifact: Artifact, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """FORELIGHT_HOME with the shared fleet and its model as champion; whoever writes takes a copy."""

    def make(folder: Path) -> None:
        shutil.copytree(fleet_lake.uri, folder / "lake")
        settings = Settings.from_env({"FORELIGHT_HOME": str(folder)})
        Registry(settings.tracking_uri, settings.artifact_root).log(artifact, {"healthy_module_weeks": 9.5})

    return once("trained-home", make)


@pytest.fixture(name="home_copy", scope="module")
def _home_copy(trained_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that the tests of one file share and may write to."""
    return Path(shutil.copytree(trained_home, tmp_path_factory.mktemp("copy") / "home"))


@pytest.fixture(name="untrained_home", scope="session")
def _untrained_home(once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """A home in which nothing was ever done, but for MLflow's database, which takes seconds to make."""

    def make(folder: Path) -> None:
        settings = Settings.from_env({"FORELIGHT_HOME": str(folder)})
        Registry(settings.tracking_uri, settings.artifact_root).versions()

    return once("untrained-home", make)


@pytest.fixture(name="nervous", scope="session")
def _nervous(artifact: Artifact, fleet_lake: Lake, train_until: datetime) -> Artifact:
    """The model with a policy that raises and clears many alarms: one link in four is above its threshold at first."""
    log = RiskLog()
    walk(artifact, LakeTiles(fleet_lake), Fleet.load(fleet_lake), [train_until], log=log)
    watch = float(np.nanquantile(log.risks().risk[ALARM_HORIZON_H], 0.75))
    policy = replace(artifact.policy, watch=watch, sure=watch, clear_below=1.0, clear_after_h=2, storm=10_000)
    return replace(artifact, policy=policy)
