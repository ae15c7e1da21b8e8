"""SLAs by REST and on the command line, from a lake with probes in it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from probed_fabric import AT, probed, served

from serving.settings import Settings

LOSSY = "leaf1:u0 → spine0:d1"
Ask = Callable[..., Any]


@pytest.fixture(name="ask")
def _ask(settings: Settings) -> Iterator[Ask]:
    """Asks the service of a fabric with a lossy uplink."""
    with served(settings, {LOSSY: 0.05}) as client:
        yield lambda **query: client.get("/v1/sla", params=query)


def test_the_newest_window_is_told_by_tier_with_the_map(ask: Ask) -> None:
    answer = ask().json()
    found = {(row["tier"], row["name"], row["reach"]): row for row in answer["slas"]}

    assert ["loss"] == found["tor", "leaf1", "across"]["breached"]
    assert [] == found["tor", "leaf1", "within"]["breached"]
    assert 1 == len({row["time"] for row in answer["slas"]})
    assert ["leaf0", "leaf1", "leaf2", "leaf3"] == answer["map"]["tors"]
    assert ("pod_failure", ["leaf1"]) == (answer["map"]["pattern"], answer["map"]["pods"])


def test_more_windows_are_told_each_for_itself(ask: Ask) -> None:
    assert 3 == len({row["time"] for row in ask(windows=3).json()["slas"]})


def test_a_site_without_probes_has_no_sla(ask: Ask) -> None:
    answer = ask(site="elsewhere").json()

    assert ([], "unknown") == (answer["slas"], answer["map"]["pattern"])


@pytest.mark.parametrize("query", [{"windows": 0}, {"windows": 16}, {"pod": "x"}])
def test_a_question_that_cannot_be_is_refused(ask: Ask, query: dict[str, Any]) -> None:
    assert 422 == ask(**query).status_code


def test_the_command_says_the_same(settings: Settings, console: Callable[..., Any]) -> None:
    probed(settings.home / "lake", {LOSSY: 0.05})
    told = console(settings.home, "diagnose", "--sla", "--at", AT.isoformat())
    as_json = console(settings.home, "diagnose", "--sla", "--json", "--windows", "1", "--at", AT.isoformat())

    assert (0, 0) == (told.code, as_json.code)
    assert "tor leaf1" in told.out
    assert "ToR against ToR: pod_failure of leaf1" in told.out
    assert "leaf0 .x.." in told.out
    assert "pod_failure" == json.loads(as_json.out)["map"]["pattern"]


def test_the_command_says_when_nothing_was_probed(settings: Settings, console: Callable[..., Any]) -> None:
    probed(settings.home / "lake", windows=0)
    ran = console(settings.home, "diagnose", "--sla", "--at", AT.isoformat())

    assert 1 == ran.code
    assert "no window of site default was probed" in ran.err
