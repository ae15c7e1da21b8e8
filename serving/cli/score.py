"""``forelight score``: the scheduled batch run."""

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from rich.console import Console

from features.tile_tables import LANE_TILES, PORT_TILES
from ingest.errors import BusyError, ModelError
from ingest.lake import Lake
from models.artifact import Artifact
from models.day_one import VERSION, day_one
from models.registry import Registry
from serving.alarms import utc_now
from serving.cli.progress import step
from serving.confirming import confirm
from serving.drains.after_run import after_run
from serving.leases import score_lease
from serving.scoring.compute import Compute
from serving.scoring.metrics import write_metrics
from serving.scoring.scorer import Scoring, score_fleet
from serving.scoring.training import fresh_tiles, newest_hour
from serving.settings import Settings
from serving.store import AlarmStore
from serving.upkeep import sweep

__all__ = ["BUSY", "run"]

BUSY: Final = 75
"""Exit code where another run is at it: EX_TEMPFAIL of sysexits.h, "try again later"."""


_A_SAMPLE: Final = 5
"""Tiles that are read in the time in which one is made of a sample, about."""


def run(
    *,
    at: datetime | None,
    as_json: bool,
    metrics_textfile: Path | None = None,
    compute: Compute = Compute(),  # noqa: B008 - a frozen value
) -> None:
    """Score the fleet with the champion at a time, the newest whole hour where none is given.

    A second run while one is running changes nothing and ends with exit code `BUSY`.

    Args:
        at: as of when; its minutes are cut off.
        as_json: answer for machines.
        metrics_textfile: for node_exporter's textfile collector; replaced whole.
        compute: where tiles and features are made.

    Raises:
        ModelError: there is nothing to score.
        ServingError: the alarm store refuses the run.
    """
    settings = Settings.from_env()
    with ExitStack() as held:
        try:
            lease = held.enter_context(score_lease(settings))
        except BusyError as error:
            print(f"forelight: {error}", file=sys.stderr)  # noqa: T201 - the one line that goes with the exit code
            raise SystemExit(BUSY) from None
        done = _scored(settings, at, lease.check, compute)
        if metrics_textfile is not None:
            write_metrics(metrics_textfile, done)
    _tell(done, as_json=as_json)


def _scored(settings: Settings, at: datetime | None, check: Callable[[], None], compute: Compute) -> Scoring:
    lake = Lake(settings.lake_uri)
    artifact = _champion(settings)
    hour = (at or newest_hour(lake)).replace(minute=0, second=0, microsecond=0)
    with AlarmStore(settings.database_url) as store:
        sweep(store, settings.alarm_ttl_s, utc_now())
        last = store.latest_run()
        if last is None or last.at < hour:
            fresh_tiles(lake, step, compute)
        with (
            step(f"scoring at {hour:%Y-%m-%d %H:%M}Z") as progress,
            compute.engine(_tiles(lake, hour) // _A_SAMPLE) as engine,
        ):
            done = score_fleet(lake, store, artifact, hour, engine=engine, check=check, progress=progress)
        confirm(store, lake, hour)
        after_run(settings, lake, store, done, utc_now())
        return done


def _champion(settings: Settings) -> Artifact:
    """The champion, or, where none can be loaded, what physics says alone; that is said."""
    try:
        return Registry(settings.tracking_uri, settings.artifact_root).champion()
    except ModelError as error:
        told = f"forelight: {error}; scoring by physics alone until then (model version {VERSION})"
        print(told, file=sys.stderr)  # noqa: T201 - the one line of what is other than usual
        return day_one()


def _tiles(lake: Lake, hour: datetime) -> int:
    since = hour - timedelta(days=5)  # days are few beside the hours
    return sum(file.rows for table in (LANE_TILES, PORT_TILES) for file in lake.files(table, since=since, until=hour))


def _tell(done: Scoring, *, as_json: bool) -> None:
    answer = {
        "at": done.run.at.isoformat(),
        "model_version": done.run.model_version,
        "new": done.applied.new,
        "modules_scored": done.run.modules_scored,
        "modules_unknown": done.run.modules_unknown,
        "raised": done.applied.raised,
        "renewed": done.applied.updated,
        "cleared": done.applied.cleared,
        "held_back": done.held_back,
    }
    when = f"{done.run.at:%Y-%m-%d %H:%M}Z"
    if as_json:
        print(json.dumps(answer, indent=2))  # noqa: T201 - the answer
    elif not done.applied.new:
        Console().print(f"{when} was scored before: nothing changed", highlight=False)
    else:
        told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in list(answer.items())[3:])
        Console().print(f"{when}: {told}", highlight=False)
