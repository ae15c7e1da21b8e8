"""Alarms: list, one with its life, acknowledge, clear."""

import hashlib
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from fastapi.concurrency import run_in_threadpool

from serving.alarms import AlarmRecord, Event, Status
from serving.deps import CallerDep, FreshRunDep, ServicesDep, StoreDep, no_query, operator, reader
from serving.errors import ProblemError
from serving.problems import problem_responses
from serving.schemas import Alarm, AlarmAnswer, AlarmEvent, AlarmQuery, Alarms, Name, Reason

__all__ = ["router"]

router = APIRouter(tags=["alarms"])
_Id = Annotated[Name, Path(description="Identifier of the alarm.")]
_READ: Final = [Depends(reader)]
_CHANGE: Final = [Depends(operator), Depends(no_query)]
_REFUSALS: Final = problem_responses(401, 403, 404, 409, 422, 429, 503)


@router.get("/v1/alarms", dependencies=_READ, responses=problem_responses(401, 422, 503))
async def list_alarms(
    query: Annotated[AlarmQuery, Query()], run: FreshRunDep, store: StoreDep, services: ServicesDep
) -> Alarms:
    """Alarms, the newest first, in any state unless `status` says which.

    Where scores are stale or missing the answer is 503, never an empty list.
    """
    answered_at = services.clock()
    page = await run_in_threadpool(store.alarms, query.filter(), cursor=query.cursor, limit=query.limit)
    servers = await _servers(services)
    return Alarms(
        scored_at=run.at,
        model_version=run.model_version,
        answered_at=answered_at,
        alarms=[Alarm.of(record, servers, services.settings.no_act_share) for record in page.alarms],
        next_cursor=page.next_cursor,
    )


@router.get(
    "/v1/alarms/{alarm_id}",
    dependencies=[*_READ, Depends(no_query)],
    response_model=AlarmAnswer,
    responses=problem_responses(401, 404, 422, 503) | {304: {"description": "The alarm is as it was."}},
)
async def get_alarm(
    alarm_id: _Id,
    run: FreshRunDep,
    store: StoreDep,
    services: ServicesDep,
    response: Response,
    if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
) -> AlarmAnswer | Response:
    """One alarm with its life: what to ask again just before draining."""
    record = await run_in_threadpool(store.alarm, alarm_id)
    events = await run_in_threadpool(store.events, alarm_id)
    headers = {"ETag": _etag(record, events), "Cache-Control": "no-cache"}
    if _matches(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return AlarmAnswer(
        scored_at=run.at,
        model_version=run.model_version,
        alarm=Alarm.of(record, await _servers(services), services.settings.no_act_share),
        events=[AlarmEvent.of(event) for event in events],
    )


@router.post(
    "/v1/alarms/{alarm_id}/ack", dependencies=_CHANGE, responses=problem_responses(401, 403, 404, 409, 422, 429)
)
async def acknowledge(alarm_id: _Id, body: Reason, caller: CallerDep, services: ServicesDep) -> Alarm:
    """Somebody has seen it; asking twice changes nothing more."""
    return await _step(services, alarm_id, Status.ACKED, caller.name, body.reason)


@router.post(
    "/v1/alarms/{alarm_id}/clear", dependencies=_CHANGE, responses=problem_responses(401, 403, 404, 409, 422, 429)
)
async def clear(alarm_id: _Id, body: Reason, caller: CallerDep, services: ServicesDep) -> Alarm:
    """It no longer holds; asking twice changes nothing more."""
    return await _step(services, alarm_id, Status.CLEARED, caller.name, body.reason)


async def _step(services: ServicesDep, alarm_id: str, to: Status, who: str, reason: str) -> Alarm:
    record = await run_in_threadpool(services.store.transition, alarm_id, to, who, reason)
    services.scores.forget()
    return Alarm.of(record, await _servers(services), services.settings.no_act_share)


async def _servers(services: ServicesDep) -> frozenset[tuple[str, str]]:
    """Devices that are servers; none where the lake cannot say, for a guess would drain the wrong one."""
    try:
        return (await services.scores.get()).servers
    except ProblemError:
        return frozenset()


def _etag(record: AlarmRecord, events: tuple[Event, ...]) -> str:
    """Weak: the same alarm in another run's answer is the same."""
    return f'W/"{hashlib.sha256(repr((record, events)).encode()).hexdigest()[:32]}"'


def _matches(if_none_match: str | None, etag: str) -> bool:
    asked = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return "*" in asked or etag.removeprefix("W/") in asked
