"""What would have been drained in a time that is past, and what it would have saved.

Each alarm that reached level ``act`` is asked about at that time, with the fabric, the states of links and the scores
of that time and the limits of today, in the order of their times, as if every class of links had been active. A drain
holds its links until the link's next repair, the alarm's end or two days, whichever comes first.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from features.fleet import PORT, Fleet
from features.labels import Verdict
from ingest.lake import Lake
from ingest.schema import SCORES
from serving.alarms import AlarmRecord, Level, Status
from serving.drains.advice import Advice, Mode
from serving.drains.desk import Desk, Known
from serving.drains.fabric import Fabric, LinkClass
from serving.drains.judged import Judged, unasked
from serving.drains.observed import observe
from serving.drains.records import Drain, DrainState, Switch
from serving.drains.sight import Sight
from serving.drains.store import Standing
from serving.errors import LinkNotFoundError
from serving.snapshot import ScoreTable, Snapshot, by_end

__all__ = ["Period", "Replay", "Replayed", "replay"]

_SCORED_WITHIN: Final = timedelta(hours=2)
_REPAIRED: Final = timedelta(days=2)
"""Four repairs in five are done within two days [CorrOpt, SIGCOMM 2017, section 7.1]."""

_DUE: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` to before `end`; failures would have been seen until `known_until`."""

    start: datetime
    end: datetime
    known_until: datetime


@dataclass(frozen=True, slots=True)
class Replayed:
    """One alarm as it would have been answered.

    Attributes:
        at: when it reached level act.
        failed_at: the link's next failure within a week; None where there was none.
        saved_gpu_h: what acting would have saved; less than 0 where it would have been for nothing, None where that
            is not known yet.
    """

    at: datetime
    alarm_id: str
    link_id: str
    link_class: LinkClass | None
    advice: Advice
    code: str | None
    why: str
    failed_at: datetime | None
    saved_gpu_h: float | None


@dataclass(frozen=True, slots=True)
class Replay:
    """All of them, and the failures that no alarm was about."""

    start: datetime
    end: datetime
    answers: Sequence[Replayed]
    failures: int
    missed: int
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def saved_gpu_h(self) -> float:
        """In all, as far as it is known."""
        return sum(one.saved_gpu_h or 0.0 for one in self.answers)


def replay(
    lake: Lake,
    desk: Desk,
    alarms: Sequence[AlarmRecord],
    events: pl.DataFrame,
    period: Period,
    progress: Callable[[float], None] = lambda _share: None,
) -> Replay:
    """Ask about every alarm of level act in a time that is past.

    Args:
        lake: with scores, port samples and the fleet's tables of that time.
        desk: whose limits and costs hold; its store is not touched.
        alarms: all that the store has.
        events: what ``features.labels.failure_events`` gives.
        period: what is asked about.
        progress: called with the fraction that is done.
    """
    fleet, start, end = Fleet.load(lake), period.start, period.end
    acts = sorted((alarm for alarm in alarms if _acted(alarm, start, end)), key=_act_at)
    failures = _failures(events)
    past = _Past(lake, fleet, desk, failures, period.known_until)
    answers = []
    for number, alarm in enumerate(acts, start=1):
        answers.append(past.answer(alarm))
        progress(number / len(acts))
    inside = [(link, at) for link, times in failures.items() for at in times if start <= at < end]
    warned = {(one.link_id, one.failed_at) for one in answers}
    missed = sum((link, at) not in warned for link, at in inside)
    return Replay(start, end, answers, len(inside), missed, Counter(one.code or one.advice for one in answers))


class _Past:
    """The fabric as it was, with the drains that would have stood."""

    def __init__(
        self,
        lake: Lake,
        fleet: Fleet,
        desk: Desk,
        failures: Mapping[str, Sequence[datetime]],
        known_until: datetime,
    ) -> None:
        self._lake = lake
        self._fleet = fleet
        self._desk = desk
        self._failures = failures
        self._known_until = known_until
        self._drains: list[Drain] = []

    def answer(self, alarm: AlarmRecord) -> Replayed:
        """What would have been advised on an alarm, and what came of the link."""
        at, port = _act_at(alarm), (alarm.site, alarm.device, alarm.interface)
        known, standing = self._known(alarm, at), self._standing(at)
        try:
            judged = self._desk.judge(known, standing, port)
        except LinkNotFoundError as error:
            return Replayed(at, alarm.alarm_id, alarm.link_id, None, Advice.UNKNOWN, None, str(error), None, 0.0)
        link_id, now = judged.link.link_id, judged.decision
        failed = next((time for time in self._failures.get(link_id, ()) if at <= time <= at + _DUE), None)
        if now.advice is Advice.DRAIN:
            self._drain(judged, alarm, at, standing)
        saved = self._saved(judged, failed) if failed or at + _DUE <= self._known_until else None
        kind = judged.link_class
        return Replayed(at, alarm.alarm_id, link_id, kind, now.advice, now.code, now.why, failed, saved)

    def _known(self, alarm: AlarmRecord, at: datetime) -> Known:
        fleet = self._fleet.as_of(at)
        guard = self._desk.config.guard
        fabric = Fabric.of(fleet, guard.tiers)
        observed = observe(self._lake, fleet, fabric, at, guard.observed_within_s)
        then = replace(alarm, level=Level.ACT, risk_24h=None, status=Status.OPEN, cleared_at=None)
        snapshot = Snapshot((0, 0), None, ScoreTable.of(self._scores(alarm, at)), by_end([then]), {}, frozenset())
        return Known(snapshot, Sight(fabric, observed))

    def _scores(self, alarm: AlarmRecord, at: datetime) -> pl.DataFrame:
        """The last scores of the link's ends by then."""
        devices = [name for name in (alarm.device, alarm.peer_device) if name is not None]
        rows = self._lake.latest(SCORES, since=at - _SCORED_WITHIN, until=at + timedelta(microseconds=1))
        near = rows.filter(pl.col("site") == alarm.site, pl.col("device").is_in(devices)).collect()
        return near.sort("time").unique(PORT, keep="last", maintain_order=True)

    def _standing(self, at: datetime) -> Standing:
        out = tuple(one for one in self._drains if one.ended_at is None or one.ended_at > at)
        recent = tuple(one for one in self._drains if one.ended_at is not None and one.ended_at <= at)
        active = {str(kind): Switch(name=kind, mode=Mode.ACTIVE, since=at, who="replay", why="") for kind in LinkClass}
        return Standing(at, out, recent, (), active)

    def _drain(self, judged: Judged, alarm: AlarmRecord, at: datetime, standing: Standing) -> None:
        end = min(time for time in (at + _REPAIRED, alarm.cleared_at) if time is not None and time > at)
        drain = unasked(judged, (alarm.site, alarm.device, alarm.interface), "replay", standing)
        self._drains.append(replace(drain, given=True, state=DrainState.UNDRAINED, ended_at=end))

    def _saved(self, judged: Judged, failed: datetime | None) -> float:
        """The failure's cost as far as acting would have spared it, less what acting costs."""
        cost, advice = self._desk.config.cost_of(judged.link_class), judged.decision.advice
        spared = {Advice.DRAIN: 1.0, Advice.NO_NEW_JOBS: 1.0, Advice.COST_OUT: 1.0 - cost.kept}.get(advice)
        if spared is None:
            return 0.0
        paid = cost.cost_out if advice is Advice.COST_OUT else cost.drain
        return (spared * cost.failure if failed else 0.0) - paid


def _acted(alarm: AlarmRecord, start: datetime, end: datetime) -> bool:
    return alarm.level is Level.ACT and start <= _act_at(alarm) < end


def _act_at(alarm: AlarmRecord) -> datetime:
    return alarm.act_at or alarm.raised_at


def _failures(events: pl.DataFrame) -> dict[str, list[Any]]:
    """When each link failed, in order."""
    counted = events.filter(pl.col("verdict") == Verdict.COUNTED, pl.col("link_id").is_not_null())
    by_link = counted.sort("failed_at").group_by("link_id").agg("failed_at")
    return dict(by_link.iter_rows())
