"""What to do about a link: the cheapest of what may be done, by expected cost.

Doing nothing costs a failure's damage by its chance. Draining costs the same whether the link would have failed or not,
which is what a false alarm costs. A drain may rest on an alarm of level ``act`` only, and needs the guard's consent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from ingest.schema import Action
from serving.alarms import AlarmRecord, Level, Status
from serving.drains.config import Cost
from serving.drains.fabric import LinkClass
from serving.drains.guard import Code, Refusal

__all__ = ["STOPS_ALL", "Advice", "Case", "Decision", "Mode", "advise"]


class Advice(StrEnum):
    """What is advised for a link."""

    DRAIN = "drain"
    NO_NEW_JOBS = "no_new_jobs"
    COST_OUT = "cost_out"
    HOLD = "hold"
    OBSERVE = "observe"
    UNKNOWN = "unknown"


class Mode(StrEnum):
    """Whether leases are given for a class of links: ``shadow`` records what would have been done."""

    SHADOW = "shadow"
    ACTIVE = "active"


@dataclass(frozen=True, slots=True)
class Case:
    """All that advice on one link rests on.

    Attributes:
        link_class: access where a server is at one end.
        scores: the latest scores of its ends; empty where there are none.
        alarm: that stands on it.
        alone: the alarm is one of those left alone at random.
        refusal: what the guard has against taking the link out.
        cost: of its class.
    """

    link_class: LinkClass
    scores: Sequence[Mapping[str, Any]]
    alarm: AlarmRecord | None
    alone: bool
    refusal: Refusal | None
    cost: Cost


@dataclass(frozen=True, slots=True)
class Decision:
    """The advice, with its reason.

    Attributes:
        advice: what to do.
        why: in an operator's words.
        code: why not more; stable words for automation.
        risk_24h: P(failure within 24 h) that it rests on.
        costs_gpu_h: expected cost of each of the things that may be done.
        deadline: when the failure is expected at the earliest: done by then, it is done in time.
        action: what to repair first.
    """

    advice: Advice
    why: str
    code: Code | None = None
    risk_24h: float | None = None
    costs_gpu_h: Mapping[Advice, float] = field(default_factory=dict)
    deadline: datetime | None = None
    action: Action = Action.NONE


STOPS_ALL = frozenset({Code.STOPPED, Code.EXCLUDED, Code.STALE})
"""Refusals that stand against moving traffic at all, not only against losing the link's capacity."""


def advise(case: Case) -> Decision:
    """The cheapest thing that may be done."""
    risks = [
        score["risk_24h"] for score in case.scores if score["status"] == "scored" and score["risk_24h"] is not None
    ]
    if not risks:
        reasons = [reason for score in case.scores for reason in score["reasons"] or ()]
        why = "; ".join(dict.fromkeys(reasons)) or "the latest run has no score of either end"
        return Decision(Advice.UNKNOWN, f"{why}; not known is not healthy")
    alarm = case.alarm
    risk = max(risks) if alarm is None or alarm.risk_24h is None else max(alarm.risk_24h, *risks)
    costs = _costs(case.link_class, case.cost, risk)
    if alarm is None:
        return Decision(Advice.OBSERVE, "no alarm stands on it", risk_24h=risk, costs_gpu_h=costs)
    told = {"risk_24h": risk, "costs_gpu_h": costs, "deadline": alarm.expected_from, "action": alarm.action}
    return _weighed(case, alarm, costs, told)


def _costs(kind: LinkClass, cost: Cost, risk: float) -> dict[Advice, float]:
    nothing = risk * cost.failure
    if kind is LinkClass.ACCESS:
        return {Advice.OBSERVE: nothing, Advice.NO_NEW_JOBS: cost.drain}
    aside = cost.cost_out + risk * cost.failure * cost.kept
    return {Advice.OBSERVE: nothing, Advice.COST_OUT: aside, Advice.DRAIN: cost.drain}


def _weighed(case: Case, alarm: AlarmRecord, costs: Mapping[Advice, float], told: dict[str, Any]) -> Decision:
    may = {advice: c for advice, c in costs.items() if advice is not Advice.DRAIN or alarm.level is Level.ACT}
    best = min(may, key=lambda advice: may[advice])
    saved = f"it costs {may[best]:.2g} GPU hours, waiting {costs[Advice.OBSERVE]:.2g} in the mean"
    if best is Advice.OBSERVE:
        return Decision(best, "nothing that may be done costs less than waiting", **told)
    if alarm.status is Status.SUPPRESSED:
        return Decision(Advice.HOLD, "somebody suppressed the alarm", Code.ALARM, **told)
    if case.alone:
        return Decision(Advice.HOLD, "left alone at random: what comes of it is a label", Code.ALARM, **told)
    against = case.refusal
    if against is not None and (best is Advice.DRAIN or against.code in STOPS_ALL):
        return Decision(Advice.HOLD, f"{best.replace('_', ' ')}, but {against.why}", against.code, **told)
    return Decision(best, saved, **told)
