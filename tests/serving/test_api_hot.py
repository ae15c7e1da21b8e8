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
from serving.access.tokens import Scope, TokenStore
from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.app import create_app
from serving.errors import StoreError
from serving.routes import alarms, transceivers
from serving.settings import Settings
from serving.store import AlarmStore

PATHS = ["/v1/alarms/alarm-001", "/v1/transceivers/leaf01/Ethernet1"]
Score = Callable[..., None]


@pytest.fixture(name="scored")
def _scored(score: Score, make_alarm: Callable[..., AlarmRecord]) -> None:
    score(raised=(make_alarm(1), make_alarm(2)))


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_from_memory_and_the_second_is_the_first(client: TestClient, scored: None, path: str) -> None:
    first, second = client.get(path), client.get(path)

    assert first.json() == second.json()
    assert first.headers.get("etag") == second.headers.get("etag")
    assert ["0", "0"] == [first.headers["age"], second.headers["age"]]


@pytest.mark.parametrize("path", PATHS)
def test_from_memory_it_says_what_the_usual_way_says(
    client: TestClient, scored: None, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_an_answer_from_memory_has_the_whole_life_of_the_alarm(
    client: TestClient, scored: None, store: AlarmStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of another process come one by one; what the database says of them at the end is the same."""
    services = client.app.state.services  # type: ignore[attr-defined]  # FastAPI's
    for to in (Status.ACKED, Status.SUPPRESSED, Status.OPEN):
        client.get(PATHS[0])
        store.transition("alarm-001", to, "ann", f"to {to}")
        services.scores.forget()
    told = client.get(PATHS[0])
    monkeypatch.setattr(hot, "_OLDEST_S", -1.0)

    assert "age" in told.headers
    assert client.get(PATHS[0]).content == told.content
    assert ["open", "acked", "suppressed", "open"] == [event["to_status"] for event in told.json()["events"]]


def test_an_answer_from_memory_is_counted_under_its_route(client: TestClient, scored: None) -> None:
    for path in PATHS:
        client.get(path)
    counted = client.get("/metrics").text

    for lane in (alarms.LANE, transceivers.LANE):
        assert f'forelight_http_requests_total{{code="200",method="GET",route="{lane.path}"}} 1.0' in counted


def test_a_path_below_a_port_is_not_the_port(client: TestClient, scored: None) -> None:
    assert "from" in client.get(f"{PATHS[1]}/series").json()
    assert "age" not in client.get(f"{PATHS[1]}/series").headers


@pytest.mark.parametrize("asked", [{"params": {"site": "default"}}, {"headers": {"If-None-Match": '"x"'}}])
def test_what_is_not_plain_goes_the_usual_way(client: TestClient, scored: None, asked: dict[str, Any]) -> None:
    assert "age" not in client.get(PATHS[1], **asked).headers


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


def test_a_token_that_may_not_read_is_not_answered_from_memory(
    store: AlarmStore, settings: Settings, clock: Callable[[], datetime], scored: None
) -> None:
    tokens = TokenStore(store.engine, clock=clock)
    said = tokens.create("host", Scope.INGEST, who="test", expires_at=None)[1]
    with TestClient(create_app(settings, store, open_reads=False, clock=clock)) as client:
        statuses = {client.get(path, headers={"Authorization": f"Bearer {said}"}).status_code for path in PATHS * 2}

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
