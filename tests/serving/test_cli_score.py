"""``forelight score``: the scheduled batch run, on the shared fleet and its champion."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.lake import Lake
from ingest.schema import SCORES
from models.artifact import Artifact
from models.day_one import VERSION
from models.registry import Registry
from serving.cli.score import BUSY
from serving.leases import score_lease
from serving.settings import Settings
from serving.store import AlarmStore

Console = Callable[..., Any]

pytestmark = pytest.mark.slow  # MLflow takes seconds to import and to make its database


@pytest.fixture(name="hour", scope="module")
def _hour(train_until: datetime) -> datetime:
    return train_until + timedelta(hours=30)


@pytest.fixture(name="scored", scope="module")
def _scored(console: Console, home_copy: Path, hour: datetime) -> Any:
    """A first run, asked for at an odd minute."""
    ran = console(home_copy, "score", "--at", (hour + timedelta(minutes=59)).isoformat(), "--json")
    assert 0 == ran.code, ran.err
    return ran


class TestScore:
    def test_the_answer_for_machines_counts_what_was_done(
        self, scored: Any, home_copy: Path, artifact: Artifact, hour: datetime
    ) -> None:
        answer = json.loads(scored.out)

        assert (hour.isoformat(), artifact.version, True) == (answer["at"], answer["model_version"], answer["new"])
        scores = Lake(str(home_copy / "lake")).latest(SCORES, until=hour + timedelta(hours=1)).collect()
        copper = scores["reasons"].list.contains("the link is copper: there are no optics in it").sum()
        assert copper > 0
        assert answer["modules_scored"] + answer["modules_unknown"] == scores.height - copper
        with AlarmStore(f"sqlite:///{home_copy / 'forelight.db'}") as store:
            assert answer["raised"] == len(list(store.walk()))

    def test_a_second_run_of_the_hour_says_that_nothing_changed(
        self, scored: Any, console: Console, home_copy: Path, hour: datetime
    ) -> None:
        again = console(home_copy, "score", "--at", hour.isoformat())

        assert 0 == again.code
        assert "2024-03-14 06:00Z was scored before: nothing changed" == again.out.strip()

    def test_an_hour_before_the_last_scored_comes_too_late(
        self, scored: Any, console: Console, home_copy: Path, train_until: datetime
    ) -> None:
        ran = console(home_copy, "score", "--at", train_until.isoformat())

        _fails(ran, "comes too late")

    def test_the_newest_whole_hour_is_scored_where_none_is_named(
        self, scored: Any, console: Console, home_copy: Path
    ) -> None:
        ran = console(home_copy, "score")

        assert 0 == ran.code, ran.err
        assert ran.out.startswith("2024-03-19 00:00Z: ")
        assert "modules scored" in ran.out


def _fails(ran: Any, says: str) -> None:
    assert 1 == ran.code
    assert ran.err.splitlines()[-1].startswith("forelight: ")
    assert says in ran.err.splitlines()[-1]
    assert "Traceback" not in ran.err


class TestErrors:
    def test_a_time_that_the_model_knows_is_refused(
        self, console: Console, trained_home: Path, train_until: datetime, tmp_path: Path
    ) -> None:
        before = (train_until - timedelta(hours=1)).isoformat()

        ran = console(trained_home, "score", "--at", before, FORELIGHT_DATABASE_URL=f"sqlite:///{tmp_path / 'a.db'}")

        _fails(ran, "the model knows what came after")

    def test_a_time_without_telemetry_is_no_all_clear(
        self, console: Console, trained_home: Path, fleet_end: datetime, tmp_path: Path
    ) -> None:
        later = (fleet_end + timedelta(days=1)).isoformat()

        ran = console(trained_home, "score", "--at", later, FORELIGHT_DATABASE_URL=f"sqlite:///{tmp_path / 'a.db'}")

        _fails(ran, "no module has sent telemetry in the six hours before")


class TestWithoutChampion:
    def test_physics_scores_and_says_so(self, console: Console, home_copy: Path, tmp_path: Path) -> None:
        nothing = {
            name: f"sqlite:///{tmp_path / name}.db" for name in ("MLFLOW_TRACKING_URI", "FORELIGHT_DATABASE_URL")
        }

        ran = console(home_copy, "score", "--json", **nothing)

        assert 0 == ran.code, ran.err
        assert "no model forelight@champion: train one first (forelight train); scoring by physics alone" in ran.err
        assert VERSION == json.loads(ran.out)["model_version"]

    def test_a_champion_of_other_code_is_named(self, console: Console, home_copy: Path, artifact: Artifact) -> None:
        """As after an update: physics scores, and what to do is said."""
        settings = Settings.from_env({"FORELIGHT_HOME": str(home_copy)})
        registry = Registry(settings.tracking_uri, home_copy / "mlartifacts")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("features.pipeline.FeaturePipeline.fingerprint", "0123")
            registry.log(artifact, {})

        ran = console(home_copy, "score")
        registry.rollback()

        assert "this model was made by other code (fingerprint is another); train again; scoring by physics" in ran.err


class TestMetrics:
    def test_a_run_tells_node_exporter_what_it_did(
        self, console: Console, home_copy: Path, hour: datetime, artifact: Artifact, tmp_path: Path
    ) -> None:
        at, file = hour + timedelta(hours=116), tmp_path / "forelight.prom"

        ran = console(home_copy, "score", "--at", at.isoformat(), "--metrics-textfile", str(file), "--json")

        assert 0 == ran.code, ran.err
        told, answer = _metrics(file), json.loads(ran.out)
        assert at.timestamp() == told["forelight_score_as_of_timestamp_seconds"]
        assert answer["modules_scored"] == told['forelight_score_modules{status="scored"}']
        assert answer["modules_unknown"] == told['forelight_score_modules{status="unknown"}']
        for change in ("raised", "renewed", "cleared", "held_back"):
            assert answer[change] == told[f'forelight_score_alarms{{change="{change}"}}']
        assert 1 == told[f'forelight_score_model_info{{version="{artifact.version}"}}']
        assert 0 < told["forelight_score_data_age_seconds"] < 6 * 3600
        assert 0 < told["forelight_score_duration_seconds"]
        assert [file] == list(tmp_path.iterdir())

    def test_a_run_done_before_leaves_what_the_file_tells_of_it(
        self, console: Console, home_copy: Path, hour: datetime, tmp_path: Path
    ) -> None:
        at, file = (hour + timedelta(hours=116)).isoformat(), tmp_path / "forelight.prom"
        console(home_copy, "score", "--at", at, "--metrics-textfile", str(file))
        before = file.read_text(encoding="utf-8")

        again = console(home_copy, "score", "--at", at, "--metrics-textfile", str(file))

        assert 0 == again.code, again.err
        assert before == file.read_text(encoding="utf-8")

    def test_a_folder_that_is_not_there_is_named(
        self, console: Console, home_copy: Path, hour: datetime, tmp_path: Path
    ) -> None:
        file = tmp_path / "nowhere" / "forelight.prom"

        at = (hour + timedelta(hours=116)).isoformat()
        ran = console(home_copy, "score", "--at", at, "--metrics-textfile", str(file))

        _fails(ran, "nowhere")


class TestOverlap:
    def test_a_run_beside_another_says_so_and_changes_nothing(self, console: Console, home_copy: Path) -> None:
        settings = Settings.from_env({"FORELIGHT_HOME": str(home_copy)})
        with score_lease(settings):
            ran = console(home_copy, "score")

        assert (BUSY, "") == (ran.code, ran.out)
        assert 75 == BUSY
        assert ran.err.startswith("forelight: another run of forelight score is running (it holds ")
        assert 1 == len(ran.err.splitlines())


def _metrics(file: Path) -> dict[str, float]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}
