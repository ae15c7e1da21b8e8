"""The joint estimator: what it learns from, and what physics and symmetry demand of it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from features.pipeline import Block, FeaturePipeline
from ingest.errors import ModelError
from models.base import FAULTS, HORIZONS_H, TURNED
from models.hazard import Hazard, about_to_fail
from models.joint import JointModel
from models.rows import RiskSet
from models.training_data import TrainingData

Quick = Callable[..., JointModel]
Floats = NDArray[np.float32]


@pytest.fixture(name="fitted", scope="module")
def _fitted(quick: Quick, data: TrainingData) -> JointModel:
    return quick(rounds=40, fault_rounds=20).fit(data.rows, data.fault)


@pytest.fixture(name="both_ends", scope="module")
def _both_ends(block: Block) -> tuple[Floats, Floats]:
    """Rows of links of which both ends speak, seen from one and from the other end."""
    peer = block.history.peer
    port, time = np.nonzero(block.first & (peer >= 0)[:, None] & block.present[peer])
    return block.matrix(port, time), block.matrix(peer[port], time)


def _of_links(data: RiskSet, chosen: NDArray[np.bool_]) -> RiskSet:
    arrays = ("rows", "link", "until_event_h", "event", "leads", "observed_h", "first", "weight", "time_s")
    return replace(data, **{name: getattr(data, name)[chosen] for name in arrays}, place=data.place.filter(chosen))


def _failing(data: RiskSet, links: int) -> RiskSet:
    """Only so many of the links fail."""
    failing = sorted(set(data.link[np.isfinite(data.until_event_h)]))
    left_out = set(failing[links:])
    return _of_links(data, np.array([name not in left_out for name in data.link], bool))


def _rows_of(rng: np.random.Generator, names: tuple[str, ...], *, told: bool) -> RiskSet:
    """Three thousand links, a row each; where `told`, those whose a is far from 0 fail more."""
    count = 3000
    rows = rng.normal(size=(count, len(names))).astype(np.float32)
    odds = np.where(np.abs(rows[:, 1]) > 1, 0.4, 0.02) if told else np.full(count, 0.15)
    fails = rng.random(count) < odds
    number = np.arange(count)
    return RiskSet(
        rows,
        np.array([f"link{i}" for i in number], object),
        np.where(fails, 20.0, np.inf),
        np.where(fails, number, -1),
        fails.astype(np.float64),
        np.full(count, 500.0),
        np.ones(count, bool),
        np.full(count, 6.0),
        number.astype(np.float64) * 3600,
        pl.DataFrame({"site": ["x"] * count, "device": ["y"] * count, "interface": [str(i) for i in number]}),
    )


class TestRisk:
    def test_both_ends_of_a_link_are_given_the_same_risk(
        self, fitted: JointModel, both_ends: tuple[Floats, Floats]
    ) -> None:
        near, far = (fitted.predict(rows, fitted.names).risk for rows in both_ends)

        assert 100 < near.shape[0]
        assert np.array_equal(near, far)

    @pytest.mark.parametrize("step", [0.1, 5.0])
    def test_risk_never_falls_where_physics_says_that_it_can_only_rise(
        self, fitted: JointModel, data: TrainingData, step: float
    ) -> None:
        rows = data.rows.rows[:: data.rows.rows.shape[0] // 20]
        signed = [j for j, sign in enumerate(fitted.signs) if sign]
        worse = np.tile(rows, (len(signed), 1, 1))
        for k, j in enumerate(signed):
            worse[k, :, j] += fitted.signs[j] * step

        before = fitted.predict(rows, fitted.names).risk
        after = fitted.predict(worse.reshape(-1, rows.shape[1]), fitted.names).risk.reshape(len(signed), -1, 6)

        fallen = [fitted.names[j] for k, j in enumerate(signed) if (after[k] < before - 1e-6).any()]
        assert [] == fallen
        assert (after > before + 1e-6).any()

    def test_links_that_fail_soon_are_given_more_risk(self, fitted: JointModel, data: TrainingData) -> None:
        soon = data.rows.until_event_h <= 24

        risk = fitted.predict(data.rows.rows, fitted.names).risk[:, HORIZONS_H.index(24)]

        assert 0.6 < (risk[soon, None] > risk[None, ~soon]).mean()

    def test_out_of_fold_scorers_are_used_for_the_links_they_have_not_seen(
        self, fitted: JointModel, data: TrainingData
    ) -> None:
        folds = [links for links, _ in fitted.hazard_.out_of_fold_]
        rows = fitted.link_view(data.rows.rows[:1])

        unseen = fitted.predict_unseen(rows, np.array([min(folds[0])], object))
        stranger = fitted.predict_unseen(rows, np.array(["a link of nobody"], object))

        assert set(data.rows.link) == set().union(*folds)
        assert sum(map(len, folds)) == len(set().union(*folds))
        assert np.array_equal(stranger, fitted.predict(data.rows.rows[:1], fitted.names).risk)
        assert not np.array_equal(unseen, stranger)

    def test_what_raises_a_risk_has_the_greatest_contributions(self, fitted: JointModel, data: TrainingData) -> None:
        rows = data.rows.rows[::10]
        risk = fitted.predict(rows, fitted.names).risk[:, HORIZONS_H.index(24)]

        shares = fitted.contributions(rows)

        assert (rows.shape[0], len(fitted.link_names)) == shares.shape
        assert 0.9 < np.corrcoef(np.argsort(np.argsort(risk)), np.argsort(np.argsort(shares.sum(axis=1))))[0, 1]


class TestFault:
    def test_swapping_the_ends_of_a_link_turns_the_fault(
        self, fitted: JointModel, both_ends: tuple[Floats, Floats]
    ) -> None:
        near, far = (fitted.predict(rows, fitted.names).fault for rows in both_ends)

        assert fitted.fault_.trees_ is not None
        assert np.allclose(near, far[:, TURNED], atol=1e-6)
        assert not np.allclose(near, far, atol=1e-3)

    def test_turning_twice_is_the_same_fault(self) -> None:
        assert list(FAULTS) == [FAULTS[TURNED[TURNED[i]]] for i in range(len(FAULTS))]
        assert all(FAULTS[i].here != FAULTS[TURNED[i]].here for i in range(len(FAULTS)))

    def test_a_silent_far_end_is_no_obstacle(self, fitted: JointModel, block: Block) -> None:
        port, time = np.nonzero(block.first)
        rows = block.matrix(port, time, hide_peer=np.ones(port.shape[0], bool))

        fault = fitted.predict(rows, fitted.names).fault

        assert np.allclose(1.0, fault.sum(axis=1), atol=1e-5)

    def test_of_too_few_failures_physics_speaks_alone(self, quick: Quick, data: TrainingData) -> None:
        few = _failing(data.rows, 3)

        model = quick(rounds=5).fit(few, np.full(few.rows.shape[0], -1))

        assert model.fault_.trees_ is None
        assert np.array_equal(model.predict(few.rows[:3], model.names).fault, quick().fault(few.rows[:3]))

    def test_one_kind_of_fault_is_enough(self, quick: Quick, data: TrainingData) -> None:
        """A fleet of which only lasers die is a fleet too."""
        only = np.where(data.fault >= 0, 0, -1)

        model = quick(rounds=5, fault_rounds=20).fit(data.rows, only)

        assert model.predict(data.rows.rows[:50], model.names).fault[:, :2].sum(axis=1).min() > 0.9


class TestFit:
    def test_without_a_failure_there_is_nothing_to_learn(self, quick: Quick, data: TrainingData) -> None:
        rows = _failing(data.rows, 0)

        with pytest.raises(ModelError, match="there is no failure to learn from"):
            quick().fit(rows, np.full(rows.rows.shape[0], -1))

    def test_without_any_row_there_is_nothing_to_learn(self, quick: Quick, data: TrainingData) -> None:
        rows = _of_links(data.rows, np.zeros(data.rows.rows.shape[0], bool))

        with pytest.raises(ModelError, match="there is no failure to learn from"):
            quick().fit(rows, np.empty(0, np.int64))

    @pytest.mark.parametrize("links", [1, 2, 3])
    def test_a_few_failures_give_a_model(self, quick: Quick, data: TrainingData, links: int) -> None:
        """With one failing link there are no folds, so nothing calibrates; with two a fold may see none."""
        rows = _failing(data.rows, links)

        model = quick(rounds=10, folds=3).fit(rows, np.full(rows.rows.shape[0], -1))

        risk = model.predict_unseen(model.link_view(rows.rows), rows.link)
        assert np.isfinite(risk).all()
        assert (risk >= 0).all()
        assert (risk <= 1).all()
        assert (np.diff(risk, axis=1) >= 0).all()

    def test_two_fits_are_equal(self, quick: Quick, data: TrainingData) -> None:
        one, two = (quick(rounds=10).fit(data.rows, data.fault) for _ in range(2))

        first, second = (model.predict(data.rows.rows, model.names).risk for model in (one, two))
        assert np.array_equal(first, second)
        first, second = (model.predict(data.rows.rows, model.names).fault for model in (one, two))
        assert np.array_equal(first, second)

    def test_a_second_fit_forgets_the_first(self, quick: Quick, data: TrainingData) -> None:
        model = quick(rounds=5).fit(data.rows, data.fault)
        few = _failing(data.rows, 1)

        model.fit(few, np.full(few.rows.shape[0], -1))

        assert [] == model.hazard_.out_of_fold_
        assert quick().hazard_.calibration_.to_dict() == model.hazard_.calibration_.to_dict()

    def test_a_failure_weighs_one_however_many_rows_lead_to_it(self, data: TrainingData) -> None:
        once = data.rows.take(np.flatnonzero(data.rows.first))

        fails, weight = about_to_fail(once)

        each = [weight[fails & (once.event == event)].sum() for event in set(once.event[fails])]
        assert 1 < len(each)
        assert [1.0] * len(each) == pytest.approx(each)

    def test_a_rescue_weighs_what_the_bench_says(self, data: TrainingData) -> None:
        once = data.rows.take(np.flatnonzero(data.rows.first))
        rescued = replace(once, leads=once.leads * 0.5)

        assert about_to_fail(once)[1].sum() > about_to_fail(rescued)[1].sum()
        fails, weight = about_to_fail(rescued)
        assert pytest.approx(0.5 * len(set(rescued.event[fails]))) == weight[fails].sum()

    def test_trees_are_kept_only_where_unseen_links_are_better_foretold(self) -> None:
        """Whether a link fails hangs on a column without ramps."""
        rng = np.random.default_rng(5)
        names, signs = ("rx_spent_6h", "a", "b"), (1, 0, 0)
        told, mute = (_rows_of(rng, names, told=told) for told in (True, False))

        learnt = [Hazard(names, signs).fit(rows).fitted.trees is not None for rows in (told, mute)]

        assert [True, False] == learnt

    def test_an_unfitted_model_says_so(self, quick: Quick, pipeline: FeaturePipeline) -> None:
        with pytest.raises(ModelError, match="has not been fitted"):
            quick().predict(np.zeros((1, len(pipeline.names)), np.float32), pipeline.names)


def test_weights_of_rows_are_not_changed_by_fitting(quick: Quick, data: TrainingData) -> None:
    rows = replace(data.rows, rows=data.rows.rows.copy(), weight=data.rows.weight.copy())

    quick(rounds=2).fit(rows, data.fault)

    assert np.array_equal(rows.rows, data.rows.rows, equal_nan=True)
    assert np.array_equal(rows.weight, data.rows.weight)
