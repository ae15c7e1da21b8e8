"""``forelight backtest``: walk through history as if it were live, write the alarms, judge them."""

import json
import os
from datetime import datetime
from pathlib import Path

from rich.console import Console

from features.fleet import Fleet
from ingest.errors import ModelError, ServingError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES
from models.alarm import alarm_frame
from models.baselines.table import comparison_table
from models.scorecard import scorecard_table
from serving.backtesting import judged, walked
from serving.cli.progress import step
from serving.comparing import Watchers, rule_alarms
from serving.compute import Compute
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
    compute: Compute = Compute(),  # noqa: B008 - a frozen value
) -> None:
    """Train on what was known at `train_until`, then score each step and raise alarms as if live.

    Baselines are judged beside, on the same events; with `ablations` also models that see less, which are trained.

    Raises:
        ModelError: the span is empty, or training reaches into it, or there is too little to learn from.
        ServingError: a file could not be written in the end.
    """
    train_until = (train_until or start).replace(minute=0, second=0, microsecond=0)
    _check(start, end, train_until)
    for out in (alarms, report):
        if out is not None:
            _make_room(out)
    lake, span = Lake(Settings.from_env().lake_uri), (start, end)
    _check_telemetry(lake, start, end)
    fresh_tiles(lake, step, compute)
    artifact = trained(lake, train_until, step, compute)
    fleet, watchers = Fleet.load(lake), Watchers()
    if ablations:
        watchers.train(lake, fleet, train_until, step, compute)
    frame = alarm_frame(walked(lake, fleet, artifact, span, every_h, step, compute, also=watchers.feeds).alarms)
    frame.write_csv(alarms, datetime_format="%Y-%m-%dT%H:%M:%SZ")
    others = rule_alarms(lake, fleet, span, step) | watchers.alarms(fleet, end, every_h)
    cards = judged(lake, fleet, frame, span, step, others=others)
    main = cards[: len(cards) - len(others)]
    if report is not None:
        from models.report import write_report

        write_report(report, main, title="forelight back-test")
    if as_json:
        print(json.dumps({card.name: card.to_dict() for card in cards}, indent=2, allow_nan=False))  # noqa: T201
        return
    console = Console()
    console.print(scorecard_table(*main, title=f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"))
    console.print(comparison_table(cards, title="The same failures, by whose alarms"))
    if artifact.policy.act is None:
        console.print(f"level act is unavailable: {artifact.policy.act_reason}")
    console.print(f"{frame.height} alarms in {alarms}", highlight=False)


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
