"""The back-test in folds, each judged by a model that saw nothing of it; and beside, the leak made on purpose."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Literal

import polars as pl

from features.fleet import Fleet
from features.pipeline import Block
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES
from models.alarm import Alarm, alarm_frame
from models.evaluate import judge
from models.folds import Fold, leaked, links_apart, only, vendors_out, walk_forward, without
from models.risk_log import RiskLog, Risks, joined
from models.scorecard import Scorecard
from models.train import learn
from models.training_data import TrainingData, training_data
from models.walk import Walk, Work, link_risks
from serving.backtest.backtesting import walked
from serving.scoring.compute import Compute
from serving.scoring.training import Step, trained

__all__ = ["LEAK", "Folded", "Leak", "fold_cards", "folded", "plan_folds"]

LEAK: Final = "a leak: half of all rows"
"""Name of the deliberate leak beside the honest alarms."""

Span = tuple[datetime, datetime]
Kind = Literal["time", "links", "vendors"]


@dataclass(frozen=True)
class Folded:
    """What folds gave.

    Attributes:
        alarms: of all folds together, each link and time judged once.
        of: of each fold.
        risks: likewise of all folds together.
        note: for people.
    """

    alarms: pl.DataFrame
    of: Sequence[tuple[Fold, pl.DataFrame]]
    risks: Risks
    note: str = ""


def plan_folds(
    fleet: Fleet, kind: str, count: int, span: Span, *, embargo: timedelta, until: datetime | None
) -> list[Fold]:
    """Folds of a span: by ``time`` or ``links`` so many, or one for each of the ``vendors``.

    Training ends at `until`, where said, or else the embargo before the span; by ``time`` always the latter.
    """
    start, end = span
    if kind == "time":
        return walk_forward(start, end, count, embargo)
    until = (until or start - embargo).replace(minute=0, second=0, microsecond=0)
    return vendors_out(fleet, start, end, until) if kind == "vendors" else links_apart(fleet, count, start, end, until)


def folded(
    lake: Lake,
    fleet: Fleet,
    folds: Sequence[Fold],
    every_h: int,
    step: Step,
    compute: Compute,
    also: Sequence[Callable[[Block], None]] = (),
) -> Folded:
    """Train and walk each fold; of a link in several folds the first counts."""
    if folds[0].links is None:
        return _in_turn(lake, fleet, folds, every_h, step, compute, also)
    return _side_by_side(lake, fleet, folds, every_h, step, compute, also)


def _in_turn(
    lake: Lake,
    fleet: Fleet,
    folds: Sequence[Fold],
    every_h: int,
    step: Step,
    compute: Compute,
    also: Sequence[Callable[[Block], None]],
) -> Folded:
    log, of = RiskLog(), []
    for fold in folds:
        artifact = trained(lake, fold.train_until, step, compute)
        stop = fold.end if fold is folds[-1] else fold.end - timedelta(hours=every_h)
        walk = walked(lake, fleet, artifact, (fold.start, stop), every_h, step, compute, also=also, log=log)
        of.append((fold, alarm_frame(walk.alarms)))
    ended = [frame.with_columns(pl.col("cleared_at").fill_null(fold.end)) for fold, frame in of[:-1]]  # the next begins
    return Folded(pl.concat([*ended, of[-1][1]]), of, log.risks())


def _side_by_side(
    lake: Lake,
    fleet: Fleet,
    folds: Sequence[Fold],
    every_h: int,
    step: Step,
    compute: Compute,
    also: Sequence[Callable[[Block], None]],
) -> Folded:
    """All folds look at the same features, once for training and once for the walk."""
    data = _data(lake, folds[0].train_until, step, compute)
    walks, taken = [], set[str]()
    for fold in folds:
        links = fold.links or frozenset()
        with step(f"training for {fold.name}"):
            artifact = learn(without(data, links), fold.train_until)
        walks.append(Walk(artifact, Work.of(fleet), log=RiskLog(links - taken)))
        taken |= links
    first, *others = walks
    feeds = [_feeds(walk) for walk in others]
    span = folds[0].start, folds[0].end
    walks[0] = walked(lake, fleet, first.artifact, span, every_h, step, compute, also=[*feeds, *also], log=first.log)
    of = [
        (fold, alarm_frame(_on(walk.alarms, fold.links or frozenset())))
        for fold, walk in zip(folds, walks, strict=True)
    ]
    logs = [walk.log for walk in walks if walk.log is not None]
    once = [alarm_frame(_on(walk.alarms, walk.log.links or frozenset())) for walk in walks if walk.log is not None]
    return Folded(pl.concat(once).sort("raised_at", "alarm_id"), of, joined(logs))


def fold_cards(found: Folded, events: pl.DataFrame, fleet: Fleet, watched: Collection[date]) -> list[Scorecard]:
    """A scorecard of each fold: of its links, or of its part of the span; `watched` as `judge` takes it."""
    cards = []
    for fold, alarms in found.of:
        part = fleet if fold.links is None else only(fleet, fold.links)
        mine = events if fold.links is None else events.filter(pl.col("link_id").is_in(list(fold.links)))
        cards.append(judge(alarms, mine, part, start=fold.start, end=fold.end, name=fold.name, watched=watched))
    return cards


class Leak:
    """A model that learnt from half of all rows up to the end of the span, and walks beside the honest one."""

    def __init__(self, lake: Lake, fleet: Fleet, end: datetime, step: Step, compute: Compute) -> None:
        until = end.replace(minute=0, second=0, microsecond=0)
        data = leaked(_data(lake, until, step, compute))
        with step("training on what it will be judged by"):
            self.walk = Walk(learn(data, until), Work.of(fleet))
        self.feed = _feeds(self.walk)

    def alarms(self) -> dict[str, pl.DataFrame]:
        """By name."""
        return {LEAK: alarm_frame(self.walk.alarms)}


def _feeds(walk: Walk) -> Callable[[Block], None]:
    return lambda block: walk.feed(block, link_risks(walk.artifact, block))


def _on(alarms: Sequence[Alarm], links: frozenset[str]) -> list[Alarm]:
    return [alarm for alarm in alarms if alarm.link_id in links]


def _data(lake: Lake, until: datetime, step: Step, compute: Compute) -> TrainingData:
    rows = sum(file.rows for file in lake.files(LANE_SAMPLES, until=until))
    with step(f"features until {until:%Y-%m-%d %H:%M}Z") as progress, compute.engine(rows) as engine:
        return training_data(lake, until, progress, engine)
