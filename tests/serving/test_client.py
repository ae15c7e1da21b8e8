"""The client against the live service, and against its contract: every path and every field."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import polars as pl
import pytest
from pydantic import BaseModel

from ingest.lake import Lake
from ingest.schema import SCORES
from serving import client as clients
from serving.access.auth import OperatorToken
from serving.alarms import AlarmRecord, Level, ScoreRun, Status
from serving.app import create_app
from serving.client import Client, ServiceError
from serving.settings import Settings
from serving.store import AlarmStore
from serving.wire.outcomes import Repair, Ticket
from serving.wire.probes import ProbeRequest
from serving.wire.samples import SampleRequest
from serving.wire.scores import ScoreRequest

SAMPLES = {"device": "a", "readings": [{"interface": "b", "time": "2026-11-29T12:00:00Z"}]}
PATH = {
    "time": "2026-11-29T12:00:00Z",
    "source_address": "10.1.0.2",
    "source_port": 49_152,
    "target_address": "10.1.7.2",
    "target_port": 4791,
    "target_device": "b",
    "direction": "forward",
    "hops": [],
    "reached": True,
}

TOKEN = "correct horse battery staple"


@pytest.fixture(name="url", scope="module")
def _url(
    home_copy: Path,
    live: Callable[..., str],
    make_scores: Callable[..., pl.DataFrame],
    make_alarms: Callable[..., AlarmRecord],
) -> Iterator[str]:
    found = Settings.from_env({"FORELIGHT_HOME": str(home_copy)})
    at = datetime.now(UTC)
    with AlarmStore(found.database_url) as store:
        Lake(found.lake_uri).append(SCORES, make_scores("Ethernet1/1", at=at))
        run = ScoreRun(at=at, started_at=at, finished_at=at, model_version="1", modules_scored=1, modules_unknown=0)
        store.apply(run, [make_alarms(number) for number in range(1, 6)])
        yield live(found, store, OperatorToken.of(TOKEN))


@pytest.fixture(name="client")
def _client(url: str) -> Iterator[Client]:
    with Client(url, TOKEN, timeout_s=60.0) as client:
        yield client


def test_pages_of_alarms_are_walked(client: Client) -> None:
    found = list(client.alarms(level=Level.ACT, status=[Status.OPEN, Status.ACKED, Status.SUPPRESSED], limit=2))

    assert {"alarm-002", "alarm-003", "alarm-004", "alarm-005"} <= {alarm.alarm_id for alarm in found}


def test_an_alarm_is_taken_through_its_life(client: Client) -> None:
    answer, tag = client.alarm("alarm-001")
    assert Status.OPEN == answer.alarm.status

    assert Status.ACKED == client.acknowledge("alarm-001", "looking", key="k1", if_match=tag).status
    assert Status.SUPPRESSED == client.suppress("alarm-001", 60, "recabling").status
    assert Status.OPEN == client.reopen("alarm-001").status
    assert Status.CLEARED == client.clear("alarm-001").status
    with pytest.raises(ServiceError, match="has changed") as caught:
        client.clear("alarm-001", if_match=tag)
    assert (412, "precondition-failed") == (caught.value.status, caught.value.kind)


def test_a_transceiver_its_readings_and_the_models_are_told(client: Client) -> None:
    assert 0.5 == client.transceiver("leaf01", "Ethernet1/1").risks["24h"]
    assert [] == client.series("leaf01", "Ethernet1/1", points=10).series
    assert ["1"] == [model.version for model in client.models().models]
    assert "watch" in client.model().policy
    assert "v1" == client.version().api


def test_modules_are_scored(client: Client) -> None:
    lanes = {"time": [datetime.now(UTC) - timedelta(hours=1)], "lane": [1], "rx_power_dbm": [-2.0]}
    module = {"device": "a", "interface": "b", "lanes": lanes}

    (told,) = client.score(ScoreRequest.model_validate({"modules": [module]})).modules

    assert "scored" == told.status


def test_outcomes_are_posted(client: Client) -> None:
    now = datetime.now(UTC)

    assert client.ticket(Ticket(ticket_id="T9", device="leaf01", interface="Ethernet9", opened_at=now)).new
    assert client.repair(Repair.model_validate({"ticket_id": "T9", "seq": 1, "at": now, "action": "reseat"})).new


def test_a_link_that_nobody_knows_is_no_all_clear(client: Client) -> None:
    for ask in (client.decision, client.lease, client.drained):
        with pytest.raises(ServiceError, match="no link is known") as caught:
            ask("leaf01", "Ethernet1/1")
        assert (404, "link-not-found") == (caught.value.status, caught.value.kind)
    assert [] == client.decisions(limit=5).entries
    assert [] == client.storms(limit=5).held_back


def test_a_refusal_is_an_error_with_its_kind(url: str) -> None:
    with Client(url) as stranger, pytest.raises(ServiceError, match="present a valid token") as caught:
        stranger.clear("alarm-002")

    assert (401, "unauthorized") == (caught.value.status, caught.value.kind)


def test_a_service_that_is_not_there_is_an_error_too() -> None:
    with Client("http://127.0.0.1:9") as client:
        assert not client.ready()
        with pytest.raises(ServiceError, match="ConnectError") as caught:
            client.version()

    assert "unreachable" == caught.value.kind


def test_the_client_knows_every_path_of_the_contract(settings: Settings) -> None:
    """What is added to the service is added here, too."""
    asked: list[tuple[str, str]] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        asked.append((request.method.lower(), request.url.path))
        return httpx2.Response(404)

    client = Client("http://there", transport=httpx2.MockTransport(refuse))
    now = datetime.now(UTC)
    bodies = {
        "score": ScoreRequest.model_validate({"modules": [{"device": "a", "interface": "b"}]}),
        "ticket": Ticket(ticket_id="T", device="a", interface="b", opened_at=now),
        "repair": Repair.model_validate({"ticket_id": "T", "seq": 1, "at": now, "action": "reseat"}),
    }
    for name in ("acknowledge", "reopen", "clear", "alarm", "model", *bodies):
        with pytest.raises(ServiceError):
            getattr(client, name)(bodies.get(name, "x"))
    for ask in (
        lambda: list(client.alarms()),
        lambda: client.suppress("x", 60),
        lambda: client.transceiver("a", "b"),
        lambda: client.series("a", "b"),
        lambda: client.decision("a", "b"),
        lambda: client.lease("a", "b"),
        lambda: client.drained("a", "b"),
        lambda: client.undrained("a", "b"),
        lambda: client.verified("a", "b"),
        lambda: client.release("x"),
        client.decisions,
        client.storms,
        lambda: client.verdict(link="a/b"),
        client.sla,
        client.models,
        client.comparison,
        lambda: client.push(SampleRequest.model_validate(SAMPLES)),
        lambda: client.pinglist("a"),
        lambda: client.push_probes(ProbeRequest.model_validate({"device": "a", "paths": [PATH]})),
    ):
        with pytest.raises(ServiceError):
            ask()

    spec = create_app(settings, AlarmStore("sqlite://")).openapi()["paths"]
    ours = {(verb, path) for path in spec for verb in spec[path] if path.startswith("/v1/")}
    known = {
        (verb, path)
        for verb, path in ours
        if any(verb == v and re.fullmatch(re.sub(r"{[^}]+}", "[^/]+", path), p) for v, p in asked)
    }
    assert ours == known


def test_every_field_of_the_contract_is_one_of_the_clients_types(settings: Settings) -> None:
    spec = create_app(settings, AlarmStore("sqlite://")).openapi()["components"]["schemas"]
    ours: dict[str, Any] = {
        name: kind for name, kind in vars(clients).items() if isinstance(kind, type) and issubclass(kind, BaseModel)
    }
    ours.pop("BaseModel")

    assert len(ours) > 10
    for name, kind in ours.items():
        fields = {field.serialization_alias or field.alias or key for key, field in kind.model_fields.items()}
        assert set(spec[name]["properties"]) == fields, name
