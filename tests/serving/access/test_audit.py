"""The audit log over HTTP, on both databases."""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from serving.access.audit import AuditLog, Entry, entries, note, prune
from serving.access.tokens import Scope, TokenStore
from serving.alarms import AlarmRecord, ScoreRun
from serving.database import make_engine
from serving.store import AlarmStore


@pytest.fixture(name="raised")
def _raised(store: AlarmStore, make_run: Callable[..., ScoreRun], make_alarm: Callable[..., AlarmRecord]) -> None:
    store.apply(make_run(), (make_alarm(1),))


def _entry(at: datetime, **changes: str) -> Entry:
    values = {"who": "ann", "what": "POST /v1/alarms", "subject": "a", "outcome": "200"} | changes
    return Entry(at=at, **values)


class TestOverHttp:
    def test_a_change_is_noted_with_who_what_when_and_how_it_ended(
        self, client: TestClient, raised: None, store: AlarmStore, clock: Callable[[], datetime]
    ) -> None:
        made, text = TokenStore(store.engine, clock=clock).create("nhc", Scope.OPERATE, who="x", expires_at=None)
        headers = {"Authorization": f"Bearer {text}"}

        for alarm_id in ("alarm-001", "alarm-009"):
            client.post(f"/v1/alarms/{alarm_id}/ack", json={"reason": "looking"}, headers=headers)

        route = "POST /v1/alarms/{alarm_id}/ack"
        common = {"at": clock(), "who": "nhc", "token_id": made.token_id, "address": "testclient", "what": route}
        assert [
            Entry(**common, subject="/v1/alarms/alarm-009/ack", outcome="404"),  # type: ignore[arg-type]  # of its types
            Entry(**common, subject="/v1/alarms/alarm-001/ack", outcome="200"),  # type: ignore[arg-type]  # of its types
        ] == list(entries(store.engine))

    def test_the_author_of_a_step_is_the_tokens_name(
        self, client: TestClient, raised: None, store: AlarmStore, clock: Callable[[], datetime]
    ) -> None:
        _, text = TokenStore(store.engine, clock=clock).create("nhc", Scope.OPERATE, who="x", expires_at=None)

        client.post("/v1/alarms/alarm-001/ack", json={}, headers={"Authorization": f"Bearer {text}"})

        assert "nhc" == store.events("alarm-001")[-1].who

    def test_who_was_refused_is_noted_as_nobody(self, client: TestClient, raised: None, store: AlarmStore) -> None:
        client.post("/v1/alarms/alarm-001/clear", json={})
        client.get("/v1/alarms", headers={"Authorization": "Bearer guessed-by-somebody"})

        assert [("", "401")] == [(entry.who, entry.outcome) for entry in entries(store.engine)]

    def test_a_scope_that_does_not_reach_is_noted_by_name(
        self, client: TestClient, raised: None, store: AlarmStore, clock: Callable[[], datetime]
    ) -> None:
        _, text = TokenStore(store.engine, clock=clock).create("grafana", Scope.READ, who="x", expires_at=None)

        answer = client.post("/v1/alarms/alarm-001/clear", json={}, headers={"Authorization": f"Bearer {text}"})

        assert (403, "urn:forelight:problem:forbidden") == (answer.status_code, answer.json()["type"])
        assert ("read", "operate") == (answer.json()["scope"], answer.json()["needed"])
        assert [("grafana", "403")] == [(entry.who, entry.outcome) for entry in entries(store.engine)]

    def test_reading_is_not_noted(
        self, client: TestClient, raised: None, authorized: dict[str, str], store: AlarmStore
    ) -> None:
        client.get("/v1/alarms", headers=authorized)

        assert () == entries(store.engine)

    def test_no_entry_holds_a_token_a_body_or_a_query(
        self, client: TestClient, raised: None, authorized: dict[str, str], store: AlarmStore
    ) -> None:
        secret = authorized["Authorization"].removeprefix("Bearer ")
        client.post(f"/v1/alarms/alarm-001/ack?key={secret}", json={"reason": secret}, headers=authorized)

        assert 1 == len(entries(store.engine))
        assert secret not in repr(entries(store.engine))


class TestLog:
    def test_many_at_once_are_all_written(self, store: AlarmStore, now: datetime) -> None:
        log = AuditLog(store.engine)

        async def at_once() -> None:
            await asyncio.gather(*(log.note(_entry(now, subject=str(number))) for number in range(300)))

        asyncio.run(at_once())

        assert {str(number) for number in range(300)} == {e.subject for e in entries(store.engine, limit=1000)}

    def test_what_the_database_does_not_take_is_in_the_services_log(
        self, tmp_path: Path, now: datetime, caplog: pytest.LogCaptureFixture
    ) -> None:
        engine = make_engine(f"sqlite:///{tmp_path / 'empty.db'}")
        with caplog.at_level(logging.ERROR):
            asyncio.run(AuditLog(engine).note(_entry(now, subject="lost?")))
        engine.dispose()

        assert "lost?" in caplog.text

    def test_it_is_asked_by_author_and_time_the_newest_first(self, store: AlarmStore, now: datetime) -> None:
        times = [now + timedelta(hours=hour) for hour in range(4)]
        note(store.engine, *(_entry(at, who="ann" if i % 2 else "bob") for i, at in enumerate(times)))

        assert [times[3], times[1]] == [entry.at for entry in entries(store.engine, who="ann")]
        assert [times[3], times[2]] == [entry.at for entry in entries(store.engine, since=times[2])]
        assert [times[3]] == [entry.at for entry in entries(store.engine, limit=1)]

    def test_what_is_old_is_pruned(self, store: AlarmStore, now: datetime) -> None:
        note(store.engine, *(_entry(now + timedelta(hours=hour)) for hour in range(4)))

        assert 2 == prune(store.engine, now + timedelta(hours=2))
        assert 2 == len(entries(store.engine))
