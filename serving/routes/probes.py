"""Rows that probe agents push."""

import asyncio
from functools import partial
from typing import Final

from fastapi import APIRouter, Depends, Request

from serving.access.idempotency import KeyHeader
from serving.deps import Services, ServicesDep, ingester, no_query
from serving.samples.once import taken_once
from serving.samples.probes import judged_probes
from serving.wire.probes import ProbeRequest, ProbesTaken
from serving.wire.problems import problem_responses

__all__ = ["router"]

_TOLD: Final = 100
router = APIRouter(tags=["probes"], dependencies=[Depends(ingester), Depends(no_query)])


@router.post("/v1/probes", responses=problem_responses(400, 401, 403, 413, 415, 422, 429, 503))
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
