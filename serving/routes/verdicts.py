"""Verdicts: is it the network, a host, congestion, or is the network innocent? And what the network gave."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query
from fastapi.concurrency import run_in_threadpool

from serving.deps import ServicesDep, once, reader
from serving.verdicts import answer, sla_answer
from serving.wire.problems import problem_responses
from serving.wire.sla import SlaAnswer, SlaQuery
from serving.wire.verdicts import VerdictAnswer, VerdictQuery

__all__ = ["router"]

router = APIRouter(tags=["verdicts"])
_AT_ONCE: Final = asyncio.Semaphore(1)  # each reads the probes of minutes: two would only wait for each other


@router.get(
    "/v1/verdict",
    dependencies=[Depends(reader), once("node")],
    responses=problem_responses(401, 404, 422, 429, 503),
)
async def get_verdict(query: Annotated[VerdictQuery, Query()], services: ServicesDep) -> VerdictAnswer:
    """The verdict on a link or a job, with its evidence, its power, and the layers that say nothing."""
    async with _AT_ONCE:
        return await run_in_threadpool(answer, services.lake, query.question(), services.clock(), query.job)


@router.get(
    "/v1/sla",
    dependencies=[Depends(reader), once()],
    responses=problem_responses(401, 422, 429, 503),
)
async def get_sla(query: Annotated[SlaQuery, Query()], services: ServicesDep) -> SlaAnswer:
    """Loss, round trips and processing of the newest closed windows, by ToR, pod and fleet, and what the map shows."""
    async with _AT_ONCE:
        return await run_in_threadpool(sla_answer, services.lake, query, services.clock())
