"""The doctor: what it says of a home that is empty, whole, old or broken; it makes and mends nothing."""

import json
import re
import shutil
import socket
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.collect.status import STATUS_FILE, SpoolState, Status, TargetStatus, write_status
from ingest.lake import Lake
from ingest.schema import PORT_SAMPLES
from serving.alarms import ScoreRun
from serving.doctor import CHECKS, Finding, State, examined
from serving.settings import Settings
from serving.store import AlarmStore

Console = Callable[..., Any]
NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def _found(settings: Settings, now: datetime = NOW) -> dict[str, Finding]:
    return {finding.name: finding for finding in examined(settings, now)}


def _read(settings: Settings, at: datetime, received_at: datetime | None = None) -> None:
    row = {"time": at, "received_at": received_at or at, "site": "s", "device": "d", "interface": "e"}
    Lake(settings.lake_uri).append(PORT_SAMPLES, pl.DataFrame([{**row, "quality": 0, "source": "file"}]))


def _home_of(folder: Path) -> Settings:
    return Settings.from_env({"FORELIGHT_HOME": str(folder)})


class TestAnEmptyHome:
    def test_nothing_fails_and_each_warning_names_a_command(self, settings: Settings) -> None:
        found = _found(settings)

        assert [check.__name__ for check in CHECKS] == list(found)
        assert {State.OK, State.WARN} == {finding.state for finding in found.values()}
        empty = {"lake", "model", "data", "scores"}
        assert empty == {name for name, finding in found.items() if finding.advice.startswith("forelight ")}

    def test_looking_makes_nothing(self, settings: Settings) -> None:
        _found(settings)

        assert not settings.home.exists()

    def test_the_command_ends_well(self, console: Console, tmp_path: Path) -> None:
        ran = console(tmp_path / "home", "doctor")

        assert (0, "") == (ran.code, ran.err)
        assert "→ forelight import DIR" in ran.out


class TestWhatIsThere:
    @pytest.fixture(name="home")
    def _home(self, trained_home: Path, tmp_path: Path) -> Settings:
        return _home_of(Path(shutil.copytree(trained_home, tmp_path / "home")))

    def test_a_trained_home_is_told_with_its_model_and_ages(self, home: Settings, fleet_end: datetime) -> None:
        found = _found(home, fleet_end + timedelta(minutes=30))

        assert {State.OK} == {found[name].state for name in ("home", "lake", "database", "mlflow", "model", "data")}
        assert "champion is version 1, trained until 2024-03-13 00:00Z, 6 days ago" == found["model"].said

    def test_a_model_of_last_season_is_a_warning(self, home: Settings, fleet_end: datetime) -> None:
        model = _found(home, fleet_end + timedelta(days=60))["model"]

        assert State.WARN is model.state
        assert "forelight model watch" in model.advice

    def test_an_mlflow_database_that_is_cut_off_fails_and_hides_nothing_else(
        self, home: Settings, console: Console
    ) -> None:
        """What SQLite raises is not MLflow's own."""
        path = home.home / "mlflow.db"
        path.write_bytes(path.read_bytes()[:5_000])

        found = _found(home)

        assert {"mlflow", "model", "scores"} >= {name for name, each in found.items() if each.state is State.FAIL}
        assert "MLflow does not answer" in found["mlflow"].said
        assert len(CHECKS) == len(found)
        ran = console(home.home, "model", "list")
        assert (1, 1) == (ran.code, len(ran.err.splitlines()))

    @pytest.mark.parametrize(
        ("broken", "said"),
        [("_delta_log", "port_samples has files and no log"), ("date=*", r"port_samples: \d+ of \d+ files are gone")],
    )
    def test_half_a_lake_fails(self, home: Settings, broken: str, said: str) -> None:
        for part in (home.home / "lake" / "port_samples").glob(broken):
            shutil.rmtree(part)

        lake = _found(home)["lake"]

        assert State.FAIL is lake.state
        assert re.search(said, lake.said)

    def test_a_champion_without_its_files_fails_in_json_too(self, home: Settings, console: Console) -> None:
        with sqlite3.connect(home.home / "mlflow.db") as connection:
            connection.execute("UPDATE runs SET artifact_uri = ?", [str(home.home / "gone")])
        connection.close()

        ran = console(home.home, "doctor", "--json")

        checks = {check["name"]: check for check in json.loads(ran.out)["checks"]}
        assert (1, "fail") == (ran.code, checks["model"]["state"])
        assert "forelight: model: what to do stands above\n" == ran.err
        assert "forelight model rollback" in checks["model"]["advice"]

    def test_an_mlflow_server_that_is_down_is_said_within_seconds(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        env = {"FORELIGHT_HOME": str(tmp_path), "MLFLOW_TRACKING_URI": f"http://user:secret@127.0.0.1:{port}"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
            found = _found(Settings.from_env(env))

        assert State.FAIL is found["mlflow"].state
        assert "MLflow does not answer" in found["mlflow"].said


class TestTheStore:
    def test_stale_scores_fail_for_the_service_answers_503(
        self, settings: Settings, make_run: Callable[..., ScoreRun]
    ) -> None:
        with AlarmStore(settings.database_url) as store:
            store.apply(make_run(NOW))

        assert State.OK is _found(settings, NOW + timedelta(hours=1))["scores"].state
        assert State.FAIL is _found(settings, NOW + timedelta(hours=3))["scores"].state

    def test_an_older_schema_is_a_warning_and_a_newer_one_fails(self, settings: Settings) -> None:
        with AlarmStore(settings.database_url):
            pass
        for revision, state in (("0001", State.WARN), ("9999", State.FAIL)):
            with sqlite3.connect(settings.database_url.removeprefix("sqlite:///")) as connection:
                connection.execute("UPDATE alembic_version SET version_num = ?", [revision])
            connection.close()

            assert state is _found(settings)["database"].state

    def test_what_is_no_database_fails_and_hides_nothing_else(self, settings: Settings) -> None:
        settings.home.mkdir()
        (settings.home / "forelight.db").write_bytes(b"not a database" * 100)

        found = _found(settings)

        assert {"database", "scores"} == {name for name, each in found.items() if each.state is State.FAIL}

    def test_a_check_that_breaks_is_a_finding_and_hides_no_other(
        self, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lake(_settings: Settings, _now: datetime) -> Finding:
            raise IndexError

        checks = tuple(lake if each.__name__ == "lake" else each for each in CHECKS)
        monkeypatch.setattr("serving.doctor.CHECKS", checks)

        found = _found(settings)

        assert [check.__name__ for check in CHECKS] == list(found)
        assert "IndexError" in found["lake"].said


class TestFeeds:
    def test_old_telemetry_is_a_warning_and_so_is_that_of_tomorrow(self, settings: Settings) -> None:
        _read(settings, NOW)

        assert State.OK is _found(settings, NOW + timedelta(hours=1))["data"].state
        assert State.WARN is _found(settings, NOW + timedelta(hours=5))["data"].state
        assert "in the future" in _found(settings, NOW - timedelta(days=1))["data"].said

    def test_a_clock_that_went_back_behind_what_was_received_is_told(self, settings: Settings) -> None:
        _read(settings, NOW, received_at=NOW + timedelta(hours=2))

        assert "rows were received at 2026-11-29 14:00:00Z" in _found(settings)["clock"].said

    @pytest.mark.parametrize(
        ("age", "spool", "failures", "state", "said"),
        [
            (timedelta(seconds=30), SpoolState(), 0, State.OK, "1 targets"),
            (timedelta(hours=1), SpoolState(), 0, State.FAIL, "60 minutes ago"),
            (timedelta(seconds=30), SpoolState(rows=7, error="disk full"), 0, State.FAIL, "7 rows wait: disk full"),
            (timedelta(seconds=30), SpoolState(), 3, State.WARN, "do not answer: leaf01"),
        ],
        ids=["well", "stopped", "lake-not-written", "silent-target"],
    )
    def test_a_collector(
        self, settings: Settings, age: timedelta, spool: SpoolState, failures: int, state: State, said: str
    ) -> None:
        target = TargetStatus("default", "leaf01", failures=failures)
        status = Status(NOW - age, NOW - age, 60.0, spool=spool, targets=[target])
        write_status(settings.home / STATUS_FILE, status)

        found = _found(settings)["collector"]

        assert state is found.state
        assert said in found.said


def test_a_home_that_cannot_be_made_fails(tmp_path: Path) -> None:
    (tmp_path / "afile").write_text("")

    found = _found(_home_of(tmp_path / "afile" / "home"))

    assert State.FAIL is found["home"].state


def test_a_full_disk_fails(disk_of: Callable[[str], Path]) -> None:
    assert State.FAIL is _found(_home_of(disk_of("1m")))["home"].state
