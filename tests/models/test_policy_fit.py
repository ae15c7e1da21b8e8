"""What the alarm thresholds cost: budgets of false alarms, bought on links that the model had not seen."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import expit, logit

from models.policy import Policy
from models.policy_fit import Scale, Unseen, fit_policy, persistent

Floats = NDArray[np.float32]

LIFE_H = 21 * 24
TIED = arrays(np.float32, (12, 2), elements=st.integers(0, 19).map(lambda k: k / 20)).map(
    lambda lives: lives.repeat(LIFE_H, axis=1)
)
"""Twice three weeks of twelve links, each at one of 20 levels."""


def _unseen(risk: Floats, healthy: NDArray[np.bool_] | None = None) -> Unseen:
    return Unseen(
        risk,
        np.ones(risk.shape, bool) if healthy is None else healthy,
        np.full(risk.shape, np.inf, np.float32),
        2.0,
    )


def _healthy(links: int, weeks: int, seed: int = 1) -> Floats:
    """Healthy links whose risk wanders: every three weeks have their own level, each hour a little noise."""
    rng = np.random.default_rng(seed)
    level = rng.normal(-6, 1, (links, -(-weeks // 3))).repeat(LIFE_H, axis=1)[:, : weeks * 168]
    return np.asarray(1 / (1 + np.exp(-level - rng.normal(0, 0.1, level.shape))), np.float32)


class TestUnseen:
    def test_the_life_of_an_alarm_has_one_peak_a_link(self) -> None:
        """A link that looks ill for three weeks costs one alarm, not three."""
        risk = np.zeros((2, 2 * LIFE_H), np.float32)
        risk[0, [5, 9, 200, LIFE_H]] = [0.3, 0.4, 0.35, 0.2]
        risk[1, -1] = 0.1

        assert [0.4, 0.2, 0.1] == pytest.approx(_unseen(risk).peaks(risk).tolist())

    def test_what_is_not_healthy_has_none(self) -> None:
        risk = np.full((1, 168), 0.3, np.float32)

        assert 0 == _unseen(risk, healthy=np.zeros(risk.shape, bool)).peaks(risk).size

    def test_budgets_count_modules_not_links(self) -> None:
        assert 2 * 3 * 2.0 == _unseen(np.zeros((3, 336), np.float32)).module_weeks


class TestFit:
    def test_watch_costs_its_budget(self) -> None:
        unseen = _unseen(_healthy(links=400, weeks=10))
        allowed = 4.0 * unseen.module_weeks / 1000

        policy = fit_policy(unseen, watch_budget=4.0)

        level = persistent(unseen.risk, policy.need, policy.of)
        assert int(allowed) == (unseen.peaks(level) >= policy.watch).sum()
        assert int(allowed / 2) >= (unseen.peaks(unseen.risk) >= policy.sure).sum()

    def test_a_budget_of_few_alarms_does_not_hang_on_the_one_peak_that_it_would_be_read_from(self) -> None:
        """Histories of one kind get thresholds closer to one another than their third highest peaks are."""
        histories = [_unseen(_healthy(links=400, weeks=3, seed=seed)) for seed in range(30)]
        assert 2.4 == pytest.approx(histories[0].module_weeks / 1000)

        thresholds = [fit_policy(unseen).watch for unseen in histories]
        third = [unseen.peaks(persistent(unseen.risk, 2, 3))[2] for unseen in histories]

        assert np.std(logit(thresholds)) < 0.9 * np.std(logit(third))
        assert np.mean(logit(thresholds)) == pytest.approx(float(np.mean(logit(third))), abs=0.25)

    @pytest.mark.parametrize("weeks", [2, 5, 30])
    def test_how_risks_are_calibrated_moves_no_threshold(self, weeks: int) -> None:
        """The tail is that of the scores: drawn together or apart, the same links are above, also beyond the data."""
        plain = _unseen(_healthy(400, weeks))
        squeezed = Scale(lambda risk: logit(risk) / 0.3 - 2, lambda score: expit(0.3 * (score + 2)))
        drawn = _unseen(np.asarray(squeezed.risk(logit(plain.risk.astype(np.float64))), np.float32))

        before, after = fit_policy(plain), fit_policy(drawn, squeezed)

        for name in ("watch", "sure", "act"):
            said, told = getattr(before, name), getattr(after, name)
            assert (said is None) == (told is None), name
            if said is not None:
                assert squeezed.of_risk(np.array([told])) == pytest.approx(logit([said]), abs=0.02), name

    def test_the_budget_holds_on_history_that_was_not_seen(self) -> None:
        """Within counting error: 32 false alarms are expected, five standard deviations are 28."""
        policy = fit_policy(_unseen(_healthy(400, 10, seed=1)), watch_budget=4.0)

        later = _unseen(_healthy(400, 10, seed=2))

        false = (later.peaks(persistent(later.risk, policy.need, policy.of)) >= policy.watch).sum()
        assert 32 == pytest.approx(float(false), abs=28)

    def test_act_is_a_far_quantile_above_all_that_was_seen(self) -> None:
        unseen = _unseen(_healthy(400, 10))

        policy = fit_policy(unseen)

        assert policy.act is not None
        assert policy.watch < policy.act < 1.0
        assert 2 >= (unseen.peaks(unseen.risk) >= policy.act).sum()
        assert "" == policy.act_reason

    def test_too_short_a_history_does_not_bear_act_and_says_so(self) -> None:
        policy = fit_policy(_unseen(_healthy(40, 2)))

        assert policy.act is None
        assert "160 healthy module-weeks are too few; 1,000 are needed" == policy.act_reason

    def test_without_any_healthy_time_there_is_still_a_policy(self) -> None:
        risk = np.full((2, 200), 0.1, np.float32)

        policy = fit_policy(_unseen(risk, healthy=np.zeros(risk.shape, bool)))

        assert 0.5 == policy.watch
        assert policy.act is None

    def test_risks_that_nobody_could_compute_are_no_obstacle(self) -> None:
        risk = _healthy(50, 2)
        risk[:, ::7] = np.nan

        assert 0 < fit_policy(_unseen(risk)).watch < 1

    @given(TIED, st.lists(st.floats(0.01, 2_000), min_size=2, max_size=4))
    def test_thresholds_fall_as_the_budget_rises(self, risk: Floats, budgets: list[float]) -> None:
        fitted = [fit_policy(_unseen(risk), watch_budget=budget) for budget in sorted(budgets)]

        watch = [policy.watch for policy in fitted]
        assert sorted(watch, reverse=True) == watch
        assert all(policy.watch <= policy.sure for policy in fitted)

    def test_a_module_more_or_less_is_no_other_policy(self) -> None:
        """A threshold has no step where one false alarm is allowed, nor on the way to where half of one is."""
        unseen = _unseen(_healthy(400, 10))
        budgets = np.linspace(0.4, 1.2, 81) / unseen.module_weeks * 1000

        watch = logit([fit_policy(unseen, watch_budget=budget).watch for budget in budgets])

        assert np.ptp(watch) > 10 * np.abs(np.diff(watch)).max()

    @given(TIED, st.floats(70, 5_000))
    def test_weeks_of_equal_peaks_do_not_overspend_the_budget(self, risk: Floats, budget: float) -> None:
        """Trees give many rows the very same risk: a threshold at such a level would let all of them through.

        Where less than ten are allowed, what is seen is smoothed.
        """
        unseen = _unseen(risk)
        allowed = budget * unseen.module_weeks / 1000

        policy = fit_policy(unseen, watch_budget=budget)

        peaks = unseen.peaks(persistent(unseen.risk, policy.need, policy.of))
        assert allowed >= peaks.size or (peaks >= policy.watch).sum() <= allowed


def test_a_policy_survives_its_manifest() -> None:
    policy = fit_policy(_unseen(_healthy(40, 2)))

    assert policy == Policy.from_dict(json.loads(json.dumps(policy.to_dict())))
