"""Steps of an alarm's life that somebody takes on a page: the same as by the API, under the same locks and log."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Form, Response
from fastapi import Request as HttpRequest
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from serving.access.idempotency import Answer, Request
from serving.alarms import AlarmRecord, ScoreRun, Status
from serving.deps import ServicesDep
from serving.steps import Step, take
from serving.web.pages import HEADERS, PageRoute
from serving.web.signing import back
from serving.web.visit import SessionsDep, operator
from serving.wire.base import LONGEST_NAME

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)
_TO: Final = {"ack": Status.ACKED, "clear": Status.CLEARED, "suppress": Status.SUPPRESSED, "reopen": Status.OPEN}
_SEE_OTHER: Final = 303
_NO_NUL: Final = r"^[^\x00]*$"


class StepForm(BaseModel):
    """What the form on a page sends.

    Attributes:
        revision: of the alarm as the page showed it.
        hours: how long it is suppressed.
        path: of the page.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    alarm_id: Annotated[str, StringConstraints(max_length=LONGEST_NAME, pattern=_NO_NUL)]
    to: Literal["ack", "clear", "suppress", "reopen"]
    revision: Annotated[int, Field(ge=0)]
    reason: Annotated[str, StringConstraints(max_length=500, pattern=_NO_NUL, strip_whitespace=True)] = ""
    hours: Annotated[int, Field(ge=1, le=2160)] = 24
    path: Annotated[str, Field(max_length=2000)] = "/"
    form_key: Annotated[str, Field(max_length=200)] = ""


@router.post("/alarm")
async def step(
    request: HttpRequest, services: ServicesDep, sessions: SessionsDep, form: Annotated[StepForm, Form()]
) -> Response:
    """Take it, unless the alarm has changed since the page showed it; then back to where it says what is so now."""
    caller = await operator(request, services, sessions, form.form_key)
    until = services.clock() + timedelta(hours=form.hours) if form.to == "suppress" else None
    seen = f'"{form.revision}."'
    asked = Step(alarm_id=form.alarm_id, to=_TO[form.to], why=form.reason, until=until, if_match=seen)
    await run_in_threadpool(take, services.store, asked, Request(caller.name, None, "/alarm", ""), _nothing)
    services.scores.forget()
    return RedirectResponse(f"{back(form.path)}#now", _SEE_OTHER, dict(HEADERS))


def _nothing(_record: AlarmRecord, _run: ScoreRun | None) -> Answer:
    """A form is answered with its page, not with a body."""
    return Answer("")
