"""From scores to risks: by pieces that never fall, held where they start, right where failures are many."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from models.base import HORIZONS_H, INTERVALS_H
from models.calibration import Calibration
from models.reliability import calibration_line, observed_expected
from models.rows import RiskSet

Floats64 = NDArray[np.float64]
DAY = HORIZONS_H.index(24)


def _rows(until_event_h: Floats64) -> RiskSet:
    """Hours of links that are observed for ever; each stands for itself."""
    n = until_event_h.size
    fails = np.isfinite(until_event_h)
    return RiskSet(
        np.zeros((n, 1), np.float32),
        np.array([f"link{i}" for i in range(n)], object),
        until_event_h,
        np.where(fails, np.arange(n), -1),
        fails.astype(float),
        np.full(n, 1e6),
        np.ones(n, bool),
        np.ones(n),
        np.zeros(n),
        pl.DataFrame({"site": [""] * n, "device": [""] * n, "interface": [""] * n}),
    )


def _fleet(links: int, seed: int = 1) -> tuple[Floats64, RiskSet]:
    """A unit of the score means all its log-odds below -2, a tenth above: what is far gone is hardly surer to fail."""
    rng = np.random.default_rng(seed)
    scores = np.concatenate([rng.normal(-6, 1, links), rng.uniform(-5, 30, links // 20)])
    true = np.minimum(scores, -2) + 0.1 * np.maximum(scores + 2, 0)
    wait = rng.exponential(1 / (0.05 * np.exp(true)))
    return scores, _rows(np.where(wait <= HORIZONS_H[-1], wait, np.inf))


def test_where_failures_are_many_risks_come_true() -> None:
    """The slope of one line through it all is 1, and so is observed over expected in each bin of the top."""
    scores, rows = _fleet(20_000)

    risk = Calibration.start().fitted(rows, scores).risk(scores)

    fails = (rows.until_event_h <= HORIZONS_H[DAY]).astype(float)
    line = calibration_line(risk[:, DAY], fails)
    assert line is not None
    assert line[1] == pytest.approx(1, abs=0.1)
    assert [1, 1, 1] == [pytest.approx(b.ratio, abs=0.2) for b in observed_expected(risk[:, DAY], fails)[1:]]


def test_without_failures_nothing_moves() -> None:
    scores = np.linspace(-8, 10, 50)

    fitted = Calibration.start().fitted(_rows(np.full(50, np.inf)), scores)

    assert Calibration.start().to_dict() == fitted.to_dict()


def test_one_failure_moves_little() -> None:
    """A single surprise among links that look well is no law."""
    scores = np.linspace(-8, -4, 400)
    wait = np.full(400, np.inf)
    wait[0] = 3.0

    fitted = Calibration.start().fitted(_rows(wait), scores)

    assert np.abs(fitted.slope - Calibration.start().slope).max() < 0.3


def test_a_score_of_physics_alone_is_the_log_odds_of_the_week() -> None:
    """Small ones, so that hazards add up; the floor of what nothing foretells is far below."""
    risk = Calibration.of_week().risk(np.array([-5.0, -4.5]))[:, -1]

    assert np.log(risk / (1 - risk)) == pytest.approx([-5.0, -4.5], abs=0.05)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-25, 60), min_size=2, max_size=40, unique=True), st.integers(0, 5))
def test_the_order_of_links_stays_and_horizons_rise(scores: list[float], seed: int) -> None:
    learnt, rows = _fleet(200, seed)
    calibration = Calibration.start().fitted(rows, learnt)

    risk = calibration.risk(np.array(sorted(scores)))

    assert (np.diff(risk, axis=0) >= 0).all()
    assert (np.diff(risk, axis=1) >= 0).all()


def test_scores_are_found_again_from_risks() -> None:
    scores, rows = _fleet(2_000)
    calibration = Calibration.start().fitted(rows, scores)
    asked = np.array([-7.0, -4.0, -1.0, 3.0, 25.0])

    assert calibration.score(calibration.risk(asked)[:, DAY], DAY) == pytest.approx(asked, abs=0.02)


def test_it_comes_back_from_json_and_another_shape_is_refused() -> None:
    kept = json.loads(json.dumps(Calibration.of_week().to_dict()))

    assert kept == Calibration.from_dict(kept).to_dict()
    with pytest.raises(ValueError, match="other intervals or pieces"):
        Calibration.from_dict({**kept, "slope": [1.0] * len(INTERVALS_H)})
