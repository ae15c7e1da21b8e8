"""Storms: which alarms were held back, and why."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.concurrency import run_in_threadpool

from serving.deps import ServicesDep, once, reader
from serving.storms import read_storms
from serving.wire.problems import problem_responses
from serving.wire.storms import StormQuery, Storms

__all__ = ["router"]

router = APIRouter(tags=["alarms"])


@router.get("/v1/storms", dependencies=[Depends(reader), once()], responses=problem_responses(401, 422, 429, 503))
async def list_storms(query: Annotated[StormQuery, Query()], services: ServicesDep) -> Storms:
    """Alarms that runs held back because too many came up on one device at once, the newest run first.

    They are what was so when they were held back: no scores of now, so they are told however old they are.
    """
    engine, where = services.store.engine, query.filter()
    return Storms.of(await run_in_threadpool(read_storms, engine, where, cursor=query.cursor, limit=query.limit))
