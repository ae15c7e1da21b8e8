"""Batch scoring by workers of this machine and by those of a Dask cluster."""

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from features.engine import Engine, Pool, engine_for
from ingest.lake import Lake
from ingest.schema import SCORES
from models.artifact import Artifact
from serving.alarms import AlarmRecord
from serving.scoring.scorer import score_fleet
from serving.store import AlarmStore

HOURS = (1, 2, 30)
"""After training."""


def _scored(
    lake: Lake, folder: Path, artifact: Artifact, times: list[datetime], engine: Engine
) -> tuple[pl.DataFrame, list[AlarmRecord]]:
    """Scores and alarms of a copy of the lake in which the engine looked at the fleet."""
    copy = Lake(str(shutil.copytree(lake.uri, folder / "lake")))
    with AlarmStore(f"sqlite:///{folder / 'forelight.db'}") as store:
        for at in times:
            score_fleet(copy, store, artifact, at, engine=engine)
        alarms = sorted(store.walk(), key=lambda record: record.alarm_id)
    scores = copy.latest(SCORES).collect().drop("received_at")
    return scores.sort("time", "site", "device", "interface"), alarms


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # distributed's own sockets and loops, as they go down
def test_a_dask_cluster_scores_and_alarms_as_a_pool_of_this_machine(
    fleet_lake: Lake,
    nervous: Artifact,
    train_until: datetime,
    tmp_path: Path,
    dask_cluster: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To the bit: workers of either read their share of the devices from the lake themselves."""
    monkeypatch.setattr("features.shards._MOST_PORTS", 20)
    times = [train_until + timedelta(hours=hours) for hours in HOURS]
    with Pool(2) as pool:
        scores, alarms = _scored(fleet_lake, tmp_path / "pool", nervous, times, pool)
    steps = dask_cluster.scheduler.transition_counter
    with engine_for(dask=dask_cluster.scheduler_address) as cluster:
        far_scores, far_alarms = _scored(fleet_lake, tmp_path / "dask", nervous, times, cluster)

    assert steps < dask_cluster.scheduler.transition_counter, "the cluster had nothing to do"
    assert_frame_equal(scores, far_scores, check_exact=True)
    assert set(times) == set(scores["time"])
    assert 0 < len(alarms) == len(far_alarms)
    assert alarms == far_alarms
