"""``forelight model``: versions, the champion, the way back, the card."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.artifact import Artifact
from models.registry import Registry
from serving.settings import Settings

Console = Callable[..., Any]

pytestmark = pytest.mark.slow  # MLflow takes seconds to import and to make its database


@pytest.fixture(name="home", scope="module")
def _home(home_copy: Path, artifact: Artifact) -> Path:
    """Two versions, the second is champion."""
    settings = Settings.from_env({"FORELIGHT_HOME": str(home_copy)})
    Registry(settings.tracking_uri, home_copy / "mlartifacts").log(replace(artifact, version="second"), {})
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


def test_rolling_back_and_promoting_change_the_champion(console: Console, home: Path) -> None:
    assert "version 1 is champion again" == console(home, "model", "rollback").out.strip()
    assert "1" == _champion(console, home)

    assert "version 2 is champion" == console(home, "model", "promote", "2").out.strip()
    assert "2" == _champion(console, home)


def test_the_card_is_of_the_champion_or_of_the_version_named(console: Console, home: Path, artifact: Artifact) -> None:
    champion, first = (json.loads(console(home, "model", "card", *which).out) for which in ((), ("1",)))

    assert ("2", "second") == (champion["version"], champion["artifact"])
    assert ("1", artifact.version) == (first["version"], first["artifact"])
    assert artifact.facts == first["facts"]
    assert artifact.policy.watch == first["policy"]["watch"]
    assert 9.5 == first["metrics"]["healthy_module_weeks"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("promote", "7"), "there is no version 7 of forelight that forelight made"),
        (("card", "7"), "there is no version 7 of forelight that forelight made"),
        (("promote", "best"), "there is no version best of forelight that forelight made"),
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
            (("rollback",), "there is no earlier champion of forelight to roll back to"),
            (("card",), "no champion is registered: train one first (forelight train)"),
        ],
    )
    def test_what_needs_a_champion_says_so(
        self, console: Console, untrained_home: Path, arguments: tuple[str, ...], says: str
    ) -> None:
        ran = console(untrained_home, "model", *arguments)

        assert (1, f"forelight: {says}") == (ran.code, ran.err.strip())
