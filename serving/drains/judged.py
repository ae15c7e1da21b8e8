"""What was judged of a link, and what follows of it: a lease or why not, and the line of the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

from serving.alarms import AlarmRecord
from serving.drains.advice import Advice, Decision, Mode
from serving.drains.fabric import Link, LinkClass, Port
from serving.drains.guard import Code, Refusal
from serving.drains.records import Drain, DrainState, Entry, Kind
from serving.drains.refusals import REFUSED
from serving.drains.store import Standing, Writing

__all__ = ["Judged", "advice_entry", "entry", "grant", "lease_entry", "refused", "unasked"]


@dataclass(frozen=True, slots=True)
class Judged:
    """The advice on one link.

    Attributes:
        links: all that go out with it.
        servers: at its ends.
        types: P(type, given failure) of the suspect end.
    """

    link: Link
    link_class: LinkClass
    mode: Mode
    links: tuple[str, ...]
    servers: Sequence[str]
    alarm: AlarmRecord | None
    types: Mapping[str, float]
    decision: Decision


def refused(judged: Judged) -> Refusal:
    """Why a lease is not given, where advice or mode stand against it."""
    decision = judged.decision
    if decision.advice is not Advice.DRAIN:
        return Refusal(decision.code or Code.ALARM, f"the advice is {decision.advice}: {decision.why}")
    return Refusal(Code.SHADOW, f"{judged.link_class} links are in shadow: what would be done is recorded only")


def grant(judged: Judged, port: Port, holder: str, ttl_s: float, standing: Standing) -> Drain | None:
    """The lease, where a drain is advised and the class is active."""
    if judged.decision.advice is not Advice.DRAIN or judged.mode is not Mode.ACTIVE:
        return None
    drain = unasked(judged, port, holder, standing)
    until = standing.now + timedelta(seconds=ttl_s)
    return replace(drain, given=True, state=DrainState.LEASED, expires_at=until)


def unasked(judged: Judged, port: Port, who: str, standing: Standing) -> Drain:
    """A drain that somebody began without a lease."""
    return Drain(
        drain_id=uuid4().hex,
        site=port[0],
        device=port[1],
        interface=port[2],
        link_id=judged.link.link_id,
        link_class=judged.link_class,
        links=judged.links,
        alarm_id=None if judged.alarm is None else judged.alarm.alarm_id,
        holder=who,
        given=False,
        state=DrainState.DRAINED,
        granted_at=standing.now,
        expires_at=None,
    )


def entry(writing: Writing, drain: Drain, kind: Kind, who: str, why: str) -> Entry:
    """The line on what was done to a drain."""
    return Entry(
        at=writing.now,
        kind=kind,
        outcome=drain.state,
        why=why,
        who=who,
        link_class=drain.link_class,
        site=drain.site,
        device=drain.device,
        interface=drain.interface,
        link_id=drain.link_id,
        alarm_id=drain.alarm_id,
        drain_id=drain.drain_id,
    )


def _judged(judged: Judged, port: Port, standing: Standing) -> dict[str, Any]:
    """What every entry on a judged link says."""
    site, device, interface = port
    return {
        "at": standing.now,
        "link_class": judged.link_class,
        "mode": judged.mode,
        "site": site,
        "device": device,
        "interface": interface,
        "link_id": judged.link.link_id,
        "alarm_id": None if judged.alarm is None else judged.alarm.alarm_id,
        "risk_24h": judged.decision.risk_24h,
    }


def advice_entry(judged: Judged, port: Port, who: str, standing: Standing) -> Entry:
    """The line on what is advised."""
    now = judged.decision
    told = {"kind": Kind.ADVICE, "outcome": now.advice, "why": now.why, "code": now.code, "who": who}
    return Entry(**_judged(judged, port, standing) | told)


def lease_entry(judged: Judged, port: Port, holder: str, answer: Drain | Refusal, standing: Standing) -> Entry:
    """The line on a lease that was asked for."""
    told: dict[str, Any] = {"kind": Kind.LEASE, "who": holder}
    if isinstance(answer, Refusal):
        told |= {"outcome": REFUSED, "code": answer.code, "why": answer.why}
    else:
        told |= {"outcome": "granted", "why": judged.decision.why, "drain_id": answer.drain_id}
    return Entry(**_judged(judged, port, standing) | told)
