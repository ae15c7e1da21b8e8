"""``forelight model``: versions, the champion, the way back, the card."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from models.artifact import Artifact
from models.paired import Comparison, Difference
from models.registry import Registry
from serving.settings import Settings

Console = Callable[..., Any]

pytestmark = pytest.mark.slow  # MLflow takes seconds to import and to make its database


@pytest.fixture(name="home", scope="module")
def _home(home_copy: Path, artifact: Artifact) -> Path:
    """Two versions, the second is champion."""
    settings = Settings.from_env({"FORELIGHT_HOME": str(home_copy)})
    registry = Registry(settings.tracking_uri, home_copy / "mlartifacts")
    registry.promote(registry.log(replace(artifact, version="second"), {}), "better")
    return home_copy


def _champion(console: Console, home: Path) -> str:
    listed = json.loads(console(home, "model", "list", "--json").out)
    return next(str(version["version"]) for version in listed if "champion" in version["aliases"])


def test_versions_are_listed_the_newest_first(console: Console, home: Path, artifact: Artifact) -> None:
    ran = console(home, "model", "list", "--json")

    listed = json.loads(ran.out)
    assert (0, ["2", "1"]) == (ran.code, [version["version"] for version in listed])
    assert [["champion"], ["previous"]] == [version["aliases"] for version in listed]
    assert artifact.trained_until.isoformat() == listed[0]["trained_until"]
    assert 9.5 == listed[1]["metrics"]["healthy_module_weeks"]


def test_the_list_is_a_table_for_people(console: Console, home: Path) -> None:
    said = console(home, "model", "list").out

    assert "champion" in said
    assert "2024-03-13" in said


def test_rolling_back_and_forcing_change_the_champion(console: Console, home: Path) -> None:
    said = console(home, "model", "rollback", "--reason", "it cried wolf").out.strip()
    assert "version 1 is champion again" == said
    assert "1" == _champion(console, home)

    assert "version 2 is champion: a hunch" == console(home, "model", "promote", "2", "--force", "a hunch").out.strip()
    assert "2" == _champion(console, home)
    tags = json.loads(console(home, "model", "list", "--json").out)[0]["tags"]
    assert ("a hunch", "true") == (tags["promoted_why"], tags["promoted_forced"])
    assert ("it cried wolf", tags["promoted_by"]) == (tags["rolled_back_why"], tags["rolled_back_by"])


def test_one_that_is_not_better_is_refused_with_both_scores(console: Console, home: Path) -> None:
    """Both models are the same: the difference is 0 and so is its interval."""
    ran = console(home, "model", "promote", "1")

    assert 1 == ran.code
    said = ran.err.splitlines()[-1]
    assert said.startswith("forelight: version 1 is not better than the champion: F1 at 24 h ")
    assert "(+0.00 to +0.00)" in said
    assert "failures from 2024-03-13 00:00Z to 2024-03-17 00:00Z" in said
    assert "2" == _champion(console, home)


def test_one_that_is_better_is_promoted_and_the_reason_kept(
    console: Console, home: Path, monkeypatch: pytest.MonkeyPatch, train_until: datetime
) -> None:
    gain = Difference(24, 0.4, 0.6, 0.1, 0.3)
    better = Comparison(train_until, train_until + timedelta(days=4), 20, 2, 1, (gain, replace(gain, lead_h=1)))
    monkeypatch.setattr("serving.scoring.challenge.compared", lambda *_: better)

    ran = console(home, "model", "promote", "1", "--json")
    console(home, "model", "rollback")

    answer = json.loads(ran.out)
    assert ("1", better.said) == (answer["version"], answer["why"])
    assert answer["comparison"]["better"]
    tags = json.loads(console(home, "model", "list", "--json").out)[1]["tags"]
    assert (better.said, "false") == (tags["promoted_why"], tags["promoted_forced"])


def test_a_model_of_yesterday_cannot_be_compared_yet(
    console: Console, home: Path, artifact: Artifact, fleet_end: datetime
) -> None:
    settings = Settings.from_env({"FORELIGHT_HOME": str(home)})
    late = replace(artifact, version="late", trained_until=fleet_end - timedelta(days=1))
    Registry(settings.tracking_uri, home / "mlartifacts").log(late, {})

    ran = console(home, "model", "promote", "3")

    assert 1 == ran.code
    assert "there is nothing to compare on yet: the later model was trained until 2024-03-18 00:00Z" in ran.err


def test_force_needs_a_reason(console: Console, home: Path) -> None:
    ran = console(home, "model", "promote", "1", "--force", " ")

    assert "forelight: --force needs a reason: it is kept with the version" == ran.err.strip()


def test_watch_tells_drift_and_what_alarms_are_worth(console: Console, home: Path, artifact: Artifact) -> None:
    ran = console(home, "model", "watch", "--days", "5", "--json")

    assert 0 == ran.code, ran.err
    told = json.loads(ran.out)
    assert artifact.facts["reference"]["expected"] == told["expected_then"]
    assert (6.0, "2024-03-19T00:00:00+00:00") == (told["days_old"], told["end"])
    assert bool(told["advice"]) == told["retrain"]
    assert {} == told["unseen_parts"]


def test_watch_is_a_table_for_people(console: Console, home: Path) -> None:
    ran = console(home, "model", "watch")

    assert 0 == ran.code, ran.err
    assert "expected f1, a week ahead" in ran.out
    assert "no reason to train again" in ran.out or "train again: " in ran.out


def test_the_card_is_of_the_champion_or_of_the_version_named(console: Console, home: Path, artifact: Artifact) -> None:
    champion, first = (json.loads(console(home, "model", "card", *which).out) for which in ((), ("1",)))

    assert ("2", "second") == (champion["version"], champion["artifact"])
    assert ("1", artifact.version) == (first["version"], first["artifact"])
    assert {name: value for name, value in artifact.facts.items() if name != "reference"} == first["facts"]
    assert artifact.policy.watch == first["policy"]["watch"]
    assert 9.5 == first["metrics"]["healthy_module_weeks"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("promote", "7"), "no version 7 of forelight was made by forelight: `forelight model list` shows them"),
        (("card", "7"), "no version 7 of forelight was made by forelight: `forelight model list` shows them"),
        (
            ("promote", "best"),
            "no version best of forelight was made by forelight: `forelight model list` shows them",
        ),
    ],
)
def test_an_unknown_version_is_named(
    console: Console, trained_home: Path, arguments: tuple[str, ...], says: str
) -> None:
    ran = console(trained_home, "model", *arguments)

    assert (1, "", f"forelight: {says}") == (ran.code, ran.out, ran.err.strip())


class TestNothingThere:
    def test_the_list_is_empty(self, console: Console, untrained_home: Path) -> None:
        ran = console(untrained_home, "model", "list", "--json")

        assert (0, []) == (ran.code, json.loads(ran.out))

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("watch",), "no model forelight@champion: train one first (forelight train)"),
            (("rollback",), "there is no earlier champion of forelight to roll back to"),
            (("card",), "no champion is registered: train one first (forelight train)"),
        ],
    )
    def test_what_needs_a_champion_says_so(
        self, console: Console, untrained_home: Path, arguments: tuple[str, ...], says: str
    ) -> None:
        ran = console(untrained_home, "model", *arguments)

        assert (1, f"forelight: {says}") == (ran.code, ran.err.strip())
