"""The page about the model: how the challenger did beside the champion, as it was found and kept."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from starlette.testclient import TestClient

from models.evaluate import Counts
from models.kept import SHADOW
from models.registry import Registry
from serving.app import create_app
from serving.scoring.side_by_side import SideBySide
from serving.settings import Settings
from serving.store import AlarmStore

pytestmark = pytest.mark.slow
FOUND = SideBySide(
    champion=("aaa111",),
    challenger="bbb222",
    start=datetime(2026, 11, 1, tzinfo=UTC),
    end=datetime(2026, 11, 8, tzinfo=UTC),
    hours=168,
    modules=96,
    rank_correlation=0.91,
    champion_alarms=7,
    challenger_alarms=5,
    in_common=4,
)
Page = Callable[[], str]


@pytest.fixture(name="registry")
def _registry(settings: Settings) -> Registry:
    settings.home.mkdir(parents=True, exist_ok=True)
    return Registry(settings.tracking_uri, settings.artifact_root)


@pytest.fixture(name="page")
def _page(settings: Settings, store: AlarmStore, registry: Registry) -> Iterator[Page]:
    """The text of the page, once the registry has answered."""
    with TestClient(create_app(settings, store)) as client:

        def text() -> str:
            until = time.monotonic() + 60
            while time.monotonic() < until:
                said = client.get("/model").text
                if "has not answered yet" not in said:
                    return " ".join(said.split())
            msg = "the registry did not answer within a minute"
            raise TimeoutError(msg)

        yield text


def test_what_came_of_the_hours_that_both_scored_stands_side_by_side(registry: Registry, page: Page) -> None:
    judged = replace(
        FOUND,
        judged_until=datetime(2026, 11, 6, tzinfo=UTC),
        champion_judged=Counts(failures=9, false=3, caught={1: 5, 24: 2}, module_weeks=96.0),
        challenger_judged=Counts(failures=9, false=1, caught={1: 6, 24: 4}, module_weeks=96.0),
    )
    registry.keep(SHADOW, {}, judged.to_dict())

    said = page()

    assert "Challenger bbb222 in the shadow of aaa111: 168 hours" in said
    assert "50 % have one of each" in said
    for name, champion, challenger in (
        ("links with an alarm", 7, 5),
        ("failures foreseen 1 h ahead, of 9", 5, 6),
        ("failures foreseen 24 h ahead, of 9", 2, 4),
        ("false alarms", 3, 1),
    ):
        row = f'<th scope="row">{name}</th><td class="figure">{champion}</td><td class="figure">{challenger}</td>'
        assert row in said


def test_what_cannot_be_judged_yet_is_said_to_be_so(registry: Registry, page: Page) -> None:
    registry.keep(SHADOW, {}, FOUND.to_dict())

    said = page()

    assert "no failure in them can have its ticket yet" in said
    assert "failures foreseen" not in said.partition('id="versions"')[2]
