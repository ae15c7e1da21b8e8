"""The page about a link: both ends side by side, readings and risk over a window, why, history, what may be done."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field

from diagnosis.reading import Question
from ingest.lake import Lake
from serving.alarms import Status
from serving.deps import Services, ServicesDep, once
from serving.drains.sight import Sight
from serving.errors import LinkNotFoundError, OverloadedError, ProblemError
from serving.verdicts import answer
from serving.web.fault_unit import FaultUnit, fault_unit
from serving.web.link_history import History, Past, history
from serving.web.link_plots import Plot, end_plots
from serving.web.link_risk import risk_plots
from serving.web.pages import PageRoute, page
from serving.web.visit import VisitDep, freshness
from serving.wire.base import Name, Time
from serving.wire.verdicts import VerdictAnswer

__all__ = ["LinkQuery", "PortQuery", "router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_READERS: Final = asyncio.Semaphore(2)
"""Pages that read the lake at once: each may read days of two devices."""
_WAITS_S: Final = 20.0
_WINDOWS: Final = 5
"""Of probes, looked at together: fewer than where one asks for a verdict alone, for the page's sake."""
_STEPS: Final = {
    Status.OPEN: ("ack", "suppress", "clear"),
    Status.ACKED: ("suppress", "clear"),
    Status.SUPPRESSED: ("reopen", "ack", "clear"),
}
_SAID: Final = {"ack": "Acknowledge", "suppress": "Suppress", "clear": "Clear", "reopen": "Open again"}


class LinkQuery(BaseModel):
    """Which site, and which window.

    Attributes:
        days: how long the window is.
        until: its end; now where not given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    site: Name = "default"
    days: Literal["1", "3", "7", "30"] = "7"
    until: Annotated[Time | None, Field(description="With its zone.")] = None


class PortQuery(LinkQuery):
    """The same of a port that is named in the query: where a device has a slash in its name, a path cannot hold it."""

    device: Name
    interface: Name


@dataclass(frozen=True, slots=True)
class _Read:
    """What the lake and the store say."""

    unit: FaultUnit
    history: History
    plots: tuple[tuple[Plot, ...], ...]
    risks: tuple[Plot, ...]
    verdict: VerdictAnswer | None


@router.get("/link", dependencies=[once()])
async def link_by_query(visit: VisitDep, services: ServicesDep, query: Annotated[PortQuery, Query()]) -> Response:
    """All that is known of the link at a port."""
    return await link(query.device, query.interface, visit, services, query)


@router.get("/link/{device}/{interface:path}", dependencies=[once()])
async def link(
    device: Annotated[Name, Path()],
    interface: Annotated[Name, Path()],
    visit: VisitDep,
    services: ServicesDep,
    query: Annotated[LinkQuery, Query()],
) -> Response:
    """All that is known of the link at a port."""
    snapshot = await services.scores.get()
    sight, unseen = await _sight(services)
    port = (query.site, device, interface)
    end = query.until or services.clock()
    span = (end - timedelta(days=int(query.days)), end)
    try:
        await asyncio.wait_for(_READERS.acquire(), _WAITS_S)
    except TimeoutError:
        msg = "too many pages are being read from the lake at once: open it again in a moment"
        raise OverloadedError(msg) from None
    try:
        unit = await run_in_threadpool(fault_unit, services, snapshot, sight, unseen, port)
        read = await run_in_threadpool(_read, services, unit, span)
    finally:
        _READERS.release()
    alarm = read.unit.alarm
    return page(
        "link",
        visit=visit,
        fresh=freshness(services, snapshot),
        port=port,
        unit=read.unit,
        history=read.history,
        plots=_side_by_side(read.plots),
        risks=read.risks,
        verdict=read.verdict,
        query=query,
        span=span,
        windows=("1", "3", "7", "30"),
        steps=[(step, _SAID[step]) for step in _STEPS.get(alarm.status, ())] if alarm is not None else [],
        fibre=None if sight is None or read.unit.link_id is None else sight.fabric.links[read.unit.link_id],
    )


async def _sight(services: Services) -> tuple[Sight | None, str]:
    try:
        return await services.sight.get(), ""
    except ProblemError as error:
        return None, str(error)


def _read(services: Services, unit: FaultUnit, span: tuple[datetime, datetime]) -> _Read:
    cages = list(dict.fromkeys(end.cage for end in unit.ends))
    ports = list(dict.fromkeys((*cages, *(end.port for end in unit.ends))))
    lake = services.lake
    past = history(Past(lake, services.store, services.desk.store, services.clock()), ports, unit.link_id)
    plots = tuple(end_plots(lake, cage, past.modules.get(cage, {}), span, past.marks) for cage in cages)
    return _Read(unit, past, plots, risk_plots(lake, ports, span, past.marks), _verdict(lake, ports[0], span[1]))


def _verdict(lake: Lake, port: tuple[str, str, str], at: datetime) -> VerdictAnswer | None:
    """What probes and both ends say of the network; None where no link is known at the port."""
    try:
        return answer(lake, Question(ports=(port,), windows=_WINDOWS), at)
    except LinkNotFoundError:
        return None


def _side_by_side(plots: Sequence[Sequence[Plot]]) -> list[tuple[str, list[Plot]]]:
    """By quantity: the plots of both ends."""
    titles = dict.fromkeys(plot.title for one in plots for plot in one)
    return [(title, [plot for one in plots for plot in one if plot.title == title]) for title in titles]
