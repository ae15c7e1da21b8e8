"""Signing in: what a session is, what it opens, and what no other site can do with it."""

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from serving.access.audit import entries
from serving.access.auth import OperatorToken
from serving.access.tokens import Scope, TokenStore
from serving.alarms import AlarmRecord, Status
from serving.app import create_app
from serving.settings import Settings
from serving.store import AlarmStore
from serving.web.session import COOKIE, LASTS

TOKEN = "correct horse battery staple"
Open = Callable[..., TestClient]


@pytest.fixture(name="database_url")
def _database_url(settings: Settings) -> str:
    return settings.database_url


@pytest.fixture(name="opened")
def _opened(store: AlarmStore, settings: Settings, clock: Callable[[], object]) -> Iterator[Open]:
    """The service as it runs elsewhere than on loopback: reading needs a token."""
    settings.home.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as ending:

        def opened(*, token: bool = True, open_reads: bool = False) -> TestClient:
            given = OperatorToken.of(TOKEN) if token else None
            app = create_app(settings, store, token=given, open_reads=open_reads, clock=clock)  # type: ignore[arg-type]  # a clock
            return ending.enter_context(TestClient(app, follow_redirects=False, raise_server_exceptions=False))

        yield opened


@pytest.fixture(name="alarm")
def _alarm(score: Callable[..., None], make_alarm: Callable[..., AlarmRecord]) -> AlarmRecord:
    alarm = make_alarm()
    score(raised=(alarm,))
    return alarm


def _signed_in(client: TestClient, token: str = TOKEN) -> str:
    answer = client.post("/sign-in", data={"token": token, "next": "/"})
    assert 303 == answer.status_code
    return str(client.cookies[COOKIE])


def _form_key(client: TestClient) -> str:
    return str(client.app.state.sessions.form_key(client.cookies[COOKIE]))  # type: ignore[attr-defined]  # it is a FastAPI


def _step(alarm: AlarmRecord, key: str, **changes: str) -> dict[str, str]:
    return {"alarm_id": alarm.alarm_id, "to": "ack", "revision": "1", "reason": "seen", "form_key": key, **changes}


def test_a_page_asks_whoever_has_no_session_to_sign_in(opened: Open, alarm: AlarmRecord) -> None:
    """Reads follow the API's rules: where it wants a token the pages do, and nothing of them is shown."""
    answer = opened().get("/?level=act")

    assert 401 == answer.status_code
    assert 'value="/?level=act"' in answer.text
    assert alarm.device not in answer.text


def test_on_loopback_reading_needs_no_session(opened: Open, alarm: AlarmRecord) -> None:
    answer = opened(open_reads=True).get("/")

    assert 200 == answer.status_code
    assert alarm.device in answer.text


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(opened: Open) -> None:
    """It holds no token either: whoever reads a jar cannot use it at the API."""
    answer = opened().post("/sign-in", data={"token": TOKEN})

    said = answer.headers["set-cookie"]
    assert "HttpOnly" in said
    assert "SameSite=strict" in said
    assert TOKEN not in said


def test_the_api_takes_no_cookie(opened: Open, alarm: AlarmRecord) -> None:
    """Another site could have a browser send it."""
    client = opened()
    _signed_in(client)

    assert 401 == client.get("/v1/alarms").status_code
    assert 200 == client.get("/").status_code
    assert alarm.alarm_id


def test_a_session_ends_with_its_time(opened: Open, alarm: AlarmRecord, advance: Callable[..., None]) -> None:
    client = opened()
    _signed_in(client)
    advance(hours=LASTS / timedelta(hours=1) + 0.1)

    assert 401 == client.get("/").status_code
    assert alarm.alarm_id


def test_a_session_ends_with_its_token(opened: Open, store: AlarmStore, clock: Callable[[], object]) -> None:
    """Revoking a token shuts out who signed in with it."""
    tokens = TokenStore(store.engine, clock=clock)  # type: ignore[arg-type]  # a clock
    _, text = tokens.create("ann", Scope.READ, who="test", expires_at=None)
    client = opened()
    _signed_in(client, text)
    assert 200 == client.get("/").status_code
    tokens.revoke("ann", who="test")
    client.app.state.services.book._tried_s = -1e9  # type: ignore[attr-defined]  # as after two seconds

    assert 401 == client.get("/").status_code


@pytest.mark.parametrize("cookie", ["", "1.2", "a.b.c", "99999999999.00.00", "\udcff.1.2", "1.2.3.4"])
def test_a_cookie_that_is_none_of_ours_opens_nothing(opened: Open, cookie: str) -> None:
    headers = {"Cookie": f"{COOKIE}={cookie}".encode("latin-1", "replace")}

    assert 401 == opened().get("/", headers=headers).status_code  # type: ignore[arg-type]  # bytes are sent as they are


def test_a_changed_cookie_opens_nothing(opened: Open) -> None:
    """Nobody makes a session last longer, or another's."""
    client = opened()
    until, hashed, mac = _signed_in(client).split(".")
    client.cookies.clear()

    assert 401 == client.get("/", headers={"Cookie": f"{COOKIE}={int(until) + 9}.{hashed}.{mac}"}).status_code


def test_a_step_is_taken_by_who_signed_in_with_a_reason(opened: Open, alarm: AlarmRecord, store: AlarmStore) -> None:
    client = opened()
    _signed_in(client)

    answer = client.post("/alarm", data=_step(alarm, _form_key(client), path="/?level=act"))

    assert (303, "/?level=act#now") == (answer.status_code, answer.headers["location"])
    event = store.events(alarm.alarm_id)[-1]
    assert (Status.ACKED, "bootstrap", "seen") == (event.to_status, event.who, event.why)
    assert ("POST /alarm", "bootstrap", "303") in {(e.what, e.who, e.outcome) for e in entries(store.engine)}


@pytest.mark.parametrize(
    ("change", "headers"),
    [
        ({"form_key": ""}, {}),
        ({"form_key": "0" * 64}, {}),
        ({"form_key": "\xe4"}, {}),
        ({}, {"Origin": "https://elsewhere.example"}),
        ({}, {"Origin": "null"}),
        ({}, {"Sec-Fetch-Site": "cross-site"}),
    ],
    ids=["no-key", "wrong-key", "odd-key", "origin", "null", "fetch-site"],
)
def test_a_form_from_elsewhere_changes_nothing(
    opened: Open, alarm: AlarmRecord, store: AlarmStore, change: dict[str, str], headers: dict[str, str]
) -> None:
    """The browser sends the cookie only from here; where it did not keep to that, the form still lacks the key."""
    client = opened()
    _signed_in(client)

    answer = client.post("/alarm", data=_step(alarm, _form_key(client), **change), headers=headers)

    assert 403 == answer.status_code
    assert Status.OPEN == store.alarm(alarm.alarm_id).status


def test_a_step_without_a_session_changes_nothing(opened: Open, alarm: AlarmRecord, store: AlarmStore) -> None:
    """On loopback, too: reading is open there, changing is not."""
    client = opened(open_reads=True)

    assert 401 == client.post("/alarm", data=_step(alarm, "")).status_code
    assert Status.OPEN == store.alarm(alarm.alarm_id).status


def test_a_token_that_may_only_read_takes_no_step(
    opened: Open, alarm: AlarmRecord, store: AlarmStore, clock: Callable[[], object]
) -> None:
    _, text = TokenStore(store.engine, clock=clock).create("bob", Scope.READ, who="test", expires_at=None)  # type: ignore[arg-type]  # a clock
    client = opened()
    _signed_in(client, text)

    assert 403 == client.post("/alarm", data=_step(alarm, _form_key(client))).status_code
    assert Status.OPEN == store.alarm(alarm.alarm_id).status


def test_a_step_on_an_alarm_that_has_changed_is_refused(opened: Open, alarm: AlarmRecord, store: AlarmStore) -> None:
    """Two people look at the same page: the second sees first what the first did."""
    client = opened()
    _signed_in(client)
    store.transition(alarm.alarm_id, Status.SUPPRESSED, "bob", "noise")

    answer = client.post("/alarm", data=_step(alarm, _form_key(client)))

    assert 412 == answer.status_code
    assert "look again" in answer.text


def test_without_any_token_the_page_says_how_to_make_one(opened: Open) -> None:
    assert "forelight token create" in opened(token=False, open_reads=True).get("/sign-in").text


def test_trying_tokens_becomes_slow(opened: Open) -> None:
    """And each try is in the audit log."""
    client = opened()

    said = [client.post("/sign-in", data={"token": f"guess-{n:016}"}).status_code for n in range(25)]

    assert {401, 429} == set(said)
    assert 429 == said[-1]


@pytest.mark.parametrize("path", ["//elsewhere.example", "https://elsewhere.example", "/\\elsewhere.example", "x"])
def test_signing_in_leads_nowhere_else(opened: Open, path: str) -> None:
    answer = opened().post("/sign-in", data={"token": TOKEN, "next": path})

    assert (303, "/") == (answer.status_code, answer.headers["location"])


def test_signing_out_makes_the_browser_forget(opened: Open) -> None:
    client = opened()
    _signed_in(client)
    client.post("/sign-out")

    assert COOKIE not in client.cookies
    assert 401 == client.get("/").status_code


def test_every_page_lets_in_nothing_but_our_own_files(opened: Open, alarm: AlarmRecord) -> None:
    """No script and no style stands in a page, and the policy says so."""
    answer = opened(open_reads=True).get("/")

    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    assert "<style" not in answer.text
    assert " style=" not in answer.text
    assert alarm.alarm_id


def test_pages_say_that_stale_scores_are_no_all_clear(
    opened: Open, alarm: AlarmRecord, advance: Callable[..., None]
) -> None:
    """The page shows what it knows, and that it is not to be acted on."""
    client = opened(open_reads=True)
    assert "Not to be acted on" not in client.get("/").text
    advance(hours=3)

    text = client.get("/").text
    assert "Not to be acted on" in text
    assert alarm.device in text


def test_before_the_first_run_nothing_is_said_to_be_well(opened: Open) -> None:
    text = opened(open_reads=True).get("/").text

    assert "no run was applied yet" in text
    assert "nothing fresh says that there is none" in text


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


def test_names_of_devices_are_text_wherever_they_stand(
    opened: Open, score: Callable[..., None], make_alarm: Callable[..., AlarmRecord]
) -> None:
    """A name comes from a device, and a device from anywhere."""
    score(raised=(make_alarm(device=HOSTILE, interface="a'b/c\"d", reasons=(HOSTILE,), peer_device=HOSTILE),))

    text = opened(open_reads=True).get("/").text

    assert "<script>alert" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert(1)" in text
