"""Training where memory does not hold all links: every failure, and a share of the others."""

import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from features.cube import LakeTiles
from features.day_tables import LANE_DAYS, PORT_DAYS
from features.engine import Here
from features.fleet import Fleet
from features.pipeline import FeaturePipeline
from features.shards import fleet_blocks
from features.tile_tables import LANE_TILES, PORT_TILES
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, TABLES
from models.joint import JointModel
from models.sampling import LinkSample, ports_at_once, room
from models.train import LINKS_SHARE, learn
from models.training_data import TrainingData, training_data

ROOT = Path(__file__).parents[2]
MIB = 1 << 20


class Narrow(Here):
    """This process, with memory for few ports at once and for the rows of some of the links."""

    def __init__(self, job_bytes: int, workers: int) -> None:
        super().__init__()
        self.job_bytes, self.workers = job_bytes, workers


@pytest.fixture(name="few", scope="module")
def _few(fleet_lake: Lake, data: TrainingData) -> TrainingData:
    """Of the shared fleet what fits in 20 MiB: some two thirds of its links."""
    return training_data(fleet_lake, data.times[-1], engine=Narrow(20 * MIB, 2))


def test_every_link_that_fails_is_learnt_from_and_of_the_others_a_share(data: TrainingData, few: TrainingData) -> None:
    cases = {data.rows.link[i] for i in np.flatnonzero(data.rows.event >= 0)}
    links = set(few.rows.link)

    assert data.links_share == 1.0
    assert 0 < few.links_share < 1
    assert cases <= links < set(data.rows.link)
    assert set(few.every_hour.link) < set(data.every_hour.link)


def test_rows_weigh_what_they_stand_for(data: TrainingData, few: TrainingData) -> None:
    healthy = few.rows.event < 0
    links = np.unique(few.rows.link[healthy].astype(str)).size

    assert healthy.any()
    assert 1 < links
    assert few.rows.weight.sum() == pytest.approx(data.rows.weight.sum(), rel=0.35)
    assert few.rows.weight[healthy].max() == pytest.approx(6 / few.links_share)


def test_a_model_of_a_share_tells_failures_as_well_as_that_of_all(
    data: TrainingData, few: TrainingData, train_until: datetime, quick: Callable[..., JointModel]
) -> None:
    whole, part = (learn(each, train_until, quick()) for each in (data, few))
    risks = [each.model.hazard_.risk(data.every_hour.rows[::6])[:, -1] for each in (whole, part)]

    soon = data.every_hour.until_event_h[::6] <= 24
    told = [float(roc_auc_score(soon, risk)) for risk in risks]
    assert told[1] == pytest.approx(told[0], abs=0.1)
    assert risks[1].mean() == pytest.approx(risks[0].mean(), rel=0.5)
    assert LINKS_SHARE not in whole.facts
    assert part.facts[LINKS_SHARE] == round(few.links_share, 4)


def test_links_are_drawn_by_their_names_alone() -> None:
    names = [f"leaf{i:04}:Ethernet1" for i in range(4000)]
    sample = LinkSample(frozenset(names[:10]), 0.25)

    assert sample.drawn(names).mean() == pytest.approx(0.25, abs=0.03)
    assert sample.stands_for(names[:10]).tolist() == [1.0] * 10
    assert set(sample.stands_for(names[10:])) == {0.0, 4.0}
    assert LinkSample(frozenset()).drawn(names).all()


def test_ports_device_by_device_have_the_features_of_all_at_once(fleet_lake: Lake, train_until: datetime) -> None:
    fleet = Fleet.load(fleet_lake).as_of(train_until)
    times = [train_until.replace(hour=hour) for hour in (0, 5, 11)]
    (whole,) = FeaturePipeline().blocks(LakeTiles(fleet_lake), fleet, times)
    engine = Narrow(20 * MIB, 1)

    (found,) = fleet_blocks(fleet_lake, fleet, times, whole.cube.ports, engine, ports_at_once(engine))

    assert whole.cube.ports.equals(found.cube.ports)
    assert whole.history.links == found.history.links
    port, time = np.nonzero(whole.present)
    assert np.array_equal(whole.present, found.present)
    assert np.array_equal(whole.first, found.first)
    assert np.array_equal(whole.matrix(port, time), found.matrix(port, time), equal_nan=True)


def test_a_cluster_has_no_more_room_for_rows_than_this_machine() -> None:
    assert room(Narrow(1 << 40, 100)) < 1 << 40
    assert 50 * MIB == room(Narrow(100 * MIB, 1))


_PEAK = """
import re, sys
from datetime import datetime
from pathlib import Path
from features.engine import Here
from features.pipeline import FeaturePipeline
from ingest.lake import Lake
from models.joint import JointModel
from models.train import train

model = JointModel(FeaturePipeline().names, FeaturePipeline().signs, rounds=20, fault_rounds=4)
artifact = train(Lake(sys.argv[1]), datetime.fromisoformat(sys.argv[2]), engine=Here(int(sys.argv[3])), model=model)
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
print(peak, artifact.facts["links_share"])
"""
# Not ru_maxrss: a child's begins with the size of the process that started it.


@pytest.mark.slow
def test_training_stays_within_the_memory_given_however_large_the_fleet(
    fleet_lake: Lake, train_until: datetime, tmp_path: Path
) -> None:
    lake, memory = Lake(str(tmp_path / "lake")), 768 * MIB
    for table in (PORT_SAMPLES, LANE_SAMPLES, *(TABLES[name] for name in ("modules", "links", "tickets"))):
        lake.append(table, fleet_lake.scan(table).collect())
    for table in (LANE_TILES, PORT_TILES, LANE_DAYS, PORT_DAYS):
        tiles = fleet_lake.scan(table).collect()
        for i in range(10):
            lake.append(table, tiles.with_columns(device=pl.lit("z" * i) + pl.col("device")))

    command = [sys.executable, "-c", _PEAK, lake.uri, train_until.isoformat(), str(memory)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)

    peak, share = run.stdout.split()
    assert memory >= int(peak)
    assert 0 < float(share) < 1
