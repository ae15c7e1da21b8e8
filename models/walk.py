"""Risks and alarms over time: the back-test walks through history exactly as live scoring does, hour by hour."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from features.cube import PORT, LakeTiles
from features.engine import Engine, Here
from features.fleet import Fleet
from features.pieces import engine_blocks
from features.pipeline import Block
from models.alarm import Alarm, Diagnosis, alarm_id, diagnose_all, expected_window
from models.artifact import Artifact
from models.base import HORIZONS_H
from models.policy import ALARM_HORIZON_H, Change, Scored, Standing, Verb, calm_storms
from models.risk_log import RiskLog

__all__ = [
    "LinkRisks",
    "Walk",
    "Work",
    "ends_of",
    "link_risks",
    "links_of",
    "make_alarm",
    "serial_at",
    "touched_at",
    "walk",
]

Floats = NDArray[np.float32]
PortName = tuple[str, str, str]

_COLUMN: Final = HORIZONS_H.index(ALARM_HORIZON_H)


@dataclass(frozen=True)
class LinkRisks:
    """Risks of the links of a block.

    Attributes:
        port: shape (n,), the port that speaks for each link.
        time: shape (n,), index of the block's times.
        risk: shape (n, horizons).
    """

    port: NDArray[np.int64]
    time: NDArray[np.int64]
    risk: Floats


def link_risks(artifact: Artifact, block: Block) -> LinkRisks:
    """Risk of every link that speaks, at every time of a block; in order of time."""
    time, port = np.nonzero(block.first.T)
    return LinkRisks(port, time, artifact.model.risk(block.matrix(port, time)))


@dataclass(frozen=True)
class Work:
    """When people are at a link: tickets from opening to closing, maintenance once announced.

    Attributes:
        spans: by port (interface None: the whole device) when it was known, when it starts, when it ends.
    """

    spans: Mapping[tuple[str, str, str | None], Sequence[tuple[datetime, datetime, datetime | None]]]

    @classmethod
    def of(cls, fleet: Fleet) -> "Work":
        """From the fleet's records, whole: a link's name may change, its ports stay."""
        spans: dict[tuple[str, str, str | None], list[tuple[datetime, datetime, datetime | None]]] = {}
        tickets = fleet.tickets.select(*PORT, "opened_at", pl.col("opened_at").alias("start"), "closed_at")
        announced = pl.col("announced_at").fill_null(pl.col("start"))
        for site, device, interface, known, start, end in (
            *tickets.iter_rows(),
            *fleet.maintenance.select(*PORT, announced, "start", "end").iter_rows(),
        ):
            spans.setdefault((site, device, interface), []).append((known, start, end))
        return cls(spans)

    def busy(self, ends: Iterable[PortName], at: datetime) -> bool:
        """Whether a ticket is open at one of a link's ends, or maintenance runs."""
        places = {place for site, device, port in ends for place in ((site, device, port), (site, device, None))}
        return any(
            known <= at and start <= at and (end is None or at < end)
            for place in places
            for known, start, end in self.spans.get(place, ())
        )


@dataclass
class Walk:
    """Alarms so far, and what decides the next ones; feed it blocks in order of time.

    Attributes:
        artifact: model and policy.
        work: when people are at a link.
        alarms: every alarm raised, in order; those not cleared still stand.
        held_back: raises held back by the storm breaker: link and time.
        log: keeps all risks, where given.
    """

    artifact: Artifact
    work: Work
    alarms: list[Alarm] = field(default_factory=list)
    held_back: list[tuple[str, datetime]] = field(default_factory=list)
    log: RiskLog | None = None
    _recent: dict[str, deque[Scored]] = field(default_factory=dict)
    _standing: dict[str, int] = field(default_factory=dict)

    def feed(self, block: Block, risks: LinkRisks) -> None:
        """Take the policy's steps at each of the block's times."""
        if self.log is not None:
            self.log.add(block, risks.port, risks.time, risks.risk)
        bounds = np.searchsorted(risks.time, np.arange(len(block.history.at) + 1))
        there = links_of(block)
        for t, at in enumerate(block.history.at):
            self._step(block, at, risks, range(bounds[t], bounds[t + 1]))
            self._unheard(at, there, {block.history.links[p] for p in risks.port[bounds[t] : bounds[t + 1]]})

    def _step(self, block: Block, at: datetime, risks: LinkRisks, rows: range) -> None:
        raised: dict[str, tuple[int, str]] = {}
        for i in rows:
            link = block.history.links[risks.port[i]]
            change = self._decide(
                block, link, at, float(risks.risk[i, _COLUMN]), int(risks.port[i]), int(risks.time[i])
            )
            if change is None:
                continue
            if change.verb is Verb.RAISE:
                raised[link] = (i, change.level)
            elif change.verb is Verb.LEVEL:
                self._replace(link, level=change.level, act_at=at)
            else:
                self._clear(link, at)
        ends = {link: ends_of(block, int(risks.port[i])) for link, (i, _) in raised.items()}
        stormy = calm_storms(self.artifact.policy, ends)
        for link, (i, level) in raised.items():
            if link in stormy:
                self.held_back.append((link, at))
                continue
            self._standing[link] = len(self.alarms)
            self.alarms.append(make_alarm(self.artifact, block, risks, i, level))

    def _decide(self, block: Block, link: str, at: datetime, risk: float, port: int, time: int) -> Change | None:
        policy = self.artifact.policy
        recent = self._recent.setdefault(link, deque())
        recent.append(Scored(at, risk))
        while recent[0].time <= at - timedelta(hours=policy.clear_after_h):
            recent.popleft()
        if link not in self._standing and risk < policy.watch:
            return None
        standing = None
        if link in self._standing:
            alarm = self.alarms[self._standing[link]]
            standing = Standing(alarm.raised_at, alarm.level)
        touched = touched_at(block, port, time)
        busy = self.work.busy(ends_of(block, port), at)
        return policy.decide(list(recent), standing, busy=busy, touched_at=touched)

    def _unheard(self, at: datetime, there: set[str], scored: set[str]) -> None:
        """Alarms on links that are silent or no longer there."""
        for link in self._standing.keys() - scored:
            alarm = self.alarms[self._standing[link]]
            standing = Standing(alarm.raised_at, alarm.level)
            if self.artifact.policy.unheard(standing, at, exists=link in there):
                self._clear(link, at)

    def _clear(self, link: str, at: datetime) -> None:
        self._replace(link, cleared_at=at)
        del self._standing[link]

    def _replace(self, link: str, **changes: object) -> None:
        i = self._standing[link]
        self.alarms[i] = replace(self.alarms[i], **changes)  # type: ignore[arg-type]


def touched_at(block: Block, port: int, time: int) -> datetime | None:
    """When the link of a port was last swapped or repaired, as known at a time of the block."""
    seconds = float(block.history.touched_s[port, time])
    return datetime.fromtimestamp(seconds, UTC) if np.isfinite(seconds) else None


def ends_of(block: Block, port: int) -> list[PortName]:
    """Both ends of a port's link, itself first; one where the other is not known."""
    near = block.cube.ports.row(port)
    far = block.history.ends.get(near, ("", None, None))[1]
    return [near, far] if far else [near]


def links_of(block: Block) -> set[str]:
    """Links that exist at the block's times, whether they speak or not."""
    return {link for link, *_ in block.history.ends.values()} | set(block.history.links)


def make_alarm(
    artifact: Artifact, block: Block, risks: LinkRisks, i: int, level: str, found: Diagnosis | None = None
) -> Alarm:
    """The alarm on the link of row `i`: its diagnosis (made where it is not at hand), suspect end, expected window."""
    port, time = int(risks.port[i]), int(risks.time[i])
    at, risk = block.history.at[time], risks.risk[i]
    found = found or diagnose_all(artifact, block, np.array([port]), time)[0]
    begin, end = expected_window(at, risk)
    site, device, interface = found.end
    return Alarm(
        alarm_id=alarm_id(block.history.links[port], at),
        link_id=block.history.links[port],
        site=site,
        device=device,
        interface=interface,
        suspect=found.suspect,
        level=level,
        raised_at=at,
        act_at=at if level == "act" else None,
        risk_24h=round(float(risk[HORIZONS_H.index(24)]), 6),
        risk_168h=round(float(risk[-1]), 6),
        failure_type=found.failure_type,
        action=found.action,
        expected_from=begin,
        expected_to=end,
        model_version=artifact.version,
        peer_device=found.peer[1] if found.peer else None,
        peer_interface=found.peer[2] if found.peer else None,
        serial=serial_at(block, found.end, time),
        reasons=found.reasons,
    )


def serial_at(block: Block, end: tuple[str, str, str], time: int) -> str | None:
    """Serial of the module in a cage at a time, by the records."""
    port = block.cube.port_of.get(end)
    if port is None:
        return None
    row = int(block.history.installation[port, time])
    frame = block.history.table.frame
    return str(frame["serial"][row]) if row < frame.height and frame["serial"][row] is not None else None


def walk(  # noqa: PLR0913 - few are needed, the others named
    artifact: Artifact,
    source: LakeTiles,
    fleet: Fleet,
    times: Sequence[datetime],
    progress: Callable[[float], None] = lambda _: None,
    engine: Engine | None = None,
    also: Sequence[Callable[[Block], None]] = (),
    *,
    log: RiskLog | None = None,
) -> Walk:
    """Score a span of history as if it were live.

    Args:
        artifact: a model trained on what was known before the first time.
        source: tiles.
        fleet: records, whole: each time sees what was known by then.
        times: whole hours, ascending.
        progress: called with the fraction done.
        engine: where features are computed, piece by piece; this process where not given.
        also: called with each block, in order of time: others that look at the same features.
        log: keeps all risks, where given.
    """
    steps = Walk(artifact, Work.of(fleet), log=log)
    done = 0
    for block in engine_blocks(engine or Here(), source, fleet, times):
        steps.feed(block, link_risks(artifact, block))
        for other in also:
            other(block)
        done += len(block.history.at)
        progress(done / len(times))
    return steps
