"""``forelight score``: the scheduled batch run."""

import json
from datetime import datetime

from rich.console import Console

from ingest.lake import Lake
from models.registry import Registry
from serving.cli.progress import step
from serving.scorer import score_fleet
from serving.settings import Settings
from serving.store import AlarmStore
from serving.training import fresh_tiles, newest_hour

__all__ = ["run"]


def run(*, at: datetime | None, as_json: bool) -> None:
    """Score the fleet with the champion at a time, the newest whole hour where none is given.

    Raises:
        ModelError: no champion, or nothing to score.
        ServingError: the alarm store refuses the run.
    """
    settings = Settings.from_env()
    lake = Lake(settings.lake_uri)
    artifact = Registry(settings.tracking_uri, settings.artifact_root).champion()
    fresh_tiles(lake, step)
    hour = (at or newest_hour(lake)).replace(minute=0, second=0, microsecond=0)
    with AlarmStore(settings.database_url) as store, step(f"scoring at {hour:%Y-%m-%d %H:%M}Z"):
        done = score_fleet(lake, store, artifact, hour)
    answer = {
        "at": hour.isoformat(),
        "model_version": artifact.version,
        "new": done.applied.new,
        "modules_scored": done.run.modules_scored,
        "modules_unknown": done.run.modules_unknown,
        "raised": done.applied.raised,
        "renewed": done.applied.updated,
        "cleared": done.applied.cleared,
        "held_back": done.held_back,
    }
    if as_json:
        print(json.dumps(answer, indent=2))  # noqa: T201 - the answer
    elif not done.applied.new:
        Console().print(f"{hour:%Y-%m-%d %H:%M}Z was scored before: nothing changed", highlight=False)
    else:
        told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in list(answer.items())[3:])
        Console().print(f"{hour:%Y-%m-%d %H:%M}Z: {told}", highlight=False)
