"""A fault unit as its page shows it: the link at a port with both ends, and all links that share a cage with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from features.told import told
from ingest.schema import FailureType
from models.actions import Step, ranked
from models.base import HORIZONS_H
from serving.alarms import AlarmRecord
from serving.deps import Services
from serving.drains.desk import Known
from serving.drains.fabric import Port
from serving.drains.judged import Judged
from serving.drains.sight import Sight
from serving.errors import LinkNotFoundError, TransceiverNotFoundError
from serving.snapshot import Snapshot

__all__ = ["End", "FaultUnit", "Shown", "Sibling", "fault_unit"]

_SILENT: Final = "the latest run has no score of it"


@dataclass(frozen=True, slots=True)
class End:
    """One end of the link.

    Attributes:
        port: as the link names it; `cage` is where its module is, the same but for breakouts.
        score: of the latest run; None where there is none.
        state: what is known of it, in words.
        newest_at: of its newest reading that was used.
    """

    port: Port
    cage: Port
    score: Mapping[str, Any] | None
    state: str
    newest_at: datetime | None

    @property
    def name(self) -> str:
        """Device and interface."""
        return f"{self.port[1]} {self.port[2]}"


@dataclass(frozen=True, slots=True)
class Sibling:
    """A link that shares a cage with the page's own."""

    link_id: str
    ends: tuple[Port, Port]
    risk_24h: float | None
    alarm: AlarmRecord | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A feature behind a reason.

    Attributes:
        column: its name in docs/features.md.
        what, value: what it measures, and its value with the unit.
        where: at which end.
        odds: of a failure, as a multiple of those without it.
    """

    column: str
    what: str
    value: str
    where: str
    odds: float


@dataclass(frozen=True, slots=True)
class FaultUnit:
    """What the page is about.

    Attributes:
        link_id: None where no link is known at the port.
        ends: the end that was asked for first; one where no other is known.
        siblings: links of the same cages, the page's own among them; empty where it is alone there.
        alarm: that stands on the link.
        judged: advice of now; None where there is none, for the reason `unadvised`.
        risks: by horizon in hours, of the link; None where it could not be scored.
        types: P(type, given failure), the most probable first.
        actions: what to try in turn.
        reasons: why, in words.
        evidence: the features behind each reason, as far as the latest run says them.
    """

    link_id: str | None
    ends: tuple[End, ...]
    siblings: tuple[Sibling, ...]
    alarm: AlarmRecord | None
    judged: Judged | None
    unadvised: str
    risks: Mapping[int, float | None]
    types: Sequence[tuple[str, float]]
    actions: tuple[Step, ...]
    reasons: tuple[str, ...]
    evidence: Mapping[str, Sequence["Shown"]]


def fault_unit(services: Services, snapshot: Snapshot, sight: Sight | None, unseen: str, port: Port) -> FaultUnit:
    """All that is known of the link at a port now.

    Raises:
        TransceiverNotFoundError: nobody knows the port.
    """
    judged, why, ports = None, unseen, [port]
    siblings: tuple[Sibling, ...] = ()
    if sight is not None:
        known = Known(snapshot, sight)
        try:
            judged = services.desk.judge(known, services.desk.store.standing(), port)
        except LinkNotFoundError as error:
            why = str(error)
        else:
            ports = sorted(judged.link.ends, key=lambda end: end != port and sight.fabric.cages[end] != port)
            siblings = _siblings(snapshot, sight, ports)
    ends = tuple(_end(snapshot, sight, each) for each in _with_peer(snapshot, ports))
    alarm = next((found for end in ends for at in (end.port, end.cage) if (found := snapshot.alarms.get(at))), None)
    if judged is None and alarm is None and all(end.score is None for end in ends):
        msg = f"nothing is known of {port[2]} on {port[1]} at site {port[0]}: check the names"
        raise TransceiverNotFoundError(msg)
    scores = [end.score for end in ends if end.score is not None and end.score["status"] == "scored"]
    types = _types(scores)
    said = [reason for score in scores for reason in score["reasons"] or ()]
    return FaultUnit(
        link_id=None if judged is None else judged.link.link_id,
        ends=ends,
        siblings=siblings,
        alarm=alarm,
        judged=judged,
        unadvised=why,
        risks={hours: _most(scores, f"risk_{hours}h") for hours in HORIZONS_H},
        types=[(str(kind), p) for kind, p in sorted(types.items(), key=lambda pair: -pair[1])],
        actions=ranked(types),
        reasons=tuple(dict.fromkeys((*(() if alarm is None else alarm.reasons), *said))),
        evidence=_evidence(ends),
    )


def _evidence(ends: Sequence[End]) -> dict[str, list[Shown]]:
    """Of the first end that has any: both are told the same."""
    found: dict[str, list[Shown]] = {}
    for i, end in enumerate(ends):
        where = {"near": end.name, "far": ends[1 - i].name if len(ends) > 1 else "the far end", "both": "both ends"}
        for one in () if end.score is None else end.score["evidence"] or ():
            shown = Shown(one["feature"], *told(one["feature"], one["value"]), where[one["end"]], one["odds"])
            found.setdefault(one["cause"], []).append(shown)
        if found:
            break
    return found


def _with_peer(snapshot: Snapshot, ports: Sequence[Port]) -> Sequence[Port]:
    """Where the fabric knows no link, the other end as the score names it."""
    score = snapshot.scores.find(ports[0])
    if len(ports) > 1 or score is None or score["peer_device"] is None or score["peer_interface"] is None:
        return ports
    return [*ports, (ports[0][0], score["peer_device"], score["peer_interface"])]


def _end(snapshot: Snapshot, sight: Sight | None, port: Port) -> End:
    cage = port if sight is None else sight.fabric.cages.get(port, port)
    score = snapshot.scores.find(port) or snapshot.scores.find(cage)
    if score is None or snapshot.run is None:
        return End(port, cage, None, _SILENT, None)
    age_s = score["data_age_s"]
    newest = (
        None if age_s is None else datetime.fromtimestamp(snapshot.run.at.timestamp() - age_s, snapshot.run.at.tzinfo)
    )
    state = "scored"
    if score["status"] != "scored":
        state = f"unknown: {'; '.join(score['reasons'] or ()) or 'nobody said why'}"
    return End(port, cage, score, state, newest)


def _siblings(snapshot: Snapshot, sight: Sight, ports: Sequence[Port]) -> tuple[Sibling, ...]:
    fabric = sight.fabric
    names = dict.fromkeys(name for end in ports for name in fabric.at_port[fabric.cages[end]])
    return tuple(_sibling(snapshot, name, fabric.links[name].ends) for name in names) if len(names) > 1 else ()


def _sibling(snapshot: Snapshot, link_id: str, ends: tuple[Port, Port]) -> Sibling:
    scores = [score for end in ends if (score := snapshot.scores.find(end)) is not None]
    alarm = next((found for end in ends if (found := snapshot.alarms.get(end))), None)
    return Sibling(link_id, ends, _most(scores, "risk_24h"), alarm)


def _most(scores: Sequence[Mapping[str, Any]], name: str) -> float | None:
    return max((score[name] for score in scores if score[name] is not None), default=None)


def _types(scores: Sequence[Mapping[str, Any]]) -> dict[FailureType, float]:
    found: Mapping[str, float | None] = next(
        (score["type_probabilities"] for score in scores if score["type_probabilities"]), {}
    )
    return {FailureType(kind): p for kind, p in found.items() if p is not None}
