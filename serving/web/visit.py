"""Who looks at a page, how fresh what it shows is, and what a form must bring to be believed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from fastapi import Depends, Request

from serving.access.audit import audited
from serving.access.auth import Caller, allow
from serving.access.tokens import Scope
from serving.alarms import ScoreRun
from serving.deps import Services, ServicesDep
from serving.errors import NoScoresError, StaleScoresError
from serving.snapshot import Snapshot
from serving.web.session import COOKIE, FormError, Sessions, same_origin

__all__ = ["Freshness", "SessionsDep", "Visit", "VisitDep", "freshness", "operator"]

_UNHEARD_S: Final = 60.0
"""The store says once a second what is new; silent for longer, an alarm may have been raised since."""


async def _sessions(request: Request) -> Sessions:
    found = request.app.state.sessions
    assert isinstance(found, Sessions)  # noqa: S101 - create_app sets it
    return found


SessionsDep = Annotated[Sessions, Depends(_sessions)]


@dataclass(frozen=True, slots=True)
class Visit:
    """Who looks at a page.

    Attributes:
        caller: whoever signed in, or presented a token; None where nobody did.
        form_key: for the forms of the page; empty where nobody signed in.
        path: of the page, where a form leads back to.
    """

    caller: Caller | None
    form_key: str
    path: str

    @property
    def may_change(self) -> bool:
        """Whether forms are shown."""
        return bool(self.form_key) and self.caller is not None and self.caller.scope.allows(Scope.OPERATE)


async def _visit(request: Request, services: ServicesDep, sessions: SessionsDep) -> Visit:
    """Anybody on loopback; elsewhere who has signed in. The same as for the API."""
    caller, key = request.state.caller, ""
    cookie = request.cookies.get(COOKIE, "")
    if not isinstance(caller, Caller) and cookie:
        caller = await sessions.caller(cookie) or caller
        key = sessions.form_key(cookie) if isinstance(caller, Caller) else ""
    if not services.open_reads:
        await allow(caller, Scope.READ, services.book)
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return Visit(caller if isinstance(caller, Caller) else None, key, path)


async def operator(request: Request, services: Services, sessions: Sessions, form_key: str) -> Caller:
    """Only who signed in with the scope, by a form of a page of ours, goes on; the audit log has it either way.

    Raises:
        TokenError: nobody has signed in.
        ScopeError: the token allows less.
        OperatorError: there is no token at all.
        FormError: the form came from elsewhere.
    """
    audited(request.state)
    cookie = request.cookies.get(COOKIE, "")
    caller = await allow(await sessions.caller(cookie) if cookie else None, Scope.OPERATE, services.book)
    request.state.caller = caller  # the audit log names it
    if not same_origin(request) or not sessions.is_form_of(cookie, form_key):
        msg = "the form did not come from a page of this session: open the page again"
        raise FormError(msg)
    return caller


VisitDep = Annotated[Visit, Depends(_visit)]


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old what a page shows is.

    Attributes:
        run: the latest; None where there was none.
        stale: why its scores are none to act on; empty where they are fresh.
        now: when the page was made.
        data_old: whether the newest reading was too old when it was scored.
    """

    run: ScoreRun | None
    stale: str
    now: datetime
    data_old: bool


def freshness(services: Services, snapshot: Snapshot) -> Freshness:
    """By the same limit as the API, which answers 503 beyond it; so does the age of what is in memory."""
    run, stale = snapshot.run, ""
    try:
        services.fresh(run)
    except (NoScoresError, StaleScoresError) as error:
        stale = str(error)
    limit, silent_s = services.settings.stale_after_s, services.scores.age_s
    if not stale and silent_s > _UNHEARD_S:
        stale = f"the alarm store has not answered for {silent_s:.0f} s: alarms raised since are not here"
    old = run is not None and (run.newest_data_at is None or (run.at - run.newest_data_at).total_seconds() > limit)
    return Freshness(run, stale, services.clock(), old)
