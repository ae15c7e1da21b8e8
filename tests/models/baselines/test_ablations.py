"""Models that see less: what they do not see changes nothing, and the worse end speaks for the link."""

from collections.abc import Callable
from datetime import datetime

import numpy as np
import pytest

from features.fleet import Fleet
from features.pipeline import Block, FeaturePipeline
from ingest.lake import Lake
from models.artifact import Artifact
from models.base import FAULTS
from models.baselines.ablations import ABLATIONS, Ablated, PartialModel, ablated
from models.joint import JointModel
from models.policy import Policy
from models.train import train
from models.training_data import TrainingData
from models.walk import Walk, Work

Partial = Callable[[str], PartialModel]

PIPELINE = FeaturePipeline()


@pytest.fixture(name="partial", scope="module")
def _partial(data: TrainingData) -> Partial:
    """A fitted model of few rounds."""
    made: dict[str, PartialModel] = {}

    def fit(name: str) -> PartialModel:
        if name not in made:
            kept = frozenset(column for column in PIPELINE.own_names if ABLATIONS[name](column))
            model = PartialModel(PIPELINE.names, PIPELINE.signs, rounds=12, fault_rounds=4, folds=2, kept=kept)
            made[name] = model.fit(data.rows, data.fault)
        return made[name]

    return fit


@pytest.mark.parametrize("name", ABLATIONS)
def test_what_is_hidden_changes_no_answer(partial: Partial, data: TrainingData, name: str) -> None:
    model = partial(name)
    rows = data.rows.rows[:500].copy()
    other = rows.copy()
    other[:, [column not in model.kept for column in model.names]] = 3.0

    before, after = model.predict(rows, model.names), model.predict(other, model.names)

    assert np.array_equal(before.risk, after.risk)
    assert np.array_equal(before.fault, after.fault)
    assert np.array_equal(before.risk, model.risk(other))
    assert np.array_equal(before.fault, model.fault(other))
    assert (before.risk.std(axis=0) > 0).all()
    assert len(FAULTS) == before.fault.shape[1]


@pytest.mark.parametrize("name", ABLATIONS)
def test_only_what_is_kept_is_learnt_from(partial: Partial, name: str) -> None:
    model = partial(name)

    assert set(model.importance(500)) - {"interval"} <= model.kept


def test_light_alone_is_light_current_heat_and_voltage(partial: Partial) -> None:
    kept = partial("light alone").kept

    assert {"rx_min_shift_6h", "bias_max_sigmas_24h", "volt_dip_24h", "rx_dark_share_24h"} <= kept
    others = ("ber", "flaps", "uncorrected", "crc", "down", "los", "fault", "missing", "age", "lot", "peer", "loss")
    assert [] == [column for column in kept if column.startswith(others)]


def test_one_end_alone_has_nothing_of_the_far_end_or_the_link(partial: Partial) -> None:
    assert set(PIPELINE.own_names) == partial("one end alone").kept


def test_the_worse_end_speaks_for_the_link(partial: Partial, block: Block, train_until: datetime) -> None:
    """Whichever end is read first: with the two ends' readings exchanged the link has the same risk."""
    model = partial("one end alone")
    policy = Policy(watch=1e-9, act=None, act_reason="", sure=1e-9, storm=1000, settle_h=0)
    walk = Walk(Artifact(model, policy, train_until, {}, "partial"), Work({}))

    Ablated(walk).feed(block)

    time, port = np.nonzero(block.first.T)
    peer = block.history.peer[port]
    both = (peer >= 0) & block.present[peer, time]
    own, far = (model.risk(block.matrix(ends[both], time[both]))[:, -1] for ends in (port, peer))
    assert (far > own).any()
    links = np.array(block.history.links, object)[port[both]]
    first = time[both] == 0
    worse = dict(zip(links[first], np.fmax(own, far)[first], strict=True))
    told = {alarm.link_id: alarm.risk_168h for alarm in walk.alarms if alarm.raised_at == block.history.at[0]}
    assert worse.keys() <= told.keys()
    assert all(worse[link] == pytest.approx(told[link], abs=2e-6) for link in worse)


@pytest.mark.slow
def test_a_partial_model_is_trained_like_the_whole_one(
    fleet_lake: Lake, fleet: Fleet, train_until: datetime, artifact: Artifact
) -> None:
    steps: list[str] = []

    found = ablated(fleet_lake, fleet, train_until, "light alone", lambda step, _: steps.append(step))

    made = found.walk.artifact
    assert {"features", "model", "alarm policy"} <= set(steps)
    assert artifact.version != made.version
    assert artifact.facts["failures"] == made.facts["failures"]
    assert 0 < made.policy.watch < 1


@pytest.mark.slow
def test_a_model_that_is_handed_in_is_the_one_that_is_trained(fleet_lake: Lake, train_until: datetime) -> None:
    model = JointModel(PIPELINE.names, PIPELINE.signs, rounds=3, fault_rounds=2, folds=2)

    assert train(fleet_lake, train_until, model=model).model is model
