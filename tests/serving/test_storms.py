"""What a storm held back is kept and can be asked for, with its reason: on both databases."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from starlette.testclient import TestClient

from serving.alarms import AlarmRecord, ScoreRun
from serving.errors import CursorError
from serving.store import AlarmStore
from serving.storms import HeldBack, StormFilter, StormPage, read_storms
from serving.upkeep import prune

Held = Callable[[int], list[HeldBack]]
MakeRun = Callable[..., ScoreRun]


@pytest.fixture(name="storm")
def _storm(store: AlarmStore, make_run: MakeRun, held_back: Held) -> list[HeldBack]:
    """Five alarms that one run held back."""
    held = held_back(5)
    store.apply(make_run(), held_back=held)
    return held


def test_they_are_told_with_their_reason_and_nothing_stands(
    client: TestClient, storm: list[HeldBack], store: AlarmStore
) -> None:
    told = client.get("/v1/storms").json()["held_back"]

    assert [f"Ethernet{number}" for number in (5, 4, 3, 2, 1)] == [one["interface"] for one in told]
    assert {"5 new alarms at once on leaf01"} == {one["why"] for one in told}
    assert [] == client.get("/v1/alarms").json()["alarms"]
    assert set(storm) == set(read_storms(store.engine, StormFilter()).alarms)


def test_pages_meet_each_once(client: TestClient, storm: list[HeldBack]) -> None:
    seen, cursor = [], None
    while True:
        page = client.get("/v1/storms", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        seen += [one["link_id"] for one in page["held_back"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert [one.link_id for one in reversed(storm)] == seen


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"device": "leaf01"}, 5),
        ({"device": "spine01"}, 5),
        ({"device": "leaf02"}, 0),
        ({"site": "elsewhere"}, 0),
        ({"since": "2026-11-29T12:00:00Z"}, 5),
        ({"since": "2026-11-29T12:00:01Z"}, 0),
    ],
    ids=str,
)
def test_filters(client: TestClient, storm: list[HeldBack], asked: dict[str, str], count: int) -> None:
    assert count == len(client.get("/v1/storms", params=asked).json()["held_back"])


def test_a_cursor_that_is_none_is_refused(client: TestClient, store: AlarmStore) -> None:
    assert 422 == client.get("/v1/storms", params={"cursor": "x"}).status_code
    with pytest.raises(CursorError):
        read_storms(store.engine, StormFilter(), cursor="9" * 30)


def test_the_same_run_again_keeps_nothing_twice(
    store: AlarmStore, storm: list[HeldBack], make_run: MakeRun, held_back: Held
) -> None:
    store.apply(make_run(), held_back=held_back(5))

    assert 5 == len(read_storms(store.engine, StormFilter()).alarms)


def test_a_run_that_fails_keeps_nothing(
    store: AlarmStore, make_run: MakeRun, held_back: Held, make_alarm: Callable[..., AlarmRecord]
) -> None:
    with pytest.raises(Exception, match="two alarms on one fault unit"):
        store.apply(make_run(), [make_alarm(1), make_alarm(2, link_id=make_alarm(1).link_id)], held_back=held_back(5))

    assert StormPage((), None) == read_storms(store.engine, StormFilter())


def test_they_are_deleted_with_what_is_as_old(store: AlarmStore, storm: list[HeldBack], now: datetime) -> None:
    prune(store, now)
    assert 5 == len(read_storms(store.engine, StormFilter()).alarms)

    prune(store, now + timedelta(seconds=1))
    assert () == read_storms(store.engine, StormFilter()).alarms
