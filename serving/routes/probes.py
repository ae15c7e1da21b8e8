"""Rows that probe agents push, and what they are told to do."""

import asyncio
from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from serving.access.auth import Caller
from serving.access.idempotency import KeyHeader
from serving.deps import Services, ServicesDep, ingester, no_query, once
from serving.pinglists import PinglistStore
from serving.samples.once import taken_once
from serving.samples.probes import judged_probes
from serving.wire.base import matches
from serving.wire.pinglists import Pinglist, PinglistQuery
from serving.wire.probes import ProbeRequest, ProbesTaken
from serving.wire.problems import problem_responses

__all__ = ["router"]

_TOLD: Final = 100
router = APIRouter(tags=["probes"])


@router.get(
    "/v1/probes/pinglist",
    dependencies=[once()],
    response_model=Pinglist,
    responses=problem_responses(401, 403, 404, 422, 429, 503) | {304: {"description": "It is as it was."}},
)
async def get_pinglist(
    query: Annotated[PinglistQuery, Query()],
    caller: Annotated[Caller, Depends(ingester)],
    services: ServicesDep,
    if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
) -> Response:
    """What a host's probe agent shall do, as `forelight probe controller` planned; nothing while all are stopped.

    It holds the key of the probes: only the host's own token opens it, or one of no host.
    """
    caller.speaks_for(query.site, query.device)
    kept = await run_in_threadpool(PinglistStore(services.store.engine).get, query.site, query.device)
    headers = {"ETag": kept.etag, "Cache-Control": "no-cache, private"}
    if matches(if_none_match, kept.etag):
        return Response(status_code=304, headers=headers)
    return Response(kept.body, media_type="application/json", headers=headers)


@router.post(
    "/v1/probes",
    dependencies=[Depends(ingester), Depends(no_query)],
    responses=problem_responses(400, 401, 403, 413, 415, 422, 429, 503),
)
async def post_probes(
    body: ProbeRequest, request: Request, services: ServicesDep, key: KeyHeader = None
) -> ProbesTaken:
    """What a host's probe agent saw in closed windows; answered when it is durably kept. The body may be gzip.

    The very same body, or the same `Idempotency-Key`, sent again is taken once. A row that cannot be is left out and
    told; the others are kept.
    """
    return await taken_once(request, services, body, key, ProbesTaken, partial(_take, body, services))


async def _take(body: ProbeRequest, services: Services) -> ProbesTaken:
    now = services.clock()
    batch, refused = await asyncio.to_thread(judged_probes, body, now)
    await asyncio.wrap_future(services.intake.put(batch))
    return ProbesTaken(
        received_at=now,
        new=True,
        probes=len(batch.probes),
        paths=len(batch.paths),
        refused=refused[:_TOLD],
        refused_count=len(refused),
    )
