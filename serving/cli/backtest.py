"""``forelight backtest``: walk through history as if it were live, write the alarms, judge them."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from features.fleet import Fleet
from features.pipeline import Block
from ingest.errors import ModelError, ServingError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES
from models.alarm import alarm_frame
from models.folds import EMBARGO
from models.risk_log import RiskLog
from models.scorecard import early_days
from serving.backtest.backtesting import judged, judged_events, unwatched, walked, watched
from serving.backtest.comparing import Watchers, rule_alarms
from serving.backtest.folding import Folded, Leak, fold_cards, folded, plan_folds
from serving.cli.options import FoldPlan
from serving.cli.progress import step
from serving.cli.told import Told
from serving.scoring.compute import Compute
from serving.scoring.training import fresh_tiles, newest_hour, trained
from serving.settings import Settings

__all__ = ["run"]


def run(  # noqa: PLR0913 - the options of the command
    start: datetime,
    end: datetime,
    alarms: Path,
    *,
    every_h: int,
    train_until: datetime | None,
    report: Path | None,
    as_json: bool,
    ablations: bool = False,
    folds: FoldPlan | None = None,
    embargo_h: int | None = None,
    leak: bool = False,
    compute: Compute = Compute(),  # noqa: B008 - a frozen value
) -> None:
    """Train on what was known at `train_until`, then score each step and raise alarms as if live.

    Baselines are judged beside, on the same events; with `ablations` also models that see less, which are trained; with
    `leak` one that has seen what it is judged by. In `folds` nothing is judged that was learnt from.

    Raises:
        ModelError: the span is empty, or training reaches into it, or there is too little to learn from.
        ServingError: a file could not be written in the end.
    """
    until = _hour(train_until or start - timedelta(hours=embargo_h or 0))
    _check(start, end, until, parted=train_until is not None and folds is not None and folds.kind == "time")
    for out in (alarms, report):
        if out is not None:
            _make_room(out)
    lake = Lake(Settings.from_env().lake_uri)
    _check_telemetry(lake, start, end)
    fresh_tiles(lake, step, compute)
    scene = _Scene(lake, Fleet.load(lake), (start, end), every_h, compute)
    watchers = Watchers(scene.fleet)
    if ablations:
        watchers.train(lake, scene.fleet, until, step, compute)
    leaking = Leak(lake, scene.fleet, end, step, compute) if leak else None
    also = [*watchers.feeds, *([leaking.feed] if leaking else [])]
    embargo = EMBARGO if embargo_h is None else timedelta(hours=embargo_h)
    found = scene.folded(folds, embargo, train_until, also) if folds else scene.whole(until, also)
    found.alarms.write_csv(alarms, datetime_format="%Y-%m-%dT%H:%M:%SZ")
    others = rule_alarms(lake, scene.fleet, scene.span, step) | watchers.alarms(scene.fleet, end, every_h)
    told = scene.judged(found, others | (leaking.alarms() if leaking else {}))
    if report is not None:
        told.report(report, step)
    told.show(alarms, found.alarms.height, as_json=as_json)


@dataclass(frozen=True)
class _Scene:
    """What is walked through."""

    lake: Lake
    fleet: Fleet
    span: tuple[datetime, datetime]
    every_h: int
    compute: Compute

    def whole(self, until: datetime, also: Sequence[Callable[[Block], None]]) -> Folded:
        """One model over the whole span."""
        artifact, log = trained(self.lake, until, step, self.compute), RiskLog()
        walk = walked(self.lake, self.fleet, artifact, self.span, self.every_h, step, self.compute, also=also, log=log)
        note = f"level act is unavailable: {artifact.policy.act_reason}" if artifact.policy.act is None else ""
        return Folded(alarm_frame(walk.alarms), (), log.risks(), note)

    def folded(
        self,
        folds: FoldPlan,
        embargo: timedelta,
        until: datetime | None,
        also: Sequence[Callable[[Block], None]],
    ) -> Folded:
        """A model for each fold."""
        plan = plan_folds(self.fleet, folds.kind, folds.count, self.span, embargo=embargo, until=until)
        return folded(self.lake, self.fleet, plan, self.every_h, step, self.compute, also)

    def judged(self, found: Folded, others: Mapping[str, pl.DataFrame]) -> Told:
        """Scorecards of all alarms."""
        cards = judged(self.lake, self.fleet, found.alarms, self.span, step, others=others, risks=found.risks)
        days = watched(self.lake)
        parts = fold_cards(found, judged_events(self.lake, self.fleet), self.fleet, days) if found.of else []
        main = cards[: len(cards) - len(others) + 1]  # of the others the modules' warning limits, the first of them
        early = early_days(cards[0], newest_hour(self.lake))
        notes = (found.note, unwatched(self.lake, self.span), early)
        return Told(tuple(main), tuple(cards), tuple(parts), tuple(note for note in notes if note))


def _hour(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


def _check(start: datetime, end: datetime, train_until: datetime, *, parted: bool) -> None:
    """Refuse a span that is empty or that training would look into, and one training for parts that have their own."""
    if start >= end:
        msg = f"nothing to walk through: {start.isoformat()} is not before {end.isoformat()}"
        raise ModelError(msg)
    if train_until > start:
        msg = f"training until {train_until.isoformat()} would look into the span that begins {start.isoformat()}"
        raise ModelError(msg)
    if parted:
        msg = "each part of time has a training of its own: say --embargo, not --train-until"
        raise ModelError(msg)


def _check_telemetry(lake: Lake, start: datetime, end: datetime) -> None:
    """Refuse a span of which the lake holds nothing; an empty lake is training's to tell."""
    days = lake.dates(LANE_SAMPLES)
    if days and not any(start.date() <= day <= end.date() for day in days):
        msg = f"the lake holds no telemetry from {start.isoformat()} to {end.isoformat()}: nothing to walk through"
        raise ModelError(msg)


def _make_room(out: Path) -> None:
    """Make the folder of a file, and say now rather than after the work that it cannot be written."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{out} cannot be written: {error.strerror}"
        raise ServingError(msg) from error
    if out.is_dir() or not os.access(out if out.exists() else out.parent, os.W_OK):
        msg = f"{out} cannot be written: it is a folder" if out.is_dir() else f"{out} cannot be written: not permitted"
        raise ServingError(msg)
