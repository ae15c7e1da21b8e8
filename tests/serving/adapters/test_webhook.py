"""The webhook: CloudEvents that are signed, failures that are told apart."""

import json
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from serving.adapters.base import Telling
from serving.adapters.config import WebhookConfig
from serving.adapters.webhook import SIGNATURE, Webhook, verify
from serving.deliveries.errors import DeliveryError, FailedError, RefusedError, UnreachableError
from serving.notices import Kind

MakeTelling = Callable[..., Telling]
SECRET = "a secret that nobody guesses"


@pytest.fixture(name="config")
def _config(receiver: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> WebhookConfig:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    (tmp_path / "token").write_text("the-token\n")
    return WebhookConfig(
        name="hook",
        kind="webhook",
        url=f"{receiver.url}/events",
        secret_env="HOOK_SECRET",
        token_file=tmp_path / "token",
        timeout_s=0.5,
    )


@pytest.fixture(name="webhook")
def _webhook(config: WebhookConfig) -> Iterator[Webhook]:
    webhook = Webhook(config)
    yield webhook
    webhook.close()


def test_a_message_is_a_cloudevent_with_the_alarm_as_the_service_shows_it(
    webhook: Webhook, receiver: Any, make_telling: MakeTelling
) -> None:
    webhook.send(make_telling(nodes=("leaf01",)))

    (request,) = receiver.requests
    event = json.loads(request.body)
    alarm = event.pop("data")["alarm"]
    assert {
        "specversion": "1.0",
        "id": "17",
        "source": "/forelight",
        "type": "io.forelight.alarm.raised",
        "subject": "alarm-001",
        "time": "2026-11-29T12:00:00.000Z",
        "sequence": "000000000017",
        "datacontenttype": "application/json",
    } == event
    assert ("alarm-001", "open", 0.5, ["leaf01"], False) == tuple(
        alarm[name] for name in ("alarm_id", "status", "risk_24h", "affected_nodes", "left_alone")
    )
    assert "application/cloudevents+json; charset=utf-8" == request.headers["Content-Type"]
    assert "Bearer the-token" == request.headers["Authorization"]


def test_a_storm_tells_how_many_were_held_back(webhook: Webhook, receiver: Any, make_telling: MakeTelling) -> None:
    webhook.send(make_telling(Kind.STORM))

    event = json.loads(receiver.requests[0].body)
    assert ("io.forelight.alarm.storm", "storm", 812) == (event["type"], event["subject"], event["data"]["held_back"])
    assert ["Ethernet1"] == [member["interface"] for member in event["data"]["members"]]


class TestSignature:
    def test_the_receiver_can_tell_that_it_is_ours(
        self, webhook: Webhook, receiver: Any, make_telling: MakeTelling
    ) -> None:
        telling = make_telling()
        webhook.send(telling)

        (request,) = receiver.requests
        header = request.headers[SIGNATURE]
        assert verify(SECRET.encode(), header, request.body, telling.at)
        assert not verify(b"another", header, request.body, telling.at)
        assert not verify(SECRET.encode(), header, request.body + b" ", telling.at)

    def test_it_cannot_be_played_again_later(self, webhook: Webhook, receiver: Any, make_telling: MakeTelling) -> None:
        """Neither as it is nor under another time: the time is signed, too."""
        telling = make_telling()
        webhook.send(telling)

        (request,) = receiver.requests
        header, later = request.headers[SIGNATURE], telling.at + timedelta(minutes=6)
        moved = header.replace(str(int(telling.at.timestamp())), str(int(later.timestamp())))
        assert not verify(SECRET.encode(), header, request.body, later)
        assert not verify(SECRET.encode(), moved, request.body, later)

    @pytest.mark.parametrize("header", ["", "t=,v1=", "v1=00", "t=17", "nonsense"])
    def test_what_is_no_signature_is_none(self, header: str, make_telling: MakeTelling) -> None:
        assert not verify(b"", header, b"", make_telling().at)


class TestFailures:
    @pytest.mark.parametrize(
        ("status", "error"),
        [
            *((status, RefusedError) for status in (301, 400, 413, 422)),
            *((status, UnreachableError) for status in (401, 403, 404, 408, 429, 502, 503, 504)),
            *((status, FailedError) for status in (500, 501)),
        ],
    )
    def test_a_status_tells_whether_to_try_again(
        self, webhook: Webhook, receiver: Any, make_telling: MakeTelling, status: int, error: type[DeliveryError]
    ) -> None:
        receiver.answers.append((status, {"Location": "http://127.0.0.1:1/"}))

        with pytest.raises(error, match=f"answered {status}: because of that"):
            webhook.send(make_telling())

    def test_a_redirect_is_not_followed(self, webhook: Webhook, receiver: Any, make_telling: MakeTelling) -> None:
        receiver.answers.append((307, {"Location": f"{receiver.url}/elsewhere"}))

        with pytest.raises(RefusedError):
            webhook.send(make_telling())

        assert ["/events"] == [request.path for request in receiver.requests]

    @pytest.mark.parametrize(("asked", "after_s"), [("7", 7.0), ("Sun, 06 Nov 1994 08:49:37 GMT", 0.0), ("soon", None)])
    def test_a_pause_that_is_asked_for_is_kept(
        self, webhook: Webhook, receiver: Any, make_telling: MakeTelling, asked: str, after_s: float | None
    ) -> None:
        receiver.answers.append((503, {"Retry-After": asked}))

        with pytest.raises(UnreachableError) as caught:
            webhook.send(make_telling())

        assert after_s == caught.value.after_s

    def test_nobody_there_is_no_fault_of_the_message(self, config: WebhookConfig, make_telling: MakeTelling) -> None:
        webhook = Webhook(config.model_copy(update={"url": "http://127.0.0.1:1/"}))

        with pytest.raises(UnreachableError, match="no answer"):
            webhook.send(make_telling())

        webhook.close()

    def test_a_consumer_that_says_nothing_costs_its_timeout(
        self, config: WebhookConfig, make_telling: MakeTelling
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            webhook = Webhook(config.model_copy(update={"url": f"http://127.0.0.1:{silent.getsockname()[1]}/"}))
            with pytest.raises(UnreachableError, match="ReadTimeout"):
                webhook.send(make_telling())
            webhook.close()


def test_a_message_that_grew_too_long_is_cut_or_refused(
    webhook: Webhook, receiver: Any, make_telling: MakeTelling
) -> None:
    webhook.send(make_telling(reasons=("x" * 100_000,) * 100))
    with pytest.raises(RefusedError, match="65536 is the limit"):
        webhook.send(make_telling(model_version="x" * 70_000))

    assert [True] == [len(request.body) < 8_192 for request in receiver.requests]
