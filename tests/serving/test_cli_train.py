"""``forelight train``: from the lake to a registered model."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.lake import Lake
from ingest.schema import PORT_SAMPLES
from models.artifact import Artifact

Console = Callable[..., Any]


@pytest.mark.slow
class TestTrain:
    def test_a_training_challenges_the_champion(
        self, console: Console, home_copy: Path, artifact: Artifact, train_until: datetime
    ) -> None:
        """Twenty minutes past the hour are left out, and the same history gives the same model."""
        until = train_until + timedelta(minutes=20)

        ran = console(home_copy, "train", "--until", until.isoformat(), "--json")

        assert 0 == ran.code, ran.err
        answer = json.loads(ran.out)
        assert ("forelight", "2", "challenger") == (answer["model"], answer["version"], answer["alias"])
        assert artifact.version == answer["artifact"]
        assert artifact.facts["failures"] == answer["failures"]
        listed = json.loads(console(home_copy, "model", "list", "--json").out)
        assert [["challenger"], ["champion"]] == [version["aliases"] for version in listed]

    def test_people_are_told_what_it_learnt_from_and_what_it_cannot_do(self, console: Console, home_copy: Path) -> None:
        """Until the newest hour where none is named, and under a name of its own."""
        ran = console(home_copy, "train", "--name", "trial")

        assert 0 == ran.code, ran.err
        assert "trial@champion is version 1" in ran.out
        assert "until 2024-03-19 00:00Z" in ran.out
        assert "level act is unavailable" in ran.out
        assert all(step in ran.err for step in ("tiles", "training until 2024-03-19 00:00Z", "MLflow"))

    def test_settings_are_tried_where_asked(self, console: Console, home_copy: Path) -> None:
        ran = console(home_copy, "train", "--tune", "2")

        assert 0 == ran.code, ran.err
        assert "of 2 settings tried: penalty 0.3, least_scale 0.1" in ran.out


class TestErrors:
    def test_an_empty_lake(self, console: Console, tmp_path: Path) -> None:
        ran = console(tmp_path, "train")

        assert 1 == ran.code
        assert (
            f"forelight: {tmp_path}/lake holds no telemetry: forelight import DIR, or forelight collect, brings some"
            == ran.err.strip()
        )
        assert not (tmp_path / "mlflow.db").exists()

    def test_too_little_history(self, console: Console, fleet_lake: Lake, tmp_path: Path) -> None:
        ran = console(tmp_path, "train", "--until", "2024-03-09T00:00Z", FORELIGHT_LAKE_URI=fleet_lake.uri)

        assert 1 == ran.code
        said = "forelight: 145 hours of telemetry before 2024-03-09 00:00Z, the warm-up left out: a week is needed"
        assert said == ran.err.splitlines()[-1]
        assert not (tmp_path / "mlflow.db").exists()

    def test_no_failure_to_learn_from(self, console: Console, fleet_lake: Lake, tmp_path: Path) -> None:
        lake = Lake(str(tmp_path / "lake"))
        lake.append(PORT_SAMPLES, fleet_lake.scan(PORT_SAMPLES).collect())

        ran = console(tmp_path, "train")

        assert 1 == ran.code
        assert "there is no failure to learn from" in ran.err.splitlines()[-1]

    def test_a_time_that_is_none_is_wrong_usage(self, console: Console, tmp_path: Path) -> None:
        ran = console(tmp_path, "train", "--until", "yesterday")

        assert 2 == ran.code
        assert "'yesterday' is not an ISO 8601 time" in ran.err
