"""Steps of an alarm's life over HTTP: once a key, and only on what the caller has seen."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from serving.access.tokens import Scope, TokenStore
from serving.alarms import AlarmRecord, ScoreRun
from serving.store import AlarmStore
from serving.upkeep import sweep

Post = Callable[..., Response]


@pytest.fixture(name="raised")
def _raised(store: AlarmStore, make_run: Callable[..., ScoreRun], make_alarm: Callable[..., AlarmRecord]) -> None:
    store.apply(make_run(), [make_alarm(1), make_alarm(2)])


@pytest.fixture(name="post")
def _post(client: TestClient, raised: None, authorized: dict[str, str]) -> Post:
    """Asks for a step of the first alarm: ``post("ack", {"reason": "…"}, key="k", if_match=tag)``."""

    def post(step: str, body: object = None, *, key: str | None = None, if_match: str | None = None) -> Response:
        more = {"Idempotency-Key": key, "If-Match": if_match}
        headers = authorized | {name: value for name, value in more.items() if value is not None}
        answer: Response = client.post(f"/v1/alarms/alarm-001/{step}", json=body or {}, headers=headers)
        return answer

    return post


class TestSuppression:
    def test_it_is_suppressed_for_a_while_and_opened_again(self, post: Post) -> None:
        suppressed = post("suppress", {"ttl_s": 3600, "reason": "recabling"}).json()
        opened = post("reopen", {"reason": "done"}).json()

        assert ("suppressed", "2026-11-29T13:00:00Z") == (suppressed["status"], suppressed["suppressed_until"])
        assert ("open", None) == (opened["status"], opened["suppressed_until"])

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"ttl_s": 60, "until": "2026-11-29T13:00:00Z"},
            {"ttl_s": 0},
            {"ttl_s": 90 * 86_400 + 1},
            {"until": "2026-11-29T12:00:00Z"},
            {"until": "2027-03-29T12:00:00Z"},
            {"until": "2026-11-29T13:00:00"},
        ],
    )
    def test_without_an_end_that_makes_sense_it_is_refused(self, post: Post, body: dict[str, object]) -> None:
        answer = post("suppress", body)

        assert (422, "urn:forelight:problem:invalid-request") == (answer.status_code, answer.json()["type"])

    def test_what_is_not_suppressed_cannot_be_opened(self, post: Post) -> None:
        post("ack")

        assert 409 == post("reopen").status_code


class TestIdempotency:
    def test_the_same_again_is_answered_the_same_and_done_once(self, post: Post, store: AlarmStore) -> None:
        first = post("suppress", {"ttl_s": 60}, key="k1")
        post("clear")

        again = post("suppress", {"ttl_s": 60}, key="k1")

        assert (200, first.content, first.headers["etag"]) == (again.status_code, again.content, again.headers["etag"])
        assert "true" == again.headers["idempotency-replayed"]
        assert ["open", "suppressed", "cleared"] == [event.to_status for event in store.events("alarm-001")]

    @pytest.mark.parametrize(("step", "body"), [("ack", {"reason": "other"}), ("clear", {"reason": "one"})])
    def test_another_request_under_the_same_key_is_refused(self, post: Post, step: str, body: dict[str, str]) -> None:
        post("ack", {"reason": "one"}, key="k1")

        answer = post(step, body, key="k1")

        assert (422, "urn:forelight:problem:idempotency-key-reused") == (answer.status_code, answer.json()["type"])

    def test_a_key_is_its_callers_own(
        self, post: Post, client: TestClient, store: AlarmStore, clock: Callable[[], datetime]
    ) -> None:
        _, text = TokenStore(store.engine, clock=clock).create("other", Scope.OPERATE, who="x", expires_at=None)
        post("ack", {"reason": "one"}, key="k1")

        headers = {"Authorization": f"Bearer {text}", "Idempotency-Key": "k1"}
        answer = client.post("/v1/alarms/alarm-001/clear", json={}, headers=headers)

        assert "cleared" == answer.json()["status"]

    def test_a_refusal_is_not_kept_for_it_changed_nothing(self, post: Post) -> None:
        assert 409 == post("reopen", key="k1").status_code or post("ack")
        post("suppress", {"ttl_s": 60})

        assert 200 == post("reopen", key="k1").status_code

    def test_a_key_is_forgotten_after_a_day(
        self, post: Post, store: AlarmStore, advance: Callable[..., None], clock: Callable[[], datetime]
    ) -> None:
        post("ack", {"reason": "one"}, key="k1")
        advance(hours=24)
        sweep(store, 1e7, clock())

        assert 200 == post("ack", {"reason": "two"}, key="k1").status_code

    def test_many_at_once_do_it_once(self, post: Post, store: AlarmStore) -> None:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: post("suppress", {"ttl_s": 60}, key="k1"), range(16)))

        assert 1 == len({answer.content for answer in answers})
        assert 2 == len(store.events("alarm-001"))

    @pytest.mark.parametrize("key", ["x" * 201, "a b"])
    def test_a_key_that_is_none_is_refused(self, post: Post, key: str) -> None:
        assert 422 == post("ack", key=key).status_code


class TestConcurrency:
    def test_a_step_on_what_the_caller_saw_is_taken(self, post: Post, client: TestClient) -> None:
        tag = client.get("/v1/alarms/alarm-001").headers["etag"]

        answer = post("ack", if_match=f'"other", {tag}')

        assert 200 == answer.status_code
        assert client.get("/v1/alarms/alarm-001").headers["etag"] == answer.headers["etag"]

    def test_a_step_on_what_has_changed_since_is_refused(
        self, post: Post, client: TestClient, store: AlarmStore
    ) -> None:
        tag = client.get("/v1/alarms/alarm-001").headers["etag"]
        post("ack")

        answer = post("clear", if_match=tag)

        assert (412, "urn:forelight:problem:precondition-failed") == (answer.status_code, answer.json()["type"])
        assert "acked" == answer.json()["current"]
        assert 2 == len(store.events("alarm-001"))

    def test_of_two_who_saw_the_same_one_wins(self, post: Post, client: TestClient) -> None:
        tag = client.get("/v1/alarms/alarm-001").headers["etag"]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda step: post(step, {"ttl_s": 60} if step == "suppress" else {}, if_match=tag),
                                    ["ack", "clear", "suppress"]))  # fmt: skip

        assert [200, 412, 412] == sorted(answer.status_code for answer in answers)

    def test_a_run_that_renews_the_alarm_is_a_change_too(
        self,
        post: Post,
        client: TestClient,
        store: AlarmStore,
        make_run: Callable[..., ScoreRun],
        make_alarm: Callable[..., AlarmRecord],
        now: datetime,
        advance: Callable[..., None],
    ) -> None:
        tag = client.get("/v1/alarms/alarm-001").headers["etag"]
        advance(hours=1)
        store.apply(make_run(client.app.state.services.clock()), updated=[make_alarm(risk_24h=0.01)])  # type: ignore[attr-defined]  # FastAPI's

        assert 412 == post("clear", if_match=tag).status_code

    @pytest.mark.parametrize("if_match", ['"1"', "*"])
    def test_any_state_will_do_where_the_caller_says_so(self, post: Post, if_match: str) -> None:
        assert 200 == post("ack", if_match=if_match).status_code

    @pytest.mark.parametrize("if_match", ['W/"1.0"', "1.0", "", '"', '"2.x"'])
    def test_a_weak_tag_or_none_of_ours_is_no_match(self, post: Post, if_match: str) -> None:
        assert 412 == post("ack", if_match=if_match).status_code

    def test_the_tag_is_strong_and_moves_with_all_that_is_answered(
        self, post: Post, client: TestClient, store: AlarmStore, make_run: Callable[..., ScoreRun], now: datetime
    ) -> None:
        first = client.get("/v1/alarms/alarm-001")
        again = client.get("/v1/alarms/alarm-001")
        store.apply(make_run(now.replace(minute=30)))
        client.app.state.services.scores.forget()  # type: ignore[attr-defined]  # FastAPI's
        third = client.get("/v1/alarms/alarm-001")

        assert (first.content, first.headers["etag"]) == (again.content, again.headers["etag"])
        assert first.headers["etag"].startswith('"')
        assert first.content != third.content
        assert first.headers["etag"] != third.headers["etag"]
