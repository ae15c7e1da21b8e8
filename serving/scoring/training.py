"""Training as the command line and the demo run it: tiles, model, registry."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import polars as pl

from features.tiles import samples_waiting, update_tiles
from ingest.errors import ModelError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES
from models.artifact import Artifact
from models.train import train
from serving.scoring.compute import Compute

__all__ = ["Step", "fresh_tiles", "newest_hour", "trained"]

Step = Callable[[str], AbstractContextManager[Callable[[float], None]]]
"""Opens a long step by its name; what it gives takes the fraction done."""


def newest_hour(lake: Lake) -> datetime:
    """The end of the last whole hour that telemetry reaches into, the running hour left out.

    Raises:
        ModelError: the lake holds no telemetry.
    """
    days = lake.dates(PORT_SAMPLES)
    if not days:
        msg = f"{lake.uri} holds no telemetry: forelight import DIR, or forelight collect, brings some"
        raise ModelError(msg)
    since = datetime(days[-1].year, days[-1].month, days[-1].day, tzinfo=UTC)
    newest: datetime = (
        lake.scan(PORT_SAMPLES, since=since, columns=["time"]).select(pl.col("time").max()).collect().item()
    )
    hour = newest.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return min(hour, datetime.now(UTC).replace(minute=0, second=0, microsecond=0))


def fresh_tiles(lake: Lake, step: Step, compute: Compute = Compute()) -> None:  # noqa: B008 - a frozen value
    """Bring the tiles up to date."""
    with step("tiles") as progress, compute.engine(samples_waiting(lake)) as engine:
        update_tiles(lake, progress=progress, engine=engine)


def trained(lake: Lake, until: datetime, step: Step, compute: Compute | None = None, tune: int = 0) -> Artifact:
    """A model of everything known at `until`; tiles are up to date.

    Args:
        lake: telemetry, tiles and records.
        until: whole hour.
        step: shows progress.
        compute: where features are computed; this process where not given.
        tune: settings to try; 0: the usual one.

    Raises:
        ModelError: too little telemetry, or no failure to learn from.
    """
    with step(f"training until {until:%Y-%m-%d %H:%M}Z") as progress:
        rows = sum(file.rows for file in lake.files(LANE_SAMPLES, until=until)) if compute else 0
        learnt = 0.5 if tune else 0.7
        shares = {
            "features": (0.0, learnt),
            "tuning": (learnt, 0.7 - learnt),
            "model": (0.7, 0.25),
            "alarm policy": (0.95, 0.05),
        }
        with (compute or Compute()).engine(rows) as engine:
            return train(
                lake, until, lambda name, done: progress(shares[name][0] + shares[name][1] * done), engine, tune=tune
            )
