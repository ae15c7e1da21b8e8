"""The page about the fleet: heat by device and port, risk by part number and age, who reports, what fails."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from serving.deps import Services, ServicesDep, once
from serving.snapshot import Snapshot
from serving.web.fleet_view import DeviceRow, FleetView, fleet_view
from serving.web.pages import PageRoute, page
from serving.web.visit import VisitDep, freshness
from serving.wire.base import LONGEST_NAME

__all__ = ["FleetQuery", "Fleets", "router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_PORTS: Final = 2_500
"""Ports on a page: each is a link."""
_DEVICES: Final = 40
_SHOWN: Final = 40


class FleetQuery(BaseModel):
    """Which devices, and which page of them.

    Attributes:
        device: part of the name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    device: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    page: Annotated[int, Field(ge=1, le=100_000), BeforeValidator(lambda value: value or 1)] = 1


class Fleets:
    """The view of the fleet at the newest run, worked out once for all who look."""

    def __init__(self) -> None:
        self._view: FleetView | None = None
        self._lock = asyncio.Lock()

    async def get(self, services: Services, snapshot: Snapshot) -> FleetView:
        """Of this snapshot, or of the one before while that is worked out."""
        if self._view is None or (self._view.version != snapshot.version and not self._lock.locked()):
            async with self._lock:
                if self._view is None or self._view.version != snapshot.version:
                    self._view = await run_in_threadpool(fleet_view, services.lake, snapshot, services.clock())
        return self._view


@router.get("/fleet", dependencies=[once()])
async def fleet(
    request: Request, visit: VisitDep, services: ServicesDep, query: Annotated[FleetQuery, Query()]
) -> Response:
    """The whole fleet."""
    snapshot = await services.scores.get()
    fleets: Fleets = request.app.state.fleets
    view = await fleets.get(services, snapshot)
    named = [row for row in view.devices if query.device.lower() in row.device.lower()]
    pages = max(1, -(-len(named) // _DEVICES))
    shown = named[_DEVICES * (query.page - 1) : _DEVICES * query.page]
    fresh = freshness(services, snapshot)
    limit_s = services.settings.stale_after_s
    return page(
        "fleet",
        visit=visit,
        fresh=fresh,
        view=view,
        query=query,
        heat=_fitting(shown),
        devices=len(named),
        pages=pages,
        silent=view.silent[:_SHOWN],
        late=[row for row in view.devices if row.newest_at is None or _late(row, fresh.now, limit_s)][:_SHOWN],
        late_count=sum(row.newest_at is None or _late(row, fresh.now, limit_s) for row in view.devices),
        shown=_SHOWN,
    )


def _late(row: DeviceRow, now: object, limit_s: float) -> bool:
    return row.newest_at is None or abs((now - row.newest_at).total_seconds()) > limit_s  # type: ignore[operator]


def _fitting(rows: list[DeviceRow]) -> list[tuple[DeviceRow, int]]:
    """Each device with how many of its ports are shown: so many on a page at most."""
    left, found = _PORTS, []
    for row in rows:
        count = min(len(row.ports), left)
        left -= count
        found.append((row, count))
    return found
