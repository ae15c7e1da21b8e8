"""Samples that hosts push."""

import asyncio
from typing import Final

from fastapi import APIRouter, Depends, Request

from serving.access.idempotency import KeyHeader
from serving.deps import ServicesDep, ingester, no_query
from serving.errors import IdempotencyError
from serving.samples.judging import judged
from serving.wire.problems import problem_responses
from serving.wire.samples import SampleRequest, SamplesTaken

__all__ = ["router"]

_TOLD: Final = 100
router = APIRouter(tags=["samples"], dependencies=[Depends(ingester), Depends(no_query)])


@router.post("/v1/samples", responses=problem_responses(400, 401, 403, 413, 415, 422, 429, 503))
async def post_samples(
    body: SampleRequest, request: Request, services: ServicesDep, key: KeyHeader = None
) -> SamplesTaken:
    """What a host read of its ports; answered when it is durably kept. The body may be gzip.

    The very same body, or the same `Idempotency-Key`, sent again is taken once. A reading that cannot be is left out
    and told; the others are kept.
    """
    request.state.caller.speaks_for(body.site, body.device)
    services.hosts.check(body.site, body.device)
    who, digest = request.state.caller.name, body.digest
    known = services.sent.get((who, key or digest))
    if known is not None and known[0] != digest:
        msg = f"the key {key!r} was given for other samples; each request has a key of its own"
        raise IdempotencyError(msg)
    if known is not None and isinstance(known[1], SamplesTaken):
        return known[1].model_copy(update={"new": False})
    now = services.clock()
    batch = await asyncio.to_thread(judged, body, now)
    await asyncio.wrap_future(services.intake.put(batch))
    taken = SamplesTaken(
        received_at=now,
        new=True,
        lane_samples=len(batch.lanes),
        port_samples=len(batch.ports),
        events=len(batch.events),
        refused=batch.refused[:_TOLD],
        refused_count=len(batch.refused),
    )
    request.app.state.metrics.took(batch)
    services.sent.keep((who, key or digest), (digest, taken))
    return taken
