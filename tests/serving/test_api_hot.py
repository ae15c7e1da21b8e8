"""What is answered from memory is what the database would say, and no older than a second."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import polars as pl
import pytest
from starlette.testclient import TestClient

from ingest.lake import Lake
from ingest.schema import MODULES
from serving import hot
from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.app import create_app
from serving.errors import StoreError
from serving.settings import Settings
from serving.store import AlarmStore

PATHS = ["/v1/alarms/alarm-001", "/v1/transceivers/leaf01/Ethernet1"]
Score = Callable[..., None]


@pytest.fixture(name="scored")
def _scored(score: Score, make_alarm: Callable[..., AlarmRecord]) -> None:
    score(raised=(make_alarm(1), make_alarm(2)))


@pytest.mark.parametrize("path", PATHS)
def test_the_second_answer_is_the_first_from_memory(client: TestClient, scored: None, path: str) -> None:
    client.get(path)
    first, second = client.get(path), client.get(path)

    assert first.json() == second.json()
    assert first.headers.get("etag") == second.headers.get("etag")
    assert "0" == second.headers["age"]


@pytest.mark.parametrize("path", PATHS)
def test_from_memory_it_says_what_the_usual_way_says(
    client: TestClient, scored: None, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.get(path)
    told = client.get(path)
    monkeypatch.setattr(hot, "_OLDEST_S", -1.0)
    usual = client.get(path)

    assert "age" not in usual.headers
    assert usual.content == told.content
    assert {**usual.headers, "age": "0"} == dict(told.headers)


def test_a_step_is_seen_at_once_by_whoever_asks_the_same_process(
    client: TestClient, scored: None, authorized: dict[str, str]
) -> None:
    for path in PATHS * 2:
        client.get(path)
    client.post("/v1/alarms/alarm-001/ack", json={}, headers=authorized)

    statuses = [client.get(PATHS[0]).json()["alarm"]["status"], client.get(PATHS[1]).json()["alarm"]["status"]]
    assert ["acked", "acked"] == statuses
    assert "acked" == client.get(PATHS[0]).json()["alarm"]["status"]


def test_a_step_of_another_process_is_seen_within_a_second(client: TestClient, scored: None, store: AlarmStore) -> None:
    client.get(PATHS[0])
    store.transition("alarm-001", Status.CLEARED, "ann", "")
    client.app.state.services.scores._monotonic = lambda: 1e12  # type: ignore[attr-defined]  # a second later

    assert "cleared" == client.get(PATHS[0]).json()["alarm"]["status"]


def test_the_age_of_the_data_grows_though_the_answer_is_kept(
    client: TestClient, scored: None, advance: Callable[..., None]
) -> None:
    client.get(PATHS[1])
    advance(seconds=30)

    assert 90.0 == client.get(PATHS[1]).json()["data_age_s"]


def test_stale_scores_are_no_answer_though_it_is_in_memory(
    client: TestClient, scored: None, advance: Callable[..., None]
) -> None:
    for path in PATHS:
        client.get(path)
    advance(hours=3)

    assert [503, 503] == [client.get(path).status_code for path in PATHS]


def test_an_alarm_in_memory_is_not_told_for_long_while_the_database_is_away(
    client: TestClient, scored: None, store: AlarmStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was true before the outage may not be so any more: the answer is an honest 503."""
    client.get(PATHS[0])
    assert 200 == client.get(PATHS[0]).status_code

    def away(*_: Any, **__: Any) -> None:
        msg = "the database is away"
        raise StoreError(msg)

    for name in ("version", "story"):
        monkeypatch.setattr(store, name, away)
    services = client.app.state.services  # type: ignore[attr-defined]  # FastAPI's
    services.scores._monotonic = lambda: services.scores._checked_s + 6.0

    answer = client.get(PATHS[0])
    assert (503, "urn:forelight:problem:store-unavailable") == (answer.status_code, answer.json()["type"])


def test_without_a_valid_token_memory_says_nothing(
    store: AlarmStore, settings: Settings, clock: Callable[[], datetime], scored: None
) -> None:
    with TestClient(create_app(settings, store, open_reads=False, clock=clock)) as client:
        statuses = {client.get(path, headers={"Authorization": "Bearer x"}).status_code for path in PATHS * 2}

    assert {403} == statuses


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot, "_MOST", 3)
    answers = hot.Answers()
    for number in range(10):
        answers.keep(number, hot.Kept((), b""))

    assert len(answers._kept) <= 3


class TestNode:
    def test_alarms_on_a_servers_links_are_found_by_its_name(
        self, client: TestClient, score: Score, make_alarm: Callable[..., AlarmRecord], lake: Lake, now: datetime
    ) -> None:
        nic = {"received_at": now, "site": "default", "interface": "eth0", "role": "nic"}
        lake.append(MODULES, pl.DataFrame([nic | {"device": "gpu07"}, nic | {"device": "gpu08"}]))
        score(raised=(make_alarm(1, peer_device="gpu07"), make_alarm(2), make_alarm(3, device="gpu07")))

        def found(node: str) -> list[str]:
            return [alarm["alarm_id"] for alarm in client.get("/v1/alarms", params={"node": node}).json()["alarms"]]

        assert (["alarm-001", "alarm-003"], []) == (found("gpu07"), found("gpu08"))

    def test_a_node_that_nobody_knows_is_an_error_not_an_all_clear(
        self, client: TestClient, store: AlarmStore, make_run: Callable[..., ScoreRun], score: Score
    ) -> None:
        score()
        answer = client.get("/v1/alarms", params={"node": "leaf01"})

        assert (404, "urn:forelight:problem:node-not-found") == (answer.status_code, answer.json()["type"])
