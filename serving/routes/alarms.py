"""Alarms: list, one with its life, and the steps that somebody may take."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from fastapi import Request as HttpRequest
from fastapi.concurrency import run_in_threadpool

from serving.access.idempotency import Answer, KeyHeader, Request
from serving.alarms import STANDING, AlarmRecord, ScoreRun, Status
from serving.deps import CallerDep, Services, ServicesDep, no_query, once, operator, reader
from serving.errors import NodeNotFoundError, NoScoresError, ProblemError
from serving.hot import Kept, Lane, Told, telling
from serving.queries import Story
from serving.snapshot import Snapshot
from serving.steps import Step, take
from serving.wire.alarms import Alarm, AlarmAnswer, AlarmEvent, AlarmQuery, Alarms, Reason, Suppression
from serving.wire.base import Name, matches
from serving.wire.problems import problem_responses

__all__ = ["LANE", "router"]


router = APIRouter(tags=["alarms"])
_Id = Annotated[Name, Path(description="Identifier of the alarm.")]
_IfMatch = Annotated[
    str | None,
    Header(max_length=1000, description="`ETag` of the alarm as the caller saw it: where it has changed since, 412."),
]
_READ: Final = [Depends(reader)]
_CHANGE: Final = [Depends(operator), Depends(no_query)]
_RECHECK: Final = (b"cache-control", b"no-cache")
_REFUSALS: Final = problem_responses(401, 403, 404, 409, 412, 422, 429, 503)


@router.get("/v1/alarms", dependencies=[*_READ, once("status")], responses=problem_responses(401, 404, 422, 429, 503))
async def list_alarms(query: Annotated[AlarmQuery, Query()], services: ServicesDep) -> Alarms:
    """Alarms, the newest first, in any state unless `status` says which.

    Where scores are stale or missing the answer is 503, never an empty list; but alarms that have ended
    (`status=cleared`, `expired`, `confirmed`) are facts, and are told all the same.
    """
    answered_at = services.clock()
    run = await run_in_threadpool(services.store.latest_run)
    if not query.status or STANDING & set(query.status):
        run = services.fresh(run)
    servers = await _servers(services)
    if query.node is not None and not any(query.node == name for _, name in servers):
        msg = f"no server is known as {query.node!r}: that none of its links has an alarm cannot be said"
        raise NodeNotFoundError(msg)
    page = await run_in_threadpool(services.store.alarms, query.filter(), cursor=query.cursor, limit=query.limit)
    run = _some(run)
    return Alarms(
        scored_at=run.at,
        model_version=run.model_version,
        answered_at=answered_at,
        alarms=[services.alarm(record, servers) for record in page.alarms],
        next_cursor=page.next_cursor,
    )


def _told(services: Services, snapshot: Snapshot, run: ScoreRun, alarm_id: str) -> Told | None:
    """A standing alarm, as it was told before or made of what is in memory."""
    record = snapshot.standing.get(alarm_id)
    if record is None:
        return None
    of = (record.revision, *telling(run))
    kept = services.answers.get(alarm_id, of)
    if kept is None:
        story = Story(record, snapshot.events[alarm_id], run)
        body, etag = _answer(services, story, run, snapshot.servers)
        kept = Kept(of, body, etag)
        services.answers.keep(alarm_id, kept)
    return Told(kept.body, ((b"etag", kept.etag.encode()), _RECHECK))


LANE: Final = Lane("/v1/alarms/{alarm_id:path}", _told)


@router.get(
    LANE.path,
    dependencies=[*_READ, Depends(no_query)],
    response_model=AlarmAnswer,
    responses=problem_responses(401, 404, 422, 429, 503) | {304: {"description": "The alarm is as it was."}},
)
async def get_alarm(
    alarm_id: _Id,
    services: ServicesDep,
    if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
) -> Response:
    """One alarm with its life: what to ask again just before draining."""
    found = await run_in_threadpool(services.store.story, alarm_id)
    run = services.fresh(found.run) if found.record.status in STANDING else _some(found.run)
    body, etag = _answer(services, found, run, await _servers(services))
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if matches(if_none_match, etag):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _answer(services: Services, story: Story, run: ScoreRun, servers: frozenset[tuple[str, str]]) -> tuple[bytes, str]:
    """The body, and its tag."""
    alarm = services.alarm(story.record, servers)
    events = [AlarmEvent.of(event) for event in story.events]
    answer = AlarmAnswer(scored_at=run.at, model_version=run.model_version, alarm=alarm, events=events)
    return answer.model_dump_json().encode(), _etag(story.record, alarm, run)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Who asks for a step, under which conditions."""

    services: Services
    who: str
    path: str
    key: str | None
    if_match: str | None

    async def step(self, alarm_id: str, to: Status, body: Reason, until: datetime | None = None) -> Response:
        """Take it, once; the answer has the tag of the alarm as it is now."""
        servers = await _servers(self.services)

        def answer(record: AlarmRecord, run: ScoreRun | None) -> Answer:
            alarm = self.services.alarm(record, servers)
            return Answer(alarm.model_dump_json(), etag=_etag(record, alarm, run))

        step = Step(alarm_id=alarm_id, to=to, why=body.reason, until=until, if_match=self.if_match)
        request = Request(self.who, self.key, self.path, body.model_dump_json())
        said, again = await run_in_threadpool(take, self.services.store, step, request, answer)
        self.services.scores.forget()
        headers = {"ETag": said.etag or ""} | ({"Idempotency-Replayed": "true"} if again else {})
        return Response(said.body, said.status, headers, media_type="application/json")


async def _asked(
    request: HttpRequest,
    caller: CallerDep,
    services: ServicesDep,
    key: KeyHeader = None,
    if_match: _IfMatch = None,
) -> _Asked:
    return _Asked(services, caller.name, request.url.path, key, if_match)


_AskedDep = Annotated[_Asked, Depends(_asked)]


@router.post("/v1/alarms/{alarm_id:path}/ack", dependencies=_CHANGE, response_model=Alarm, responses=_REFUSALS)
async def acknowledge(alarm_id: _Id, body: Reason, asked: _AskedDep) -> Response:
    """Somebody has seen it; asking twice changes nothing more."""
    return await asked.step(alarm_id, Status.ACKED, body)


@router.post("/v1/alarms/{alarm_id:path}/suppress", dependencies=_CHANGE, response_model=Alarm, responses=_REFUSALS)
async def suppress(alarm_id: _Id, body: Suppression, asked: _AskedDep) -> Response:
    """It is to be left alone for a while; then it opens again by itself. A later end may be set by asking again."""
    return await asked.step(alarm_id, Status.SUPPRESSED, body, body.end(asked.services.clock()))


@router.post("/v1/alarms/{alarm_id:path}/reopen", dependencies=_CHANGE, response_model=Alarm, responses=_REFUSALS)
async def reopen(alarm_id: _Id, body: Reason, asked: _AskedDep) -> Response:
    """It is suppressed no longer."""
    return await asked.step(alarm_id, Status.OPEN, body)


@router.post("/v1/alarms/{alarm_id:path}/clear", dependencies=_CHANGE, response_model=Alarm, responses=_REFUSALS)
async def clear(alarm_id: _Id, body: Reason, asked: _AskedDep) -> Response:
    """It no longer holds; asking twice changes nothing more."""
    return await asked.step(alarm_id, Status.CLEARED, body)


def _some(run: ScoreRun | None) -> ScoreRun:
    """The run, fresh or not.

    Raises:
        NoScoresError: there is none.
    """
    if run is None:
        msg = "no run was applied yet: `forelight score` makes one"
        raise NoScoresError(msg)
    return run


async def _servers(services: Services) -> frozenset[tuple[str, str]]:
    """Devices that are servers; none where the lake cannot say, for a guess would drain the wrong one."""
    try:
        return (await services.scores.get()).servers
    except ProblemError:
        return frozenset()


def _etag(record: AlarmRecord, alarm: Alarm, run: ScoreRun | None) -> str:
    """Strong: the alarm's revision, and a hash of what else is answered beside it."""
    beside = (run and (run.at, run.model_version), alarm.affected_nodes, alarm.left_alone, alarm.expires_at)
    return f'"{record.revision}.{hashlib.sha256(repr(beside).encode()).hexdigest()[:16]}"'
