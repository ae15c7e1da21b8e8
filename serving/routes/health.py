"""Whether the service lives, is ready, and which it is."""

from collections.abc import Iterator
from functools import cache
from importlib.metadata import version as installed_version
from typing import Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from prometheus_client import CONTENT_TYPE_LATEST

from features.pipeline import FeaturePipeline
from models.day_one import VERSION as DAY_ONE
from serving import migrate
from serving.alarms import ScoreRun
from serving.deps import Services, ServicesDep, StoreDep, no_query
from serving.errors import NoScoresError, NotReadyError, ProblemError, StaleScoresError
from serving.risk_metrics import Limits
from serving.snapshot import Snapshot
from serving.wire.models import Champion, Readiness, Version
from serving.wire.problems import problem_responses

__all__ = ["router"]

router = APIRouter(tags=["health"], dependencies=[Depends(no_query)])
API: Final = "v1"


@router.get("/livez")
async def livez() -> dict[str, str]:
    """The process answers; says nothing of what it knows."""
    return {"status": "alive"}


@router.get("/readyz", responses=problem_responses(503))
async def readyz(services: ServicesDep) -> Readiness:
    """Everything that an answer rests on is there: store, schema, model and fresh scores.

    `degraded` is ready, too: it answers by the champion before, or by physics alone, until the champion can be loaded.
    """
    reasons = list(await run_in_threadpool(lambda: tuple(_store_reasons(services))))
    run = None
    try:
        run = (await services.scores.get()).run
    except ProblemError as error:
        reasons.append(str(error))
    champion = await services.champion.state()
    trouble = f"the champion cannot be used: {champion.trouble}" if champion.trouble else ""
    usable = champion.number is not None or (run is not None and run.model_version == DAY_ONE)
    if trouble and not usable:
        reasons.append(trouble)
    if reasons:
        msg = "; ".join(dict.fromkeys(reasons))
        raise NotReadyError(msg, reasons=list(dict.fromkeys(reasons)))
    return Readiness(status="degraded" if trouble else "ready", reasons=[trouble] if trouble else [])


@router.get("/version")
async def version(store: StoreDep, services: ServicesDep) -> Version:
    """This program, its schemas, the model whose scores it serves, and the champion in memory."""
    champion = services.champion.loaded
    run = await run_in_threadpool(store.latest_run)
    return Version(
        version=installed_version("forelight"),
        api=API,
        schema_revision=await run_in_threadpool(store.revision),
        feature_schema=_feature_schema(),
        model_name=None if run is None else run.model_name,
        model_version=None if run is None else run.model_version,
        scored_at=None if run is None else run.at,
        champion=None if champion is None else Champion.of(champion),
    )


@cache
def _feature_schema() -> str:
    return FeaturePipeline().fingerprint


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, services: ServicesDep) -> Response:
    """For Prometheus."""
    settings = services.settings
    limits = Limits(settings.metrics_top, settings.metrics_floor)
    text = await run_in_threadpool(request.app.state.metrics.text, await _fresh(services), limits)
    return Response(text, media_type=CONTENT_TYPE_LATEST)


async def _fresh(services: Services) -> Snapshot | None:
    """The scores in memory, where they are fresh; no scores are a metric, not a failed scrape."""
    try:
        snapshot = await services.scores.get()
        services.fresh(snapshot.run)
    except ProblemError:
        return None
    return snapshot


def _store_reasons(services: Services) -> Iterator[str]:
    """What is missing in the store, each in words."""
    try:
        found, needed = services.store.revision(), migrate.head_revision()
        if found != needed:
            yield f"the alarm store's schema is {found or 'missing'}, not {needed}"
            return
        yield from _run_reasons(services, services.store.latest_run())
    except ProblemError as error:
        yield str(error)


def _run_reasons(services: Services, run: ScoreRun | None) -> Iterator[str]:
    try:
        run = services.fresh(run)
    except (NoScoresError, StaleScoresError) as error:
        yield str(error)
        return
    if not run.model_version:
        yield "the latest run does not say which model made it"
    if run.newest_data_at is not None:
        age_s = (run.at - run.newest_data_at).total_seconds()
        if age_s > services.settings.stale_after_s:
            yield f"the newest reading was {age_s:.0f} s old when it was scored"
