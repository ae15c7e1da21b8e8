"""The REST service, built from its settings; nothing is read from the environment here."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool

from ingest.lake import Lake
from models.registry import Registry
from serving import contract
from serving.access.audit import AuditLog, AuditMiddleware
from serving.access.auth import OperatorToken, TokenBook
from serving.access.limits import CallerMiddleware
from serving.access.tokens import TokenStore
from serving.alarms import utc_now
from serving.deps import Services
from serving.drains.config import load_drain_config
from serving.drains.desk import Desk
from serving.drains.sight import LatestSight
from serving.drains.store import DrainStore
from serving.errors import ProblemError
from serving.hot import HotMiddleware
from serving.metrics import Metrics, MetricsMiddleware
from serving.middleware import BodyLimitMiddleware, InflateMiddleware, SecurityHeadersMiddleware
from serving.routes import alarms, health, links, outcomes, probes, samples, score, storms, transceivers, verdicts
from serving.samples.intake import Intake
from serving.samples.sent import Sent
from serving.scoring.champion import Champion, Scorer
from serving.settings import Settings
from serving.snapshot import LatestScores
from serving.store import AlarmStore
from serving.upkeep import sweep
from serving.web import console
from serving.wire import problems

__all__ = ["create_app"]

_SWEEP_EVERY_S: Final = 10.0
_log: Final = logging.getLogger(__name__)
_SCORE_BYTES: Final = 16_000_000  # 200,000 readings
_SAMPLES_BYTES: Final = 8_000_000  # 2,000 readings of eight lanes, inflated
_BODY_BYTES: Final = 65_536  # a reason is 500 characters; nothing larger is asked for yet
_ABOUT: Final = (
    "Which optical transceivers will fail, and how, about a day ahead. "
    "Scores that are stale or missing are answered with 503: they are no all-clear."
)


def create_app(
    settings: Settings,
    store: AlarmStore | None = None,
    *,
    token: OperatorToken | None = None,
    open_reads: bool = True,
    clock: Callable[[], datetime] = utc_now,
    session_key: bytes | None = None,
    counts: Path | None = None,
) -> FastAPI:
    """Build the application.

    Args:
        settings: where lake and store are, and when scores are stale.
        store: an open store, which stays the caller's; one of the settings' by default.
        token: the environment's, which allows everything, beside those of the store.
        open_reads: whether reading needs no token, as on loopback.
        clock: what is now.
        session_key: signs the console's sessions, the same in all processes of a service; made where not given.
        counts: folder of what all processes of a service count together; none where it is one.
    """
    own = store is None
    store = AlarmStore(settings.database_url, clock=clock) if store is None else store
    app = FastAPI(
        title="forelight",
        description=_ABOUT,
        version=version("forelight"),
        docs_url=None,  # its page loads scripts from a CDN: useless off-network, and not ours
        redoc_url=None,
        lifespan=partial(_lifespan, owned=own),
    )
    book = TokenBook(TokenStore(store.engine, clock=clock), token, clock)
    lake, config = Lake(settings.lake_uri), load_drain_config(settings.drains_config)
    desk = Desk(DrainStore(store.engine, clock=clock), config, settings.no_act_share)
    sight = LatestSight(lake, config.guard, clock)
    scores = LatestScores(store, lake)
    intake = Intake(lake, settings.home / "spool-samples", settings.home / "quarantine", clock)
    registry = partial(Registry, settings.tracking_uri, settings.artifact_root)
    champion = Champion(registry)
    scorer, sent = Scorer(champion), Sent(settings.home / "sent-samples.jsonl")
    app.state.services = Services(
        settings, lake, store, scores, clock, book, open_reads, desk, sight, champion, scorer, intake, sent=sent
    )
    app.state.metrics = Metrics(store, clock, counts)
    _add_middleware(app)
    problems.install(app)
    for routes in (alarms, transceivers, links, score, outcomes, samples, probes, storms, verdicts, health):
        app.include_router(routes.router)
    console.install(app, book, clock, registry, session_key)
    contract.install(app, open_reads=open_reads)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI, *, owned: bool) -> AsyncIterator[None]:
    """Alarms are looked after while the service runs; a store of its own is opened and closed."""
    services: Services = app.state.services
    if owned:
        await run_in_threadpool(services.store.open)
    ending = asyncio.Event()
    sweeper = asyncio.create_task(_sweep(services.store, services.settings.alarm_ttl_s, services.clock, ending))
    yield
    await run_in_threadpool(services.intake.close)
    ending.set()
    await sweeper  # what it has begun it ends: its connection goes back to the store
    if owned:
        services.store.close()


def _add_middleware(app: FastAPI) -> None:
    """From the innermost to the outermost."""
    services: Services = app.state.services
    app.add_middleware(InflateMiddleware, limits={"/v1/samples": _SAMPLES_BYTES, "/v1/probes": _SAMPLES_BYTES})
    larger = {"/v1/score": _SCORE_BYTES, "/v1/samples": _SAMPLES_BYTES, "/v1/probes": _SAMPLES_BYTES}
    app.add_middleware(BodyLimitMiddleware, limit_bytes=_BODY_BYTES, larger=larger)
    app.add_middleware(HotMiddleware, services=services, lanes=(alarms.LANE, transceivers.LANE))
    app.add_middleware(CallerMiddleware, book=services.book, per_s=services.settings.rate_per_s)
    app.add_middleware(AuditMiddleware, log=AuditLog(services.store.engine), clock=services.clock)
    app.add_middleware(SecurityHeadersMiddleware)
    app.add_middleware(MetricsMiddleware, metrics=app.state.metrics)


async def _sweep(store: AlarmStore, ttl_s: float, clock: Callable[[], datetime], ending: asyncio.Event) -> None:
    """Expire and open what is due, whatever else runs or does not."""
    while not ending.is_set():
        try:
            await run_in_threadpool(sweep, store, ttl_s, clock())
        except ProblemError as error:
            _log.warning("alarms are not looked after: %s", error)
        except Exception:  # noqa: BLE001 - whatever it is, the next look must come
            _log.exception("alarms are not looked after")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ending.wait(), _SWEEP_EVERY_S)
