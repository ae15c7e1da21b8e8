"""The console in Debian's Chromium, over a fleet that the real parts generated, learnt from, scored and judged."""

import contextlib
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, sync_playwright

from features.fleet import Fleet
from ingest.lake import Lake
from models.alarm import alarm_frame
from models.artifact import Artifact
from models.kept import BACKTEST
from models.registry import Registry
from models.risk_log import RiskLog
from serving.access.auth import OperatorToken
from serving.access.tokens import Scope, TokenStore
from serving.app import create_app
from serving.backtest.backtesting import judged, walked
from serving.scoring.scorer import score_fleet
from serving.settings import Settings
from serving.store import AlarmStore

PATIENCE_MS = 180_000  # a page of a busy machine takes its time
BOOTSTRAP = "correct horse battery staple"
SEEN = "[guard]\nobserved_within_s = 7200\n"  # the fleet is read once an hour
Step = Callable[..., Any]


@pytest.fixture(name="console_home", scope="session")
def _console_home(
    request: pytest.FixtureRequest, train_until: datetime, once: Callable[[str, Callable[[Path], None]], Path]
) -> Path:
    """FORELIGHT_HOME with a fleet scored three hours in a row by a nervous policy, and a back-test that is kept."""

    def make(folder: Path) -> None:
        trained_home: Path = request.getfixturevalue("trained_home")  # only whoever makes it waits for these
        nervous: Artifact = request.getfixturevalue("nervous")
        shutil.copytree(trained_home, folder, dirs_exist_ok=True)
        settings = Settings.from_env({"FORELIGHT_HOME": str(folder)})
        settings.drains_config.write_text(SEEN, encoding="utf-8")
        lake = Lake(settings.lake_uri)
        with AlarmStore(settings.database_url) as store:
            for hours in range(3):
                score_fleet(lake, store, nervous, train_until + timedelta(hours=hours))
            assert store.open_alarms()
        _keep_backtest(settings, lake, nervous, (train_until, train_until + timedelta(days=3)))

    return once("console-home", make)


def _keep_backtest(settings: Settings, lake: Lake, artifact: Artifact, span: tuple[datetime, datetime]) -> None:
    log, fleet = RiskLog(), Fleet.load(lake)
    alarms = alarm_frame(walked(lake, fleet, artifact, span, 2, _quiet, log=log).alarms)
    cards = judged(lake, fleet, alarms, span, _quiet, risks=log.risks())
    registry = Registry(settings.tracking_uri, settings.artifact_root)
    registry.keep(BACKTEST, cards[0].metrics(), {card.name: card.to_dict() for card in cards})


@contextlib.contextmanager
def _quiet(_what: str) -> Iterator[Callable[[float], None]]:
    yield lambda _done: None


@dataclass(frozen=True)
class Service:
    """The service at a port of this machine.

    Attributes:
        tokens: text by scope.
    """

    address: str
    settings: Settings
    store: AlarmStore
    tokens: dict[Scope, str]

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc


@contextlib.contextmanager
def _serving(home: Path, now: datetime, *, open_reads: bool = True) -> Iterator[Service]:
    settings = Settings.from_env({"FORELIGHT_HOME": str(home), "FORELIGHT_RATE_PER_S": "10000"})
    with contextlib.ExitStack() as ending:
        store = ending.enter_context(AlarmStore(settings.database_url, clock=lambda: now))
        made = TokenStore(store.engine, clock=lambda: now)
        tokens = {scope: made.create(f"ann-{scope}", scope, who="test", expires_at=None)[1] for scope in Scope}
        token = OperatorToken.of(BOOTSTRAP)
        app = create_app(settings, store, token=token, open_reads=open_reads, clock=lambda: now)
        bound = ending.enter_context(socket.create_server(("127.0.0.1", 0)))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        ending.callback(thread.join)
        ending.callback(setattr, server, "should_exit", True)
        while not server.started:
            time.sleep(0.01)
        yield Service(f"http://127.0.0.1:{bound.getsockname()[1]}", settings, store, tokens)


@pytest.fixture(name="serving", scope="session")
def _serving_at() -> Callable[..., contextlib.AbstractContextManager[Service]]:
    """Serves a home at a time: ``with serving(home, now, open_reads=False) as service``."""
    return _serving


@pytest.fixture(name="now", scope="session")
def _now(train_until: datetime) -> datetime:
    """Five minutes after the last scores."""
    return train_until + timedelta(hours=2, minutes=5)


@pytest.fixture(name="service", scope="module")
def _service(console_home: Path, now: datetime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """On loopback, where reading needs no token; the tests of one file share a copy of the home."""
    home = Path(shutil.copytree(console_home, tmp_path_factory.mktemp("console") / "home"))
    with _serving(home, now) as service:
        yield service


@pytest.fixture(name="chromium", scope="module")
def _chromium() -> Iterator[Browser]:
    """Ends with its module: while it runs, no other test can run an event loop of its own."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed (Debian: chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Tab:
    """A page of a browser, and what it asked for and complained of.

    Attributes:
        told: errors and warnings of its console.
        asked: host of each request.
    """

    page: Page
    service: Service
    told: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)

    def open(self, path: str) -> Page:
        answer = self.page.goto(self.service.address + path, wait_until="load")
        assert answer is not None
        return self.page

    def sign_in(self, scope: Scope = Scope.OPERATE) -> None:
        page = self.open("/sign-in")
        page.fill("#token", self.service.tokens[scope])
        page.click("main button")
        page.wait_for_url(self.service.address + "/")


@pytest.fixture(name="tab")
def _tab(chromium: Browser, service: Service) -> Iterator[Callable[..., Tab]]:
    """Opens a browser of its own on the service: ``tab(width=400, dark=True)``; at the end nobody has complained."""
    contexts: list[BrowserContext] = []
    tabs: list[Tab] = []

    def tab(width: int = 1400, *, dark: bool = False, at: Service = service, script: bool = True) -> Tab:
        scheme = "dark" if dark else "light"
        size: Any = {"width": width, "height": 900}
        context = chromium.new_context(viewport=size, color_scheme=scheme, java_script_enabled=script)  # type: ignore[arg-type]  # one of its words
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        made = Tab(context.new_page(), at)
        tabs.append(made)

        def heard(message: ConsoleMessage) -> None:
            if message.type in {"error", "warning"}:
                made.told.append(message.text)

        def asked(request: Request) -> None:
            made.asked.add(urlsplit(request.url).netloc)

        made.page.on("console", heard)
        made.page.on("pageerror", lambda error: made.told.append(str(error)))
        made.page.on("request", asked)
        return made

    yield tab
    for context in contexts:
        context.close()
    assert [] == [line for one in tabs for line in one.told]
    assert all(one.asked <= {one.service.host} for one in tabs)


os.environ.setdefault("PW_TEST_SCREENSHOT_NO_FONTS_READY", "1")  # headless, it waits for fonts for ever at times
