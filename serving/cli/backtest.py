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
from models.scorecard import scorecard_table
from serving.backtesting import judged, walked
from serving.cli.progress import step
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
    compute: Compute = Compute(),  # noqa: B008 - a frozen value
) -> None:
    """Train on what was known at `train_until`, then score each step and raise alarms as if live.

    Raises:
        ModelError: the span is empty, or training reaches into it, or there is too little to learn from.
        ServingError: a file could not be written in the end.
    """
    train_until = (train_until or start).replace(minute=0, second=0, microsecond=0)
    if start >= end:
        msg = f"nothing to walk through: {start.isoformat()} is not before {end.isoformat()}"
        raise ModelError(msg)
    if train_until > start:
        msg = f"training until {train_until.isoformat()} would look into the span that begins {start.isoformat()}"
        raise ModelError(msg)
    for out in (alarms, report):
        if out is not None:
            _make_room(out)
    lake = Lake(Settings.from_env().lake_uri)
    days = lake.dates(LANE_SAMPLES)
    if days and not any(start.date() <= day <= end.date() for day in days):
        msg = f"the lake holds no telemetry from {start.isoformat()} to {end.isoformat()}: nothing to walk through"
        raise ModelError(msg)
    fresh_tiles(lake, step, compute)
    artifact = trained(lake, train_until, step, compute)
    fleet = Fleet.load(lake)
    walk = walked(lake, fleet, artifact, (start, end), every_h, step, compute)
    frame = alarm_frame(walk.alarms)
    frame.write_csv(alarms, datetime_format="%Y-%m-%dT%H:%M:%SZ")
    cards = judged(lake, fleet, frame, (start, end), step)
    if report is not None:
        from models.report import write_report

        write_report(report, cards, title="forelight back-test")
    if as_json:
        print(json.dumps({card.name: card.to_dict() for card in cards}, indent=2, allow_nan=False))  # noqa: T201
        return
    console = Console()
    console.print(scorecard_table(*cards, title=f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"))
    if artifact.policy.act is None:
        console.print(f"level act is unavailable: {artifact.policy.act_reason}")
    console.print(f"{frame.height} alarms in {alarms}", highlight=False)


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
