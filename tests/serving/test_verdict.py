"""Verdicts by REST and on the command line, from a lake with probes in it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from probed_fabric import AT, probed, served

from serving.settings import Settings

LOSSY = "gpu3:eth0 → leaf1:h1"
Ask = Callable[..., Any]


@pytest.fixture(name="ask")
def _ask(settings: Settings) -> Iterator[Ask]:
    """Asks the service of a fabric with one lossy link."""
    with served(settings, {LOSSY: 0.02}) as client:
        yield lambda **query: client.get("/v1/verdict", params=query)


def test_a_lossy_link_is_told_with_its_direction_and_its_power(ask: Ask) -> None:
    answer = ask(link="leaf1/h1").json()

    assert ("network_faulty", "P2", LOSSY) == (answer["kind"], answer["priority"], answer["fault"]["links"][0])
    assert 0.01 < answer["fault"]["loss"] < 0.04
    assert {"pfc", "flows", "collectives"} <= set(answer["missing"])


def test_a_job_is_asked_for_by_its_nodes(ask: Ask) -> None:
    answer = ask(job="llm-7", node=[f"gpu{number}" for number in range(8)], slowdown=0.3).json()

    assert ("llm-7", "network_faulty", "P0") == (answer["job"], answer["kind"], answer["priority"])


@pytest.mark.parametrize(
    ("query", "status", "word"),
    [
        ({}, 422, "link"),
        ({"link": "leaf1/h1", "job": "x"}, 422, "node"),
        ({"link": "leaf9/h1"}, 404, "leaf9"),
        ({"link": "leaf1"}, 422, "device/interface"),
        ({"job": "x", "node": ["gpu0", "gpu99"]}, 404, "gpu99"),
        ({"link": "leaf1/h1", "windows": 0}, 422, "windows"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(ask: Ask, query: dict[str, Any], status: int, word: str) -> None:
    answer = ask(**query)

    assert status == answer.status_code
    assert word in answer.text


def test_the_command_says_the_same_and_what_was_not_looked_at(settings: Settings, console: Callable[..., Any]) -> None:
    probed(settings.home / "lake", {LOSSY: 0.02})
    ran = console(settings.home, "diagnose", "leaf1/h1", "--at", AT.isoformat())

    assert 0 == ran.code
    assert ran.out.startswith(f"network_faulty: {LOSSY}")
    assert "not looked at:" in ran.out


@pytest.mark.parametrize(
    ("words", "code", "says"), [(("leaf9/h1",), 1, "leaf9"), ((), 2, "name a link"), (("--job", "x"), 2, "--node")]
)
def test_the_command_names_what_is_wrong_with_the_question(
    settings: Settings, console: Callable[..., Any], words: tuple[str, ...], code: int, says: str
) -> None:
    probed(settings.home / "lake", windows=0)
    ran = console(settings.home, "diagnose", *words, "--at", AT.isoformat())

    assert code == ran.code
    assert says in ran.err
