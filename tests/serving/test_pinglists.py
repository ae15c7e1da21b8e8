"""Pinglists in the store and over HTTP: each host has its own, the same until another is planned, none when stopped."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from ingest.errors import ConfigError
from ingest.probes.pinglist import Flow, Pinglist
from serving.access.tokens import Scope, TokenStore
from serving.errors import PinglistNotFoundError
from serving.pinglists import PinglistStore
from serving.store import AlarmStore

FLOW = Flow("eth0", "10.1.0.2", 61_000, "gpu0002", "eth0", "10.1.7.2", "inter_tor", 1.0)
TODO = Pinglist((FLOW,), (), bytes(16))
HOSTS = {("default", "gpu0001"): TODO, ("default", "gpu0002"): replace(TODO, flows=())}
Ask = Callable[..., Any]


@pytest.fixture(name="lists")
def _lists(store: AlarmStore) -> PinglistStore:
    return PinglistStore(store.engine)


@pytest.fixture(name="ask")
def _ask(client: TestClient, authorized: dict[str, str], lists: PinglistStore) -> Ask:
    lists.put(HOSTS)

    def ask(device: str, etag: str = "", **headers: str) -> Any:
        own = authorized | ({"If-None-Match": etag} if etag else {}) | headers
        return client.get("/v1/probes/pinglist", params={"device": device}, headers=own)

    return ask


class TestStore:
    def test_what_is_planned_is_read_again(self, lists: PinglistStore) -> None:
        assert 2 == lists.put(HOSTS)
        assert HOSTS == lists.all()

    def test_only_what_changes_is_written(self, lists: PinglistStore) -> None:
        lists.put(HOSTS)
        before = lists.get("default", "gpu0002")

        assert 0 == lists.put(HOSTS)
        assert 1 == lists.put(HOSTS | {("default", "gpu0001"): replace(TODO, window_s=10.0)})
        assert before == lists.get("default", "gpu0002")

    def test_a_host_that_is_planned_no_longer_has_none(self, lists: PinglistStore) -> None:
        lists.put(HOSTS)
        lists.put({("default", "gpu0001"): TODO})

        with pytest.raises(PinglistNotFoundError, match="gpu0002 of site default"):
            lists.get("default", "gpu0002")

    def test_what_cannot_be_is_not_written(self, lists: PinglistStore) -> None:
        lists.put(HOSTS)
        with pytest.raises(ConfigError, match="per_s"):
            lists.put({("default", "gpu0001"): replace(TODO, flows=(replace(FLOW, per_s=-1.0),))})

        assert HOSTS == lists.all()

    def test_the_key_is_drawn_once(self, lists: PinglistStore) -> None:
        assert 16 == len(lists.key())
        assert lists.key() == lists.key()

    def test_a_stop_empties_all_of_them_until_it_is_taken_back(self, lists: PinglistStore) -> None:
        lists.put(HOSTS)
        planned = lists.get("default", "gpu0001")
        lists.stop("cli:ann", "it floods")

        stop = lists.stopped()
        assert stop is not None
        assert ("cli:ann", "it floods") == (stop.who, stop.why)
        assert '"flows":[]' in lists.get("default", "gpu0001").body
        lists.resume()
        assert (None, planned) == (lists.stopped(), lists.get("default", "gpu0001"))


class TestRoute:
    def test_a_host_is_told_its_own(self, ask: Ask) -> None:
        answer = ask("gpu0001")

        assert 200 == answer.status_code
        assert TODO == Pinglist.of(answer.json(), "the answer")

    def test_it_is_not_sent_again_while_it_is_the_same(self, ask: Ask, lists: PinglistStore) -> None:
        etag = ask("gpu0001").headers["etag"]

        assert (304, b"") == (ask("gpu0001", etag).status_code, ask("gpu0001", etag).content)
        lists.stop("ann", "")
        stopped = ask("gpu0001", etag)
        assert (200, []) == (stopped.status_code, stopped.json()["flows"])
        assert 304 == ask("gpu0001", stopped.headers["etag"]).status_code

    def test_a_host_that_is_not_planned_has_none(self, ask: Ask) -> None:
        answer = ask("gpu0009")

        assert (404, "urn:forelight:problem:pinglist-not-found") == (answer.status_code, answer.json()["type"])

    def test_the_key_is_for_the_hosts_own_token_alone(self, ask: Ask, store: AlarmStore, now: datetime) -> None:
        tokens = TokenStore(store.engine, clock=lambda: now)
        _, own = tokens.create("gpu0001", Scope.INGEST, who="test", expires_at=None, device=("default", "gpu0001"))
        _, reads = tokens.create("reader", Scope.READ, who="test", expires_at=None)
        found = {
            (name, device): ask(device, Authorization=f"Bearer {text}").status_code
            for name, text in (("own", own), ("reads", reads), ("none", "x"))
            for device in ("gpu0001", "gpu0002")
        }

        assert 200 == found.pop(("own", "gpu0001"))
        assert {("own", "gpu0002"): 403, ("reads", "gpu0001"): 403, ("reads", "gpu0002"): 403} == {
            key: status for key, status in found.items() if key[0] != "none"
        }
        assert {401} == {status for key, status in found.items() if key[0] == "none"}

    def test_who_asks_for_something_else_is_refused(self, client: TestClient, authorized: dict[str, str]) -> None:
        for query in ("", "device=a&host=b", "device=a&device=b"):
            assert 422 == client.get(f"/v1/probes/pinglist?{query}", headers=authorized).status_code
