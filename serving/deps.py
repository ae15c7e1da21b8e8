"""What routes depend on, so that a route's signature reads as a sentence."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request, params

from ingest.lake import Lake
from serving.access.audit import audited
from serving.access.auth import Caller, TokenBook, allow
from serving.access.tokens import Scope
from serving.alarms import AlarmRecord, ScoreRun, fresh
from serving.drains.desk import Desk, Known
from serving.drains.sight import LatestSight
from serving.errors import QueryError
from serving.hot import Answers
from serving.samples.intake import Intake
from serving.samples.sent import Hosts, Sent
from serving.scoring.champion import Champion, Scorer
from serving.settings import Settings
from serving.snapshot import LatestScores, Snapshot
from serving.store import AlarmStore
from serving.wire.alarms import Alarm

__all__ = [
    "CallerDep",
    "FreshSnapshotDep",
    "KnownDep",
    "ReportedDep",
    "Services",
    "ServicesDep",
    "StoreDep",
    "ingester",
    "no_query",
    "once",
    "operator",
    "reader",
]


@dataclass(frozen=True, slots=True)
class Services:
    """Everything an application works with, in one value on its state.

    Attributes:
        book: of the valid tokens.
        open_reads: whether reading needs no token; true on loopback only.
        desk: advice, leases and reports.
        sight: the fabric and the state of its links.
        champion: the model in memory.
        scorer: scores what the lake does not know with it.
        intake: keeps samples that hosts push.
        answers: what was told before and may be still true.
        sent: samples that came lately.
        hosts: how often each may send.
    """

    settings: Settings
    lake: Lake
    store: AlarmStore
    scores: LatestScores
    clock: Callable[[], datetime]
    book: TokenBook
    open_reads: bool
    desk: Desk
    sight: LatestSight
    champion: Champion
    scorer: Scorer
    intake: Intake
    answers: Answers = field(default_factory=Answers)
    sent: Sent = field(default_factory=Sent)
    hosts: Hosts = field(default_factory=Hosts)

    def fresh(self, run: ScoreRun | None) -> ScoreRun:
        """The run, or an error where it is none to act on."""
        return fresh(run, now=self.clock(), stale_after_s=self.settings.stale_after_s)

    def alarm(self, record: AlarmRecord, servers: frozenset[tuple[str, str]]) -> Alarm:
        """An alarm as it goes over the wire."""
        return Alarm.of(record, servers, self.settings.no_act_share, self.settings.alarm_ttl_s)


async def _services(request: Request) -> Services:
    found = request.app.state.services
    assert isinstance(found, Services)  # noqa: S101 - create_app sets it
    return found


ServicesDep = Annotated[Services, Depends(_services)]


async def _store(services: ServicesDep) -> AlarmStore:
    return services.store


StoreDep = Annotated[AlarmStore, Depends(_store)]


async def _fresh_snapshot(services: ServicesDep) -> Snapshot:
    """The scores in memory; stale or missing ones end the request here."""
    snapshot = await services.scores.get()
    services.fresh(snapshot.run)
    return snapshot


async def _known(services: ServicesDep) -> Known:
    """Scores, alarms and the fabric as they are now; stale or missing scores end the request here."""
    snapshot = await services.scores.get()
    services.fresh(snapshot.run)
    return Known(snapshot, await services.sight.get())


async def _reported(services: ServicesDep) -> Known:
    """As `_known`, for reports: what was done is a fact, however old the scores are."""
    return Known(await services.scores.get(), await services.sight.get())


FreshSnapshotDep = Annotated[Snapshot, Depends(_fresh_snapshot)]
KnownDep = Annotated[Known, Depends(_known)]
ReportedDep = Annotated[Known, Depends(_reported)]


async def reader(request: Request, services: ServicesDep) -> None:
    """Anybody on loopback, and elsewhere who has a token."""
    if not services.open_reads:
        await allow(request.state.caller, Scope.READ, services.book)


async def operator(request: Request, services: ServicesDep) -> Caller:
    """Only who may change things goes on; that, and who did not, is noted in the audit log."""
    audited(request.state)
    return await allow(request.state.caller, Scope.OPERATE, services.book)


async def ingester(request: Request, services: ServicesDep) -> Caller:
    """Only who may push samples goes on; that comes every minute from every host, so it is not in the audit log."""
    return await allow(request.state.caller, Scope.INGEST, services.book)


CallerDep = Annotated[Caller, Depends(operator)]


async def no_query(request: Request) -> None:
    """A route without parameters refuses any."""
    if unknown := sorted(request.query_params.keys()):
        msg = f"there is no parameter {', '.join(repr(name) for name in unknown)} here"
        raise QueryError(msg)


def once(*repeatable: str) -> params.Depends:
    """A route whose parameters may be given once each, but for some: of two filters, one would be silently dropped."""

    async def given_once(request: Request) -> None:
        counts = Counter(name for name, _ in request.query_params.multi_items() if name not in repeatable)
        if twice := sorted(name for name, count in counts.items() if count > 1):
            msg = f"{', '.join(repr(name) for name in twice)} is given more than once: say one"
            raise QueryError(msg)

    return params.Depends(given_once)
