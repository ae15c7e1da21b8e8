"""The score of ramps: what may raise it, what it learns, and that it is the same after a journey through JSON."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from features.pipeline import FeaturePipeline
from models.ramps import RAMPS, RampModel

NAMES = ("rx_spent_6h", "flaps_24h", "volt_dip_24h", "no_ramp")
SIGNS = (1, 1, -1, 1)
Floats = NDArray[np.float32]


def _fleet(links: int = 4000, seed: int = 3) -> tuple[Floats, NDArray[np.bool_], NDArray[np.float64]]:
    """Links that fail the more the more of their way is spent; flaps say nothing, and voltage never dips."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((links, len(NAMES)), np.float32)
    rows[:, 0], rows[:, 1], rows[:, 3] = rng.random(links), rng.exponential(1, links), rng.random(links)
    fails = rng.random(links) < 1 / (1 + np.exp(6 - 8 * rows[:, 0]))
    return rows, fails, np.ones(links)


@pytest.fixture(name="fitted", scope="module")
def _fitted() -> RampModel:
    return RampModel(NAMES, SIGNS).fit(*_fleet())


def test_every_ramp_is_of_a_feature_of_links(pipeline: FeaturePipeline) -> None:
    assert set() == set(RAMPS) - set(pipeline.names)


def test_every_ramp_stands_on_a_feature_with_a_direction(pipeline: FeaturePipeline) -> None:
    signs = dict(zip(pipeline.names, pipeline.signs, strict=True))

    assert [] == [name for name in RAMPS if not signs[name]]


def test_what_is_spent_raises_the_score_and_what_says_nothing_hardly_does(fitted: RampModel) -> None:
    rows = np.zeros((3, len(NAMES)), np.float32)
    rows[1, 0], rows[2, 1] = 0.8, 2.0

    base, spent, flaps = fitted.score(rows)

    assert 3.0 < spent - base
    assert flaps - base < 0.5


def test_true_odds_are_found_again(fitted: RampModel) -> None:
    rows = np.zeros((3, len(NAMES)), np.float32)
    rows[:, 0] = (0.5, 0.75, 0.95)

    assert [-2.0, 0.0, 1.6] == pytest.approx(fitted.score(rows).tolist(), abs=0.6)


def test_no_coefficient_is_negative_even_where_the_data_say_so() -> None:
    rows, fails, weight = _fleet()

    model = RampModel(NAMES, SIGNS).fit(rows, ~fails, weight)

    assert (model.weight_ >= 0).all()
    assert not model.weight_[:3].any()


def test_what_is_missing_adds_nothing(fitted: RampModel) -> None:
    rows = np.full((1, len(NAMES)), np.nan, np.float32)

    assert [fitted.intercept_] == fitted.score(rows).tolist()


def test_contributions_sum_to_the_score(fitted: RampModel) -> None:
    rows, _, _ = _fleet(50, seed=9)

    total = fitted.contributions(rows).sum(axis=1) + fitted.intercept_

    assert fitted.score(rows) == pytest.approx(total, abs=1e-5)


def test_a_failure_may_weigh_as_much_as_many_rows() -> None:
    rows, fails, weight = _fleet()

    often = RampModel(NAMES, SIGNS).fit(rows, fails, np.where(fails, 10.0, 1.0))

    assert RampModel(NAMES, SIGNS).fit(rows, fails, weight).score(rows[:1]) < often.score(rows[:1])


def test_the_journey_through_json_changes_nothing(fitted: RampModel) -> None:
    rows, _, _ = _fleet(50, seed=9)

    again = RampModel.from_dict(json.loads(json.dumps(fitted.to_dict())), NAMES, SIGNS)

    assert np.array_equal(fitted.score(rows), again.score(rows))


def test_ramps_of_other_code_are_refused(fitted: RampModel) -> None:
    with pytest.raises(ValueError, match="other ones"):
        RampModel.from_dict(fitted.to_dict(), NAMES[1:], SIGNS[1:])
