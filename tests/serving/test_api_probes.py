"""``POST /v1/probes``: what probe agents push is in the lake, or durably before it, when it is acknowledged."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from ingest.lake import Lake
from ingest.schema import PROBE_PATHS, PROBES
from serving.access.tokens import Scope, TokenStore
from serving.store import AlarmStore

Post = Callable[..., Any]
FLOW = {
    "source_interface": "eth0",
    "source_address": "10.1.0.2",
    "source_port": 49_152,
    "target_interface": "eth0",
    "target_address": "10.1.7.2",
    "target_port": 4791,
}


def _probe(at: datetime, **more: Any) -> dict[str, Any]:
    counts = {"window_s": 20.0, "kind": "inter_tor", "sent": 20, "lost": 3, "forward_lost": 2, "reverse_lost": 1}
    return FLOW | {"time": at.isoformat(), "target_device": "gpu0008"} | counts | more


def _path(at: datetime, direction: str, other: str) -> dict[str, Any]:
    far = "target_device" if direction == "forward" else "source_device"
    way = {"direction": direction, "hops": ["10.1.0.1", None, "10.2.9.1"], "reached": True}
    return FLOW | {"time": at.isoformat(), far: other} | way


@pytest.fixture(name="post")
def _post(client: TestClient, authorized: dict[str, str]) -> Post:
    """Posts rows of gpu0001."""
    client.app.state.services.intake.window_s = 0.01  # type: ignore[attr-defined]

    def post(**rows: Any) -> Any:
        return client.post("/v1/probes", json={"device": "gpu0001"} | rows, headers=authorized)

    return post


def test_rows_are_in_the_lake_when_it_is_answered(post: Post, lake: Lake, now: datetime) -> None:
    """The host that pushed is the prober, of the ways of replies the target."""
    answer = post(probes=[_probe(now)], paths=[_path(now, "forward", "gpu0008"), _path(now, "reverse", "gpu0009")])
    probe = lake.latest(PROBES).collect().to_dicts()[0]
    paths = lake.latest(PROBE_PATHS).collect().to_dicts()

    assert (200, 1, 2) == (answer.status_code, answer.json()["probes"], answer.json()["paths"])
    assert ("gpu0001", "gpu0008", 2, 1) == tuple(
        probe[name] for name in ("source_device", "target_device", "forward_lost", "reverse_lost")
    )
    assert {("forward", "gpu0001", "gpu0008"), ("reverse", "gpu0009", "gpu0001")} == {
        (path["direction"], path["source_device"], path["target_device"]) for path in paths
    }
    assert ["10.1.0.1", None, "10.2.9.1"] == paths[0]["hops"]


def test_the_same_again_is_taken_once(post: Post, lake: Lake, now: datetime) -> None:
    first, again = (post(probes=[_probe(now)]).json() for _ in range(2))

    assert (True, False) == (first["new"], again["new"])
    assert 1 == lake.latest(PROBES).collect().height


def test_a_row_of_a_wrong_clock_is_told_and_the_others_are_kept(post: Post, now: datetime) -> None:
    answer = post(probes=[_probe(now), _probe(now + timedelta(hours=1), source_port=49_153)]).json()

    assert (1, 1) == (answer["probes"], answer["refused_count"])
    assert 49_153 == answer["refused"][0]["source_port"]
    assert "in the future" in answer["refused"][0]["reason"]


@pytest.mark.parametrize(
    "wrong",
    [{"source_address": "nowhere"}, {"kind": "any"}, {"window_s": 0}, {"extra": 1}],
    ids=lambda wrong: str(next(iter(wrong))),
)
def test_what_the_contract_does_not_know_is_refused_whole(post: Post, now: datetime, wrong: dict[str, Any]) -> None:
    assert 422 == post(probes=[_probe(now, **wrong)]).status_code


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"lost": 21}, "more is lost than was sent"),
        ({"reverse_lost": 2}, "both directions together"),
        ({"forward_lost": 500, "reverse_lost": None}, "without the other's"),
        ({"refused": 4}, "more was refused"),
        ({"sent": 2**62}, "probes a second"),
    ],
)
def test_counts_that_contradict_each_other_are_left_out_and_told(
    post: Post, lake: Lake, now: datetime, wrong: dict[str, Any], reason: str
) -> None:
    """Each of them ended the verdict of all links, or outweighed what all others saw."""
    answer = post(probes=[_probe(now), _probe(now, source_port=49_153, **wrong)]).json()

    assert (1, 1) == (answer["probes"], answer["refused_count"])
    assert reason in answer["refused"][0]["reason"]
    assert 1 == lake.latest(PROBES).collect().height


def test_a_host_replaces_no_other_hosts_evidence(post: Post, lake: Lake, now: datetime) -> None:
    """It may say that it probed from another's address; what the other said stands beside it."""
    post(probes=[_probe(now)], paths=[_path(now, "forward", "gpu0008")])
    post(
        device="gpu0666",
        probes=[_probe(now, lost=0, forward_lost=0, reverse_lost=0)],
        paths=[_path(now, "forward", "gpu0008") | {"hops": ["10.6.6.6"]}],
    )

    assert {"gpu0001": 3, "gpu0666": 0} == dict(
        lake.latest(PROBES).collect().select("source_device", "lost").iter_rows()
    )
    assert {"gpu0001", "gpu0666"} == set(lake.latest(PROBE_PATHS).collect()["source_device"])


def test_nothing_is_nothing_to_take(post: Post) -> None:
    assert 422 == post().status_code


def test_a_stranger_pushes_nothing(client: TestClient, now: datetime) -> None:
    answer = client.post("/v1/probes", json={"device": "gpu0001", "probes": [_probe(now)]})

    assert 401 == answer.status_code


def test_a_token_that_is_bound_to_a_host_speaks_for_it_alone(
    client: TestClient, store: AlarmStore, now: datetime
) -> None:
    _, text = TokenStore(store.engine, clock=lambda: now).create(
        "gpu0001", Scope.INGEST, who="test", expires_at=None, device=("default", "gpu0001")
    )
    own = {"Authorization": f"Bearer {text}"}
    bodies = [{"device": device, "paths": [_path(now, "forward", "gpu0008")]} for device in ("gpu0001", "gpu0002")]

    assert [200, 403] == [client.post("/v1/probes", json=body, headers=own).status_code for body in bodies]


def test_what_was_taken_is_known_after_a_restart(post: Post, client: TestClient, now: datetime) -> None:
    first = post(paths=[_path(now, "forward", "gpu0008")]).json()
    services = client.app.state.services  # type: ignore[attr-defined]
    services.sent.__init__(services.settings.home / "sent-samples.jsonl")  # what a new process reads

    assert (True, False) == (first["new"], post(paths=[_path(now, "forward", "gpu0008")]).json()["new"])
