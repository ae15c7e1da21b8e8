"""Transceivers: the latest score of one."""

import asyncio
import json
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Query
from fastapi.concurrency import run_in_threadpool

from features.told import told
from ingest.schema import FailureType
from models.actions import expected_cost_h, ranked
from serving.alarms import AlarmRecord, ScoreRun
from serving.deps import FreshSnapshotDep, Services, ServicesDep, once, reader
from serving.errors import TransceiverNotFoundError
from serving.hot import Kept, Lane, Told, telling
from serving.series import read_series
from serving.snapshot import Snapshot
from serving.wire.alarms import SiteQuery
from serving.wire.base import Name
from serving.wire.problems import problem_responses
from serving.wire.transceivers import (
    ActionStep,
    Evidence,
    SeriesQuery,
    Transceiver,
    TransceiverAlarm,
    TransceiverSeries,
)

__all__ = ["LANE", "router"]

_RISK: Final = "risk_"
_SAME: Final = (
    "serial",
    "failure_type",
    "type_probabilities",
    "suspect",
    "suspect_device",
    "suspect_interface",
    "suspect_probability",
    "action",
    "peer_device",
    "peer_interface",
)


_AGE: Final = '"data_age_s":'


def _told(services: Services, snapshot: Snapshot, run: ScoreRun, asked: str) -> Told | None:
    """A module of the snapshot; of what was told before, the age of the data alone is new."""
    device, _, interface = asked.partition("/")
    key = ("default", device, interface)
    if key not in snapshot.scores.index or interface.endswith(_SERIES):
        return None
    alarm, now = snapshot.alarms.get(key), services.clock()
    of = (*telling(run), None if alarm is None else (alarm.alarm_id, alarm.revision))
    kept = services.answers.get(key, of)
    if kept is None:
        score = snapshot.scores.find(key) or {}
        whole = _transceiver(score, run, alarm, now).model_dump_json()
        kept = Kept(of, whole[: whole.rindex(_AGE) + len(_AGE)].encode(), age_then_s=score["data_age_s"])
        services.answers.keep(key, kept)
    age = json.dumps(_age_now_s(kept.age_then_s, run, now))
    return Told(kept.body + age.encode() + b"}")


router = APIRouter(tags=["transceivers"])
LANE: Final = Lane("/v1/transceivers/{device}/{interface:path}", _told)
_SERIES: Final = "/series"
_READERS: Final = asyncio.Semaphore(2)  # of the lake at once: each may read a day's readings of a device


@router.get(
    LANE.path + _SERIES,  # its path would be an interface's otherwise
    dependencies=[Depends(reader), once("columns")],
    responses=problem_responses(401, 422, 429, 503),
)
async def get_series(
    device: Annotated[Name, Path()],
    interface: Annotated[Name, Path(description="As the device names it.")],
    query: Annotated[SeriesQuery, Query()],
    services: ServicesDep,
) -> TransceiverSeries:
    """Readings of one module for a plot: of each span the lowest, the highest and the mean."""
    port, span = (query.site, device, interface), query.span(services.clock())
    async with _READERS:
        found = await run_in_threadpool(read_series, services.lake, port, query.columns, span, query.points)
    return TransceiverSeries.of(port, span, found)


@router.get(
    LANE.path,
    dependencies=[Depends(reader), once()],
    responses=problem_responses(401, 404, 422, 429, 503),
)
async def get_transceiver(
    device: Annotated[Name, Path()],
    interface: Annotated[Name, Path(description="As the device names it; slashes may stand as they are or as %2F.")],
    query: Annotated[SiteQuery, Query()],
    snapshot: FreshSnapshotDep,
    services: ServicesDep,
) -> Transceiver:
    """The latest risk of one module, what would fail, and why we think so."""
    key = (query.site, device, interface)
    score = snapshot.scores.find(key)
    if score is None or snapshot.run is None:
        msg = f"the latest scores have no {interface} on {device} at site {query.site}"
        raise TransceiverNotFoundError(msg)
    return _transceiver(score, snapshot.run, snapshot.alarms.get(key), services.clock())


def _transceiver(score: dict[str, Any], run: ScoreRun, alarm: AlarmRecord | None, now: datetime) -> Transceiver:
    steps = ranked({FailureType(kind): p for kind, p in (score["type_probabilities"] or {}).items() if p is not None})
    return Transceiver(
        scored_at=run.at,
        model_version=score["model_version"],
        site=score["site"],
        device=score["device"],
        interface=score["interface"],
        status=score["status"],
        risks={name.removeprefix(_RISK): risk for name, risk in score.items() if name.startswith(_RISK)},
        reasons=score["reasons"] or [],
        evidence=[_evidence(each) for each in score["evidence"] or ()],
        actions=[ActionStep(action=step.action, cures=step.cures, cost_h=step.cost_h) for step in steps],
        expected_cost_h=expected_cost_h(steps) if steps else None,
        alarm=None if alarm is None else _alarm(alarm),
        data_age_s=_age_now_s(score["data_age_s"], run, now),
        **{name: score[name] for name in _SAME},
    )


def _evidence(each: dict[str, Any]) -> Evidence:
    what, said = told(each["feature"], each["value"])
    return Evidence(**each, what=what, said=said)


def _age_now_s(age_then_s: float | None, run: ScoreRun, now: datetime) -> float | None:
    return None if age_then_s is None else max(age_then_s + (now - run.at).total_seconds(), 0.0)


def _alarm(alarm: AlarmRecord) -> TransceiverAlarm:
    return TransceiverAlarm(
        alarm_id=alarm.alarm_id,
        status=alarm.status,
        level=alarm.level,
        device=alarm.device,
        interface=alarm.interface,
        raised_at=alarm.raised_at,
    )
