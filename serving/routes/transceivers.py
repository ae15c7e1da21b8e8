"""Transceivers: the latest score of one."""

from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Query

from ingest.schema import FailureType
from models.actions import expected_cost_h, ranked
from serving.alarms import AlarmRecord, ScoreRun
from serving.deps import FreshSnapshotDep, ServicesDep, reader
from serving.errors import TransceiverNotFoundError
from serving.problems import problem_responses
from serving.schemas import SiteQuery
from serving.transceiver_schemas import ActionStep, Transceiver, TransceiverAlarm
from serving.wire import Name

__all__ = ["router"]

router = APIRouter(tags=["transceivers"])
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


@router.get(
    "/v1/transceivers/{device}/{interface:path}",
    dependencies=[Depends(reader)],
    responses=problem_responses(401, 404, 422, 503),
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
    age_then_s = score["data_age_s"]
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
        actions=[ActionStep(action=step.action, cures=step.cures, cost_h=step.cost_h) for step in steps],
        expected_cost_h=expected_cost_h(steps) if steps else None,
        alarm=None if alarm is None else _alarm(alarm),
        data_age_s=None if age_then_s is None else max(age_then_s + (now - run.at).total_seconds(), 0.0),
        **{name: score[name] for name in _SAME},
    )


def _alarm(alarm: AlarmRecord) -> TransceiverAlarm:
    return TransceiverAlarm(
        alarm_id=alarm.alarm_id,
        status=alarm.status,
        level=alarm.level,
        device=alarm.device,
        interface=alarm.interface,
        raised_at=alarm.raised_at,
    )
