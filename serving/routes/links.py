"""Links: what to do about one, leases that keep capacity for a drain, and reports of what was done."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Query
from fastapi.concurrency import run_in_threadpool

from ingest.schema import FailureType
from serving.deps import CallerDep, KnownDep, ReportedDep, ServicesDep, no_query, once, operator, reader
from serving.drains.desk import Known
from serving.drains.fabric import Port
from serving.drains.log import read_log
from serving.drains.records import DrainState
from serving.drains.verify import next_action
from serving.drains.verifying import verify_one
from serving.drains.wire import (
    DecisionAnswer,
    DrainAnswer,
    LeaseAnswer,
    LeaseRequest,
    LogAnswer,
    LogQuery,
    Report,
    Undrained,
    Verified,
)
from serving.errors import DrainNotFoundError, NoScoresError
from serving.wire.alarms import SiteQuery
from serving.wire.base import Name
from serving.wire.problems import problem_responses

__all__ = ["router"]

router = APIRouter(tags=["links"])
_Device = Annotated[Name, Path()]
_Interface = Annotated[Name, Path(description="As the device names it; slashes may stand as they are or as %2F.")]
_PATH: Final = "/v1/links/{device}/{interface:path}"


async def _port(device: _Device, interface: _Interface, query: Annotated[SiteQuery, Query()]) -> Port:
    return query.site, device, interface


_Port = Annotated[Port, Depends(_port)]
_OPERATE: Final = [Depends(operator)]
_READ: Final = [Depends(reader), once()]


@router.get(f"{_PATH}/decision", dependencies=_READ, responses=problem_responses(401, 404, 422, 429, 503))
async def get_decision(port: _Port, known: KnownDep, services: ServicesDep) -> DecisionAnswer:
    """What is advised for the link at a port, and why; it reserves nothing."""
    standing = await run_in_threadpool(services.desk.store.standing)
    judged = services.desk.judge(known, standing, port)
    run = known.snapshot.run
    if run is None:
        msg = "no run was applied yet"
        raise NoScoresError(msg)
    seen = known.sight.observed.at
    return DecisionAnswer.of(judged, port, scored_at=run.at, version=run.model_version, seen=seen)


@router.post(
    f"{_PATH}/lease", dependencies=[*_OPERATE, once()], responses=problem_responses(401, 403, 404, 422, 429, 503)
)
async def lease(
    port: _Port,
    body: LeaseRequest,
    known: KnownDep,
    services: ServicesDep,
    caller: CallerDep,
) -> LeaseAnswer:
    """Reserve the capacity that a drain takes: granted or refused, never both to two callers past the guard."""
    _, answer = await run_in_threadpool(services.desk.lease, known, port, caller.name, body.ttl_s)
    return LeaseAnswer.of(answer)


@router.post(
    f"{_PATH}/drained", dependencies=[*_OPERATE, once()], responses=problem_responses(401, 403, 404, 422, 429, 503)
)
async def drained(
    port: _Port,
    body: Report,
    known: ReportedDep,
    services: ServicesDep,
    caller: CallerDep,
) -> DrainAnswer:
    """The link carries no traffic any more; said of a link without a lease it counts as out all the same."""
    return DrainAnswer.of(await run_in_threadpool(services.desk.drained, known, port, caller.name, body.reason))


@router.post(
    f"{_PATH}/undrained", dependencies=[*_OPERATE, once()], responses=problem_responses(401, 403, 404, 422, 429, 503)
)
async def undrained(
    port: _Port,
    body: Undrained,
    known: ReportedDep,
    services: ServicesDep,
    caller: CallerDep,
) -> DrainAnswer:
    """The link is back in service; its capacity counts again when it is next seen up."""
    desk = services.desk
    return DrainAnswer.of(await run_in_threadpool(desk.undrained, known, port, caller.name, body.reason, body.actions))


@router.post(
    f"{_PATH}/verified", dependencies=[*_OPERATE, once()], responses=problem_responses(401, 403, 404, 422, 429, 503)
)
async def verified(
    port: _Port,
    body: Report,
    known: ReportedDep,
    services: ServicesDep,
    caller: CallerDep,
) -> Verified:
    """Whether the repair cured, by what both ends say since; `pending` until a day has passed without a flap."""
    return await run_in_threadpool(_verify, services, known, port, caller.name, body.reason)


@router.post(
    "/v1/leases/{drain_id}/release",
    dependencies=[*_OPERATE, Depends(no_query)],
    responses=problem_responses(401, 403, 404, 409, 422, 429, 503),
)
async def release(drain_id: Annotated[Name, Path()], services: ServicesDep, caller: CallerDep) -> DrainAnswer:
    """Give a lease back; only its holder can, and only before anything was drained."""
    return DrainAnswer.of(await run_in_threadpool(services.desk.release, drain_id, caller.name))


@router.get("/v1/decisions", dependencies=_READ, responses=problem_responses(401, 422, 429, 503))
async def list_decisions(query: Annotated[LogQuery, Query()], services: ServicesDep) -> LogAnswer:
    """What was advised, granted, refused and reported, the newest first; also what was not done."""
    engine, where = services.store.engine, query.filter()
    return LogAnswer.of(await run_in_threadpool(read_log, engine, where, cursor=query.cursor, limit=query.limit))


def _verify(services: ServicesDep, known: Known, port: Port, who: str, reason: str) -> Verified:
    desk = services.desk
    link = desk.link_at(known, port)
    drain = desk.store.last_drain(link.link_id)
    if drain is None or drain.state is not DrainState.UNDRAINED:
        msg = f"nobody told us that {link.link_id} came back from a drain"
        raise DrainNotFoundError(msg)
    types = desk.judge(known, desk.store.standing(), port).types
    after, found = verify_one(desk, services.lake, known, drain, services.clock(), who, reason)
    kinds = {FailureType(kind): p for kind, p in types.items() if p is not None}
    return Verified.of(after, found, next_action(kinds, after.actions) if after.verdict == "failed" else None)
