"""Tonight: what will fail, how soon, where and why, and what is advised; beside it what all that rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, BeforeValidator, ConfigDict

from ingest.schema import FailureType
from serving.alarms import AlarmRecord, Level, Status, Suspect
from serving.deps import Services, ServicesDep, once
from serving.drains.desk import Known
from serving.drains.judged import Judged
from serving.drains.sight import Sight
from serving.errors import LinkNotFoundError, ProblemError
from serving.snapshot import Snapshot
from serving.web.guard_state import guard_state
from serving.web.model_book import ModelBook
from serving.web.pages import PageRoute, page
from serving.web.scorecards import honest
from serving.web.visit import VisitDep, freshness
from serving.wire.alarms import Alarm
from serving.wire.base import Name, Risk

__all__ = ["Shown", "TonightQuery", "router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_MOST: Final = 50
"""Alarms on a page: advice on each is worked out for it."""
_LAST: Final = datetime.max.replace(tzinfo=UTC)


def _blank(value: object) -> object:
    """A field of a form that was left empty does not filter."""
    return None if value == "" else value


_Blank = BeforeValidator(_blank)


class TonightQuery(BaseModel):
    """Filters, as the form puts them into the address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Annotated[Level | None, _Blank] = None
    failure_type: Annotated[FailureType | None, _Blank] = None
    status: Annotated[Status | None, _Blank] = None
    site: Annotated[Name | None, _Blank] = None
    device: Annotated[Name | None, _Blank] = None
    min_risk: Annotated[Risk | None, _Blank] = None

    def passes(self, alarm: AlarmRecord) -> bool:
        """Whether an alarm is asked for; a device is at either end."""
        same = ("level", "failure_type", "status", "site")
        if any((asked := getattr(self, name)) is not None and getattr(alarm, name) != asked for name in same):
            return False
        if self.device is not None and self.device not in {alarm.device, alarm.peer_device}:
            return False
        return self.min_risk is None or (alarm.risk_24h is not None and alarm.risk_24h >= self.min_risk)


@dataclass(frozen=True, slots=True)
class Shown:
    """An alarm as the page shows it.

    Attributes:
        record: the alarm.
        alarm: as the API tells it.
        judged: advice on its link; None where there is none.
        unadvised: why there is none.
    """

    record: AlarmRecord
    alarm: Alarm
    judged: Judged | None
    unadvised: str

    @property
    def where(self) -> str:
        """What is suspected, in words."""
        a = self.record
        if a.suspect is Suspect.MODULE:
            return f"module at {a.device} {a.interface}"
        return "fibre or connector" if a.suspect is Suspect.FIBER else "module or fibre: not known"


@router.get("/", dependencies=[once()])
async def tonight(
    request: Request, visit: VisitDep, services: ServicesDep, query: Annotated[TonightQuery, Query()]
) -> Response:
    """Open alarms by urgency."""
    snapshot = await services.scores.get()
    sight, unseen = await _sight(services)
    chosen = sorted((alarm for alarm in snapshot.standing.values() if query.passes(alarm)), key=_urgency)
    shown, guard = await run_in_threadpool(_shown, services, snapshot, sight, unseen, chosen[:_MOST])
    book: ModelBook = request.app.state.model_book
    models = await book.get()
    return page(
        "tonight",
        visit=visit,
        fresh=freshness(services, snapshot),
        shown=shown,
        left_out=len(chosen) - len(shown),
        standing=len(snapshot.standing),
        query=query,
        filtered=bool(query.model_dump(exclude_none=True)),
        options={"level": list(Level), "failure_type": list(FailureType), "status": _STANDING},
        guard=guard,
        unseen=unseen,
        card=honest(models),
        models=models,
    )


_STANDING: Final = (Status.OPEN, Status.ACKED, Status.SUPPRESSED)


def _urgency(alarm: AlarmRecord) -> tuple[object, ...]:
    """What somebody suppressed comes last; else what a drain may rest on, then what is expected soonest."""
    return (
        alarm.status is Status.SUPPRESSED,
        alarm.level is not Level.ACT,
        alarm.expected_from or _LAST,
        -(alarm.risk_24h or 0.0),
        alarm.alarm_id,
    )


async def _sight(services: Services) -> tuple[Sight | None, str]:
    """The fabric, or why it cannot be seen."""
    try:
        return await services.sight.get(), ""
    except ProblemError as error:
        return None, str(error)


def _shown(
    services: Services, snapshot: Snapshot, sight: Sight | None, unseen: str, alarms: Sequence[AlarmRecord]
) -> tuple[list[Shown], object]:
    """Each alarm with the advice of now, and the state of the guard."""
    standing = services.desk.store.standing()
    shown = []
    for record in alarms:
        judged, why = None, unseen
        if sight is not None:
            port = (record.site, record.device, record.interface)
            try:
                judged = services.desk.judge(Known(snapshot, sight), standing, port)
            except LinkNotFoundError as error:
                why = str(error)
        shown.append(Shown(record, services.alarm(record, snapshot.servers), judged, why))
    return shown, guard_state(services.desk.config.guard, standing, sight, services.clock())
