"""``forelight score``: the scheduled batch run."""

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

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
from serving.scoring.scorer import Scoring, Seen, look_at, score_fleet
from serving.scoring.shadow import Shadow, challenged
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
        registry = Registry(settings.tracking_uri, settings.artifact_root)
        done = _scored(settings, registry, at, lease.check, compute)
        if metrics_textfile is not None:
            write_metrics(metrics_textfile, done)
        shadow = _challenged(settings, registry, done, lease.check, compute)
        if metrics_textfile is not None and shadow is not None:
            write_metrics(metrics_textfile, done, shadow)
    _tell(done, shadow, as_json=as_json)


def _scored(
    settings: Settings, registry: Registry, at: datetime | None, check: Callable[[], None], compute: Compute
) -> Scoring:
    lake = Lake(settings.lake_uri)
    hour = (at or newest_hour(lake)).replace(minute=0, second=0, microsecond=0)
    artifact = _champion(registry)
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


def _challenged(
    settings: Settings, registry: Registry, done: Scoring, check: Callable[[], None], compute: Compute
) -> Shadow | None:
    """What the challenger says of the same hour; the run is whole, and stays so whatever becomes of this."""
    lake, at = Lake(settings.lake_uri), done.run.at

    def look() -> Seen | None:
        if done.seen is not None:
            return done.seen
        with step(f"features at {at:%Y-%m-%d %H:%M}Z"), compute.engine(_tiles(lake, at) // _A_SAMPLE) as engine:
            return look_at(lake, at, engine=engine)

    shadow = challenged(registry, lake, at, look, check)
    if shadow is not None and shadow.error:
        told = f"forelight: the challenger (version {shadow.version}) was not scored: {shadow.error}"
        print(told, file=sys.stderr)  # noqa: T201 - the one line of what is other than usual
    return shadow


def _champion(registry: Registry) -> Artifact:
    """The champion, or, where none can be loaded, what physics says alone; that is said."""
    try:
        return registry.champion()
    except ModelError as error:
        told = f"forelight: {error}; scoring by physics alone until then (model version {VERSION})"
        print(told, file=sys.stderr)  # noqa: T201 - the one line of what is other than usual
        return day_one()


def _tiles(lake: Lake, hour: datetime) -> int:
    since = hour - timedelta(days=5)  # days are few beside the hours
    return sum(file.rows for table in (LANE_TILES, PORT_TILES) for file in lake.files(table, since=since, until=hour))


def _tell(done: Scoring, shadow: Shadow | None, *, as_json: bool) -> None:
    answer = _answer(done)
    when = f"{done.run.at:%Y-%m-%d %H:%M}Z"
    if as_json:
        print(json.dumps({**answer, "challenger": shadow and shadow.to_dict()}, indent=2))  # noqa: T201 - the answer
        return
    if not done.applied.new:
        Console().print(f"{when} was scored before: nothing changed", highlight=False)
    else:
        told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in list(answer.items())[3:])
        Console().print(f"{when}: {told}", highlight=False)
    if shadow is not None and shadow.new:
        would = f"{shadow.raised} raised, {shadow.kept} renewed, {shadow.cleared} cleared, {shadow.held_back} held back"
        Console().print(f"challenger {shadow.model_version}, on which nothing rests: {would}", highlight=False)


def _answer(done: Scoring) -> dict[str, Any]:
    return {
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
