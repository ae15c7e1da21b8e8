"""The last days of a fleet as a model sees them, for `models.drift`."""

from datetime import datetime, timedelta
from typing import Final

import numpy as np
import polars as pl

from features.cube import LakeTiles
from features.fleet import Fleet
from features.pieces import engine_blocks
from features.pipeline import FeaturePipeline, hourly
from ingest.errors import ModelError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES
from models.artifact import Artifact
from models.base import HORIZONS_H
from models.drift import Drift, Seen, drift
from models.policy import ALARM_HORIZON_H
from models.walk import link_risks
from serving.scoring.compute import Compute
from serving.scoring.training import Step

__all__ = ["watched"]

_EVERY_H: Final = 6
"""Neighbouring hours say nearly the same."""
_RISK: Final = HORIZONS_H.index(ALARM_HORIZON_H)


def watched(
    lake: Lake,
    artifact: Artifact,
    end: datetime,
    days: int,
    step: Step,
    compute: Compute = Compute(),  # noqa: B008 - a frozen value
) -> Drift:
    """Compare the days before `end` with what the model's training knew; tiles are fresh.

    Raises:
        ModelError: no module spoke in these days, or the model does not say what it knew.
    """
    start = end - timedelta(days=days)
    fleet = Fleet.load(lake).as_of(end)
    rows, places, risks = [], [], []
    samples = sum(file.rows for file in lake.files(LANE_SAMPLES, since=start, until=end))
    times = hourly(start, end, _EVERY_H)
    with step(f"the last {days} days") as progress, compute.engine(samples) as engine:
        done = 0
        for block in engine_blocks(engine, LakeTiles(lake), fleet, times):
            port, time = np.nonzero(block.present)
            rows.append(block.matrix(port, time))
            places.append(block.cube.ports[port])
            found = link_risks(artifact, block)
            risks.append(found.risk[:, _RISK])
            done += len(block.history.at)
            progress(done / len(times))
    if not rows or not sum(part.shape[0] for part in rows):
        msg = f"no module spoke in the {days} days before {end:%Y-%m-%d %H:%M}Z"
        raise ModelError(msg)
    names = FeaturePipeline().names
    return drift(
        artifact, Seen(np.concatenate(rows), names, pl.concat(places), np.concatenate(risks), start, end), fleet
    )
