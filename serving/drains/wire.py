"""Decisions, leases and reports as they go over the wire."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, StringConstraints

from ingest.schema import Action, FailureType
from models.actions import ranked
from serving.drains.advice import Advice, Mode
from serving.drains.fabric import LinkClass
from serving.drains.guard import Code, Refusal
from serving.drains.judged import Judged
from serving.drains.log import LogFilter, LogPage
from serving.drains.records import Drain, DrainState, Kind, Verdict
from serving.drains.verify import Verification
from serving.wire.base import Asked, Name, Said, Time
from serving.wire.transceivers import ActionStep

__all__ = [
    "DecisionAnswer",
    "DrainAnswer",
    "LeaseAnswer",
    "LeaseRequest",
    "LogAnswer",
    "LogQuery",
    "Report",
    "Undrained",
    "Verified",
]

_Text = Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]


class LeaseRequest(Asked):
    """How long the capacity is to be kept."""

    ttl_s: Annotated[float | None, Field(ge=60.0, le=86_400.0, allow_inf_nan=False)] = None


class Report(Asked):
    """Why, in the reporter's words."""

    reason: _Text = ""


class Undrained(Report):
    """What was done while the link was out."""

    actions: Annotated[tuple[Action, ...], Field(max_length=10)] = ()


class LogQuery(Asked):
    """Which entries of the log."""

    kind: Kind | None = None
    link_id: Annotated[str | None, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")] = None
    since: Annotated[Time | None, Field(description="Written at or after that time.")] = None
    cursor: Annotated[str | None, Field(max_length=1000, description="`next_cursor` of the answer before.")] = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100

    def filter(self) -> LogFilter:
        """The store's form of it."""
        return LogFilter(self.kind, self.link_id, self.since)


class DecisionAnswer(Said):
    """Advice on a link. `hold` and `unknown` ask for nothing to be done; neither is an all-clear."""

    scored_at: datetime
    model_version: str
    observed_at: Annotated[datetime, Field(description="Time the state of the links is as of.")]
    site: str
    device: str
    interface: str
    link_id: str
    link_class: Annotated[LinkClass, Field(description="`access` where a server is at one end.")]
    mode: Annotated[Mode, Field(description="In `shadow` no lease is given.")]
    decision: Advice
    code: Annotated[Code | None, Field(description="Why not more; a stable word.")]
    reason: str
    risk_24h: float | None
    costs_gpu_h: Annotated[dict[Advice, float], Field(description="Expected cost of what may be done.")]
    deadline: Annotated[datetime | None, Field(description="When the failure is expected at the earliest.")]
    action: Annotated[Action, Field(description="What to repair first.")]
    actions: list[ActionStep]
    affected_nodes: list[str]
    affected_links: Annotated[list[str], Field(description="All links that go out with this one.")]
    alarm_id: str | None

    @classmethod
    def of(
        cls, judged: Judged, port: tuple[str, str, str], *, scored_at: datetime, version: str, seen: datetime
    ) -> Self:
        """What was judged, as of which run and which state of the links."""
        site, device, interface = port
        now = judged.decision
        types = {FailureType(kind): p for kind, p in judged.types.items() if p is not None}
        return cls(
            scored_at=scored_at,
            model_version=version,
            observed_at=seen,
            site=site,
            device=device,
            interface=interface,
            link_id=judged.link.link_id,
            link_class=judged.link_class,
            mode=judged.mode,
            decision=now.advice,
            code=now.code,
            reason=now.why,
            risk_24h=now.risk_24h,
            costs_gpu_h=dict(now.costs_gpu_h),
            deadline=now.deadline,
            action=now.action,
            actions=[ActionStep(action=step.action, cures=step.cures, cost_h=step.cost_h) for step in ranked(types)],
            affected_nodes=list(judged.servers),
            affected_links=list(judged.links),
            alarm_id=None if judged.alarm is None else judged.alarm.alarm_id,
        )


class DrainAnswer(Said):
    """A lease, and the drain that it became."""

    drain_id: str
    link_id: str
    links: list[str]
    holder: str
    given: Annotated[bool, Field(description="False where somebody drained without a lease.")]
    state: DrainState
    granted_at: datetime
    expires_at: Annotated[datetime | None, Field(description="Drain before this, and report it; null once reported.")]
    ended_at: datetime | None
    actions: list[Action]
    verdict: Verdict | None

    @classmethod
    def of(cls, drain: Drain) -> Self:
        """The store's drain."""
        return cls(**{name: getattr(drain, name) for name in cls.model_fields})


class LeaseAnswer(Said):
    """Granted or refused: whoever is refused drains nothing."""

    granted: bool
    code: Annotated[Code | None, Field(description="Why not; a stable word.")]
    reason: str
    lease: DrainAnswer | None

    @classmethod
    def of(cls, answer: Drain | Refusal) -> Self:
        """What the desk answered."""
        if isinstance(answer, Refusal):
            return cls(granted=False, code=answer.code, reason=answer.why, lease=None)
        until = "" if answer.expires_at is None else f" until {answer.expires_at.isoformat(timespec='seconds')}"
        reason = f"reserved{until}: drain before that and report it"
        return cls(granted=True, code=None, reason=reason, lease=DrainAnswer.of(answer))


class Verified(Said):
    """What the network says of a repair."""

    verdict: Verdict
    findings: list[str]
    next_action: Annotated[Action | None, Field(description="What to try next, where the repair did not cure.")]
    drain: DrainAnswer

    @classmethod
    def of(cls, drain: Drain, found: Verification, next_action: Action | None) -> Self:
        """The verdict on a drain."""
        return cls(
            verdict=found.verdict, findings=list(found.findings), next_action=next_action, drain=DrainAnswer.of(drain)
        )


class LogEntry(Said):
    """What was decided, also where nothing was done."""

    decision_id: Annotated[int, Field(description="Rises with time.")]
    at: datetime
    kind: Kind
    outcome: str
    code: Code | None
    why: str
    who: str
    link_class: LinkClass | None
    mode: Mode | None
    site: Name | None
    device: str | None
    interface: str | None
    link_id: str | None
    alarm_id: str | None
    drain_id: str | None
    risk_24h: float | None


class LogAnswer(Said):
    """Entries, the newest first."""

    entries: list[LogEntry]
    next_cursor: Annotated[str | None, Field(description="Null on the last page.")]

    @classmethod
    def of(cls, page: LogPage) -> Self:
        """The store's page."""
        names = [name for name in LogEntry.model_fields if name != "decision_id"]
        entries = [
            LogEntry(decision_id=line.number, **{name: getattr(line.entry, name) for name in names})
            for line in page.lines
        ]
        return cls(entries=entries, next_cursor=page.next_cursor)
