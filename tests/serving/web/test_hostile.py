"""What comes from devices and people is text on every page; what cannot be asked for is said in a page."""

import html
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest
from starlette.testclient import TestClient

from ingest.lake import Lake
from ingest.schema import LINKS, MODULES, TICKETS
from serving.access.auth import OperatorToken
from serving.alarms import AlarmRecord
from serving.app import create_app
from serving.settings import Settings
from serving.store import AlarmStore

TOKEN = "correct horse battery staple"
HOSTILE = '"><script>alert(1)<img src=x onerror=alert(2)>'
PORT = "a'b/c\"d{{7*7}}"
DOCS = (Path(__file__).parents[3] / "docs" / "console.md").read_text(encoding="utf-8")


@pytest.fixture(name="database_url")
def _database_url(settings: Settings) -> str:
    settings.home.mkdir(parents=True, exist_ok=True)
    return settings.database_url


@pytest.fixture(name="pages")
def _pages(store: AlarmStore, settings: Settings, clock: Callable[[], object]) -> Iterator[TestClient]:
    app = create_app(settings, store, token=OperatorToken.of(TOKEN), clock=clock)  # type: ignore[arg-type]  # a clock
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(name="hostile")
def _hostile(
    lake: Lake,
    score: Callable[..., None],
    make_score: Callable[..., pl.DataFrame],
    make_alarm: Callable[..., AlarmRecord],
    now: object,
) -> str:
    """A link whose every name is an attack; gives the address of its page."""
    ends = {"a_device": HOSTILE, "a_interface": PORT, "z_device": "spine01", "z_interface": HOSTILE}
    lake.append(LINKS, pl.DataFrame([{**ends, "a_site": "default", "z_site": "default", "received_at": now}]))
    module = {"site": "default", "device": HOSTILE, "interface": PORT, "serial": HOSTILE, "part_number": HOSTILE}
    lake.append(MODULES, pl.DataFrame([{**module, "received_at": now}]))
    ticket = {**module, "ticket_id": HOSTILE, "opened_at": now, "summary": HOSTILE, "received_at": now}
    lake.append(TICKETS, pl.DataFrame([{k: v for k, v in ticket.items() if k != "part_number"}]))
    alarm = make_alarm(
        device=HOSTILE, interface=PORT, peer_device="spine01", peer_interface=HOSTILE, reasons=(HOSTILE,)
    )
    score(make_score(PORT, device=HOSTILE, reasons=[HOSTILE], peer_interface=HOSTILE), raised=(alarm,))
    return f"/link/{quote(HOSTILE, safe='')}/{quote(PORT, safe='')}"


@pytest.mark.parametrize("path", ["/", "/fleet", "link"])
def test_names_are_text_wherever_they_stand(pages: TestClient, hostile: str, path: str) -> None:
    """A name comes from a device, and a device from anywhere."""
    answer = pages.get(hostile if path == "link" else path)

    assert 200 == answer.status_code
    assert "&lt;script&gt;alert(1)" in answer.text
    assert "<script>alert" not in answer.text
    assert "<img" not in answer.text
    assert "{{7*7}}" in answer.text


def test_a_device_with_a_slash_in_its_name_has_a_page_that_its_window_form_stays_on(
    pages: TestClient, score: Callable[..., None], make_score: Callable[..., pl.DataFrame]
) -> None:
    score(make_score("Ethernet1/1", device="pod/leaf01"))
    address = re.findall(r'href="(/link[^"]*)"', pages.get("/fleet").text)[0]

    answer = pages.get(html.unescape(address))

    assert "<h1>pod/leaf01 Ethernet1/1" in answer.text
    assert '<input type="hidden" name="device" value="pod/leaf01">' in answer.text
    assert (
        200 == pages.get("/link", params={"device": "pod/leaf01", "interface": "Ethernet1/1", "days": "3"}).status_code
    )


def test_a_link_whose_ticket_is_open_says_why_no_alarm_stands(
    pages: TestClient, lake: Lake, score: Callable[..., None], now: datetime
) -> None:
    ticket = {"ticket_id": "INC7", "site": "default", "device": "leaf01", "interface": "Ethernet1", "opened_at": now}
    lake.append(TICKETS, pl.DataFrame([{**ticket, "received_at": now}]))
    score()

    said = pages.get("/link/leaf01/Ethernet1").text

    assert "Ticket INC7 is open since" in said
    assert "no new alarm is raised" in said


def test_a_filter_comes_back_as_text(pages: TestClient, hostile: str) -> None:
    assert hostile
    answer = pages.get("/", params={"device": HOSTILE + "x"})

    assert "<script>alert" not in answer.text
    assert "None of the 1 is as asked for" in answer.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/?level=nonsense", 422),
        ("/?nonsense=1", 422),
        ("/?level=act&level=watch", 422),
        ("/?min_risk=7", 422),
        ("/fleet?page=0", 422),
        ("/fleet?page=99999999999", 422),
        ("/model?x=1", 422),
        ("/link/nobody/knows", 404),
        ("/link/leaf01/Ethernet1?days=9999", 422),
        ("/link/leaf01/Ethernet1?until=yesterday", 422),
    ],
)
def test_what_cannot_be_asked_for_is_said_in_a_page(pages: TestClient, hostile: str, path: str, status: int) -> None:
    """A misspelt filter would otherwise widen the list; and no page shows an inside."""
    assert hostile
    answer = pages.get(path)

    assert status == answer.status_code
    assert answer.headers["content-type"].startswith("text/html")
    assert "Traceback" not in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_every_route_of_the_console_is_documented(pages: TestClient) -> None:
    from serving.web import fleet, link, model, signing, steps, tonight

    routers = (tonight, link, fleet, model, signing, steps)
    paths = {route.path for each in routers for route in each.router.routes}

    assert [] == [path for path in sorted(paths) if f"`{path.replace(':path', '')}`" not in DOCS]
    assert pages is not None
