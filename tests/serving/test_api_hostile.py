"""Requests that are made to hurt, against the live service: each is refused in good time, and it goes on serving."""

import gzip
import socket
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

from serving.access.auth import OperatorToken
from serving.settings import Settings
from serving.store import AlarmStore

TOKEN = "correct horse battery staple"
LONGEST_S = 5.0
BODIES = {
    "lists in lists": b"[" * 200_000 + b"]" * 200_000,
    "objects in objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "no number": b'{"a": NaN, "b": Infinity, "c": 1e999999}',
    "a number of 100,000 digits": b'{"a": ' + b"9" * 100_000 + b"}",
    "half a letter": b'{"reason": "\\ud800", "modules": ["\\udfff"]}',
    "no text": b"\xff\xfe\x00",
    "a list": b"[]",
}
BOMB = gzip.compress(b" " * 100_000_000, 1)


@pytest.fixture(name="url", scope="module")
def _url(tmp_path_factory: pytest.TempPathFactory, live: Callable[..., str]) -> Iterator[str]:
    home = tmp_path_factory.mktemp("home")
    found = Settings.from_env({"FORELIGHT_HOME": str(home), "FORELIGHT_RATE_PER_S": "1000000"})
    with AlarmStore(found.database_url) as store:
        yield live(found, store, OperatorToken.of(TOKEN))


@pytest.fixture(name="caller")
def _caller(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as client:
        yield client
        assert 200 == client.get("/livez").status_code


@pytest.fixture(name="posts")
def _posts(caller: httpx.Client) -> list[str]:
    """Every route that takes a body, with something in place of its parameters."""
    paths = caller.get("/openapi.json").json()["paths"]
    return [path.replace("{", "").replace("}", "") for path, methods in paths.items() if "post" in methods]


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_made_to_hurt_is_refused_by_every_route(
    caller: httpx.Client, posts: list[str], name: str
) -> None:
    assert len(posts) > 10
    for path in posts:
        begin = time.perf_counter()
        answer = caller.post(path, content=BODIES[name], headers={"Content-Type": "application/json"})

        assert 400 <= answer.status_code < 500 or answer.json()["type"].endswith(":no-scores"), (path, answer.text)
        assert answer.headers["content-type"].startswith("application/problem+json")
        assert time.perf_counter() - begin < LONGEST_S, path


def test_what_inflates_to_a_hundred_megabytes_is_refused_by_every_route(caller: httpx.Client, posts: list[str]) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    for path in posts:
        answer = caller.post(path, content=BOMB, headers=headers)

        assert 400 <= answer.status_code < 500 or answer.json()["type"].endswith(":no-scores"), (path, answer.text)


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2f..%2f..%2fapp.py",
        "/static/%2e%2e/%2e%2e/app.py",
        "/v1/alarms/..%2f..%2fetc%2fpasswd",
        "/v1/models/%2e%2e",
        "/v1/alarms?limit=99999999999999999999",
        "/v1/alarms?since=%00",
        "/v1/alarms?device=" + "a" * 50_000,
        "/v1/alarms?cursor=" + "A" * 5_000,
        "/v1/verdict?link=%00",
        "/v1/sla?since=9999-12-31T23:59:59Z",
        "/links/%0d%0aSet-Cookie:x=1",
    ],
)
def test_a_path_or_a_question_that_leads_elsewhere_is_a_refusal(caller: httpx.Client, path: str) -> None:
    answer = caller.get(path)

    assert 400 <= answer.status_code < 500, answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "token", ["", "x" * 10_000, "null", f"{TOKEN[:-1]}f", TOKEN[:-1], TOKEN.upper(), "' OR 1=1 --", "é"]
)
def test_a_forged_token_opens_nothing(url: str, token: str) -> None:
    """Nor does what a proxy would say of the caller."""
    head = (
        f"POST /v1/alarms/x/ack HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    )

    assert b" 401 " in _raw(url, head.encode() + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}")[:20]


@pytest.mark.parametrize(
    "request_",
    [
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /\r\n",
        b"POST /v1/score HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"POST /v1/score HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /livez\x1b[31m HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["two lengths, chunked", "two lengths", "below nothing", "a long line", "escape", "NUL", "TLS"],
)
def test_what_is_no_http_is_refused(url: str, caller: httpx.Client, request_: bytes) -> None:
    assert _raw(url, request_).startswith(b"HTTP/1.1 400 ")


def _raw(url: str, request: bytes) -> bytes:
    at = urlsplit(url)
    with socket.create_connection((at.hostname, at.port), timeout=10) as connection:
        connection.sendall(request)
        return connection.recv(1_000)
