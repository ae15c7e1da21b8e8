"""Training as of a time: what it looks at, what it says of itself, and when there is too little."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from features.day_tables import LANE_DAYS, PORT_DAYS
from features.engine import Pool
from features.fleet import Fleet
from features.pipeline import FeaturePipeline
from features.tiles import LANE_TILES, PORT_TILES
from ingest.errors import ModelError
from ingest.lake import Lake
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, TABLES
from models.artifact import Artifact
from models.base import FAULTS, HORIZONS_H
from models.joint import JointModel
from models.policy import ALARM_HORIZON_H
from models.train import train, unseen_risks
from models.training_data import TrainingData, training_data


def test_nothing_later_than_until_is_looked_at(data: TrainingData, train_until: datetime) -> None:
    assert train_until == data.times[-1]
    assert data.rows.time_s.max() <= train_until.timestamp()
    assert data.every_hour.hour.max() == len(data.times) - 1
    assert data.events["opened_at"].max() <= train_until  # type: ignore[operator]  # there are events


def test_the_first_days_are_left_to_warm_up(data: TrainingData, fleet_lake: Lake) -> None:
    first = fleet_lake.dates(PORT_SAMPLES)[0]

    assert datetime(first.year, first.month, first.day, tzinfo=UTC) + timedelta(days=2) == data.times[0]


def test_rows_are_in_the_pipelines_columns(data: TrainingData, pipeline: FeaturePipeline) -> None:
    assert np.float32 == data.rows.rows.dtype
    assert (data.rows.link.shape[0], len(pipeline.names)) == data.rows.rows.shape
    assert not np.isinf(data.rows.rows).any()


def test_each_failure_is_learnt_from_until_the_hour_before_it(data: TrainingData) -> None:
    """Whatever was sampled: of each event there is a row within its last six hours, unless its link was silent."""
    waits = pl.DataFrame({"event": data.rows.event, "wait": data.rows.until_event_h}).filter(pl.col("event") >= 0)
    nearest = waits.group_by("event").agg(pl.col("wait").min())

    counted = data.events.filter(pl.col("verdict") == "counted")
    assert 0.8 * counted.height <= (nearest["wait"] <= 6).sum()
    assert waits["wait"].min() > 0  # type: ignore[operator]  # there are rows


def test_a_fault_is_told_from_both_ends(data: TrainingData) -> None:
    """Of rows of the two ends of a link at one time one says here, the other there, of the same type."""
    known = data.fault >= 0
    pairs: dict[tuple[str, float], list[int]] = {}
    for link, time, fault in zip(data.rows.link[known], data.rows.time_s[known], data.fault[known], strict=True):
        pairs.setdefault((link, time), []).append(int(fault))
    both = [faults for faults in pairs.values() if len(faults) == 2]

    assert 50 < len(both)
    assert {1} == {abs(one - two) for one, two in both}
    assert all(FAULTS[one].turned() == FAULTS[two] for one, two in both)


def test_every_hour_has_one_row_of_each_link_that_speaks(data: TrainingData) -> None:
    every = data.every_hour
    keys = {(link, int(hour)) for link, hour in zip(every.link, every.hour, strict=True)}

    assert len(keys) == every.hour.shape[0]
    assert len(set(data.rows.link)) == len({link for link, _ in keys})


def test_time_before_a_failure_is_not_healthy(data: TrainingData) -> None:
    every = data.every_hour

    assert (every.until_event_h[every.healthy] > 30 * 24).all()
    assert 0.02 < every.healthy.mean() < 1


def test_risks_that_the_policy_is_fitted_on_are_of_links_not_seen(
    data: TrainingData, quick: Callable[..., JointModel]
) -> None:
    model = quick().fit(data.rows, data.fault)

    unseen = unseen_risks(data, model)

    links = sorted(set(data.every_hour.link))
    assert (len(links), len(data.times)) == unseen.risk.shape
    assert 1.0 <= unseen.modules_per_link <= 2.0
    where = int(np.flatnonzero(data.every_hour.link == links[3])[0])
    row, hour = data.every_hour.rows[where : where + 1], int(data.every_hour.hour[where])
    expected = model.predict_unseen(row, np.array([links[3]], object))[0, HORIZONS_H.index(ALARM_HORIZON_H)]
    assert expected == unseen.risk[3, hour]


class TestTrain:
    def test_a_model_says_what_it_was_made_of(
        self, artifact: Artifact, data: TrainingData, train_until: datetime
    ) -> None:
        facts = artifact.facts

        assert train_until == artifact.trained_until
        assert data.rows.rows.shape[0] == facts["rows"]
        assert data.events.filter(pl.col("verdict") == "counted").height == facts["failures"]
        assert facts["failures"] == sum(facts["failures_by_type"].values())
        assert data.events.height == sum(facts["tickets_by_verdict"].values())
        assert facts == json.loads(json.dumps(facts, allow_nan=False))
        assert "None" not in facts["failures_by_type"]

    def test_a_watch_threshold_is_found(self, artifact: Artifact) -> None:
        assert 0 < artifact.policy.watch < 1
        assert artifact.policy.watch <= artifact.policy.sure
        assert artifact.policy.act is None
        assert "healthy module-weeks are too few" in artifact.policy.act_reason

    def test_training_again_gives_the_same_version(
        self, fleet_lake: Lake, train_until: datetime, artifact: Artifact
    ) -> None:
        """And the version is of all that decides: trees, calibration, policy, code of the features."""
        steps: list[tuple[str, float]] = []

        again = train(fleet_lake, train_until, lambda step, done: steps.append((step, done)))

        assert artifact.version == again.version
        assert artifact.policy == again.policy
        assert artifact.facts == again.facts
        assert ["features", "model", "alarm policy"] == list(dict.fromkeys(step for step, _ in steps))
        assert [1.0] * 3 == [max(done for step, done in steps if step == name) for name in dict(steps)]

    def test_an_earlier_time_gives_another_model(
        self, fleet_lake: Lake, train_until: datetime, artifact: Artifact
    ) -> None:
        earlier = train(fleet_lake, train_until - timedelta(days=2))

        assert artifact.version != earlier.version
        assert earlier.facts["rows"] < artifact.facts["rows"]


class TestTooLittle:
    def test_an_empty_lake_holds_no_telemetry(self, tmp_path: Path, train_until: datetime) -> None:
        with pytest.raises(ModelError, match="holds no telemetry: forelight import DIR"):
            train(Lake(str(tmp_path / "lake")), train_until)

    @pytest.mark.parametrize(("days", "hours"), [(-30, 0), (2, 1), (8, 145)])
    def test_less_than_a_week_after_the_warm_up_is_too_little(
        self, fleet_lake: Lake, data: TrainingData, days: int, hours: int
    ) -> None:
        until = data.times[0] - timedelta(days=2) + timedelta(days=days)

        with pytest.raises(ModelError, match=rf"^{hours} hours of telemetry before .*: a week is needed$"):
            train(fleet_lake, until)

    def test_without_tickets_there_is_no_failure_to_learn_from(
        self, fleet_lake: Lake, data: TrainingData, tmp_path: Path
    ) -> None:
        lake = Lake(str(tmp_path / "lake"))
        until = data.times[0] + timedelta(days=7)
        for table in (PORT_SAMPLES, LANE_TILES, PORT_TILES, LANE_DAYS, PORT_DAYS):
            lake.append(table, fleet_lake.scan(table, until=until).collect())

        with pytest.raises(ModelError, match="there is no failure to learn from"):
            train(lake, until)

    def test_without_tiles_there_is_nothing_to_learn_from(
        self, fleet_lake: Lake, data: TrainingData, tmp_path: Path
    ) -> None:
        lake = Lake(str(tmp_path / "lake"))
        for table in (LANE_SAMPLES, PORT_SAMPLES):
            lake.append(table, fleet_lake.scan(table).collect())

        with pytest.raises(ModelError, match="there is no failure to learn from"):
            train(lake, data.times[-1])


@pytest.mark.slow
def test_rows_do_not_depend_on_who_computes_them(fleet_lake: Lake, data: TrainingData) -> None:
    """To the bit, from a pool whose pieces come in any order."""
    told: list[float] = []
    with Pool(2) as pool:
        pooled = training_data(fleet_lake, data.times[-1], told.append, pool)

    assert np.array_equal(data.rows.rows, pooled.rows.rows, equal_nan=True)
    assert np.array_equal(data.every_hour.rows, pooled.every_hour.rows, equal_nan=True)
    assert data.rows.place.equals(pooled.rows.place)
    assert 1.0 == told[-1]


def test_what_came_after_until_changes_nothing(fleet_lake: Lake, data: TrainingData, tmp_path: Path) -> None:
    """The same rows, to the bit, from a lake in which the rest has not been received yet."""
    until = data.times[-1]
    known = Fleet.load(fleet_lake).as_of(until)
    lake = Lake(str(tmp_path / "lake"))
    for table in (PORT_SAMPLES, LANE_TILES, PORT_TILES, LANE_DAYS, PORT_DAYS):
        lake.append(table, fleet_lake.scan(table, until=until).collect())
    for name in ("modules", "links", "tickets", "repairs", "maintenance"):
        lake.append(TABLES[name], getattr(known, name))

    cut = training_data(lake, until)

    assert np.array_equal(data.rows.rows, cut.rows.rows, equal_nan=True)
    assert np.array_equal(data.rows.weight, cut.rows.weight)
    assert np.array_equal(data.rows.until_event_h, cut.rows.until_event_h)
    assert np.array_equal(data.fault, cut.fault)
    assert np.array_equal(data.every_hour.healthy, cut.every_hour.healthy)
    assert data.events.equals(cut.events)
