"""How often somebody may ask."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from serving.access.auth import OperatorToken
from serving.access.limits import Buckets
from serving.access.tokens import Scope, TokenStore
from serving.app import create_app
from serving.settings import Settings
from serving.store import AlarmStore

SECRET = "0123456789abcdef"


class Seconds:
    """A monotonic clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class TestBuckets:
    def test_a_burst_passes_and_then_one_at_a_time(self) -> None:
        seconds = Seconds()
        buckets = Buckets(2.0, 4.0, seconds)

        waits = [buckets.take("a") for _ in range(5)]
        seconds.now = 0.5

        assert [0.0, 0.0, 0.0, 0.0, 0.5] == waits
        assert [0.0, 0.5] == [buckets.take("a"), buckets.take("a")]

    def test_each_has_a_bucket_of_its_own(self) -> None:
        buckets = Buckets(1.0, 1.0, Seconds())
        buckets.take("a")

        assert (1.0, 0.0) == (buckets.take("a"), buckets.take("b"))

    @given(st.lists(st.floats(min_value=0.0, max_value=5.0), max_size=200))
    def test_never_more_than_the_burst_and_the_rate_pass(self, gaps_s: list[float]) -> None:
        seconds = Seconds()
        buckets = Buckets(3.0, 7.0, seconds)
        passed = 0
        for gap_s in gaps_s:
            seconds.now += gap_s
            passed += buckets.take("a") == 0.0

        assert passed <= 7.0 + 3.0 * seconds.now + 1e-6

    def test_memory_is_bounded_however_many_ask(self) -> None:
        buckets = Buckets(1.0, 1.0, Seconds())
        for number in range(30_000):
            buckets.take(str(number))

        assert 10_000 == len(buckets._levels)


class TestOverHttp:
    @pytest.fixture(name="slow")
    def _slow(self, store: AlarmStore, settings: Settings, clock: Callable[[], datetime]) -> Iterator[TestClient]:
        """A service that lets each caller ask once a second, twice at once."""
        few = replace(settings, rate_per_s=1.0)
        with TestClient(create_app(few, store, token=OperatorToken.of(SECRET), clock=clock)) as client:
            yield client

    def test_who_asks_too_often_is_told_when_to_come_again(self, slow: TestClient) -> None:
        answer = [slow.get("/version") for _ in range(3)][-1]

        assert 429 == answer.status_code
        assert "urn:forelight:problem:rate-limited" == answer.json()["type"]
        assert "1" == answer.headers["retry-after"]
        assert "nosniff" == answer.headers["x-content-type-options"]

    def test_one_caller_does_not_use_up_what_another_may(
        self, slow: TestClient, store: AlarmStore, clock: Callable[[], datetime]
    ) -> None:
        _, text = TokenStore(store.engine, clock=clock).create("nhc", Scope.READ, who="x", expires_at=None)
        for _ in range(3):
            slow.get("/version")

        assert 200 == slow.get("/version", headers={"Authorization": f"Bearer {text}"}).status_code
        assert 200 == slow.get("/version", headers={"Authorization": f"Bearer {SECRET}"}).status_code

    def test_the_probe_that_decides_on_a_restart_always_passes(self, slow: TestClient) -> None:
        assert {200} == {slow.get("/livez").status_code for _ in range(10)}

    def test_guessing_tokens_is_slow(self, client: TestClient) -> None:
        statuses = [client.get("/version", headers={"Authorization": f"Bearer {n:032}"}).status_code for n in range(25)]

        assert [200] * 20 == statuses[:20]
        assert 429 == statuses[-1]
