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
from models.registry import Registry
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
        assert answer["modules_scored"] + answer["modules_unknown"] == scores.height
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
    def test_without_a_champion_the_way_to_one_is_told(self, console: Console, untrained_home: Path) -> None:
        ran = console(untrained_home, "score")

        assert (1, "") == (ran.code, ran.out)
        assert "forelight: no model forelight@champion: train one first (forelight train)" == ran.err.strip()

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

    def test_a_champion_of_other_code_is_named(self, console: Console, home_copy: Path, artifact: Artifact) -> None:
        """As after an update: scoring stops, and says what to do."""
        settings = Settings.from_env({"FORELIGHT_HOME": str(home_copy)})
        registry = Registry(settings.tracking_uri, home_copy / "mlartifacts")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("features.pipeline.FeaturePipeline.fingerprint", "0123")
            registry.log(artifact, {})

        ran = console(home_copy, "score")
        registry.rollback()

        _fails(ran, "this model was made by other code (fingerprint is another); train again")
