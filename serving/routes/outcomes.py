"""Outcomes: tickets and repairs, posted into the lake's tables."""

from datetime import datetime
from typing import Final

import polars as pl
from fastapi import APIRouter, Depends
from fastapi.concurrency import run_in_threadpool

from features.fleet import polars_schema
from ingest.schema import REPAIRS, TICKETS, Table
from serving.confirming import confirm
from serving.deps import Services, ServicesDep, no_query, operator
from serving.wire.outcomes import Outcome, Repair, Taken, Ticket
from serving.wire.problems import problem_responses

__all__ = ["router"]

_REFUSALS: Final = problem_responses(401, 403, 422, 429, 503)
router = APIRouter(tags=["outcomes"], dependencies=[Depends(operator), Depends(no_query)])


@router.post("/v1/tickets", responses=_REFUSALS)
async def post_ticket(body: Ticket, services: ServicesDep) -> Taken:
    """A ticket, or a later version of one; alarms whose failure it has found are confirmed."""
    return await run_in_threadpool(_taken, services, TICKETS, body, services.clock())


@router.post("/v1/repairs", responses=_REFUSALS)
async def post_repair(body: Repair, services: ServicesDep) -> Taken:
    """A step of a repair, or a later version of it."""
    return await run_in_threadpool(_taken, services, REPAIRS, body, services.clock())


def _taken(services: Services, table: Table, body: Outcome, now: datetime) -> Taken:
    new = not services.lake.has_transaction(table, body.transaction)
    if new:
        row = body.model_dump() | {"received_at": now}
        frame = pl.DataFrame([row], schema=polars_schema(table), orient="row")
        services.lake.append(table, frame, transaction=body.transaction)
    confirmed = confirm(services.store, services.lake, now) if table is TICKETS else 0
    services.scores.forget()
    return Taken(ticket_id=body.ticket_id, received_at=now, new=new, confirmed=confirmed)
