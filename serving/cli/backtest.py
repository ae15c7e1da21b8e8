"""``forelight backtest``: walk through history as if it were live, write the alarms, judge them."""

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from features.fleet import Fleet
from features.pipeline import Block
from ingest.errors import ModelError, ServingError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES
from models.alarm import alarm_frame
from models.artifact import Artifact
from models.folds import EMBARGO
from models.risk_log import RiskLog
from serving.backtesting import judged, judged_events, walked
from serving.cli.options import FoldPlan
from serving.cli.progress import step
from serving.cli.told import Told
from serving.comparing import Watchers, rule_alarms
from serving.compute import Compute
from serving.folding import Folded, Leak, fold_cards, folded, plan_folds
from serving.settings import Settings
from serving.training import fresh_tiles, trained

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
    said, until = train_until, _hour(train_until or start - timedelta(hours=embargo_h or 0))
    _check(start, end, until)
    if said and folds and folds.kind == "time":
        msg = "each part of time has a training of its own: say --embargo, not --train-until"
        raise ModelError(msg)
    for out in (alarms, report):
        if out is not None:
            _make_room(out)
    lake, span = Lake(Settings.from_env().lake_uri), (start, end)
    _check_telemetry(lake, start, end)
    fresh_tiles(lake, step, compute)
    fleet, watchers = Fleet.load(lake), Watchers()
    if ablations:
        watchers.train(lake, fleet, until, step, compute)
    leaking = Leak(lake, fleet, end, step, compute) if leak else None
    also = [*watchers.feeds, *([leaking.feed] if leaking else [])]
    if folds:
        embargo = EMBARGO if embargo_h is None else timedelta(hours=embargo_h)
        plan = plan_folds(fleet, folds.kind, folds.count, span, embargo=embargo, until=said)
        found = folded(lake, fleet, plan, every_h, step, compute, also)
    else:
        found = _whole(lake, fleet, trained(lake, until, step, compute), span, every_h, compute, also)
    found.alarms.write_csv(alarms, datetime_format="%Y-%m-%dT%H:%M:%SZ")
    others = rule_alarms(lake, fleet, span, step) | watchers.alarms(fleet, end, every_h)
    others |= leaking.alarms() if leaking else {}
    cards = judged(lake, fleet, found.alarms, span, step, others=others, risks=found.risks)
    parts = fold_cards(found, judged_events(lake, fleet), fleet) if found.of else []
    main = cards[: len(cards) - len(others) + 1]  # of the others the modules' warning limits, the first of them
    told = Told(tuple(main), tuple(cards), tuple(parts), found.note)
    if report is not None:
        told.report(report, step)
    told.show(alarms, found.alarms.height, as_json=as_json)


def _whole(
    lake: Lake,
    fleet: Fleet,
    artifact: Artifact,
    span: tuple[datetime, datetime],
    every_h: int,
    compute: Compute,
    also: Sequence[Callable[[Block], None]],
) -> Folded:
    """One model over the whole span."""
    log = RiskLog()
    walk = walked(lake, fleet, artifact, span, every_h, step, compute, also=also, log=log)
    note = f"level act is unavailable: {artifact.policy.act_reason}" if artifact.policy.act is None else ""
    return Folded(alarm_frame(walk.alarms), (), log.risks(), note)


def _hour(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


def _check(start: datetime, end: datetime, train_until: datetime) -> None:
    """Refuse a span that is empty or that training would look into."""
    if start >= end:
        msg = f"nothing to walk through: {start.isoformat()} is not before {end.isoformat()}"
        raise ModelError(msg)
    if train_until > start:
        msg = f"training until {train_until.isoformat()} would look into the span that begins {start.isoformat()}"
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
