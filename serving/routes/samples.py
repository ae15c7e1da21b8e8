"""Samples that hosts push."""

import asyncio
from functools import partial
from typing import Final

from fastapi import APIRouter, Depends, Request

from serving.access.idempotency import KeyHeader
from serving.deps import Services, ServicesDep, ingester, no_query
from serving.samples.judging import judged
from serving.samples.once import taken_once
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
    return await taken_once(request, services, body, key, SamplesTaken, partial(_take, body, request, services))


async def _take(body: SampleRequest, request: Request, services: Services) -> SamplesTaken:
    now = services.clock()
    batch = await asyncio.to_thread(judged, body, now)
    await asyncio.wrap_future(services.intake.put(batch))
    request.app.state.metrics.took(batch)
    return SamplesTaken(
        received_at=now,
        new=True,
        lane_samples=len(batch.lanes),
        port_samples=len(batch.ports),
        events=len(batch.events),
        refused=batch.refused[:_TOLD],
        refused_count=len(batch.refused),
    )
