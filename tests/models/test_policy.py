"""When a risk becomes an alarm, when the alarm ends, and what its thresholds cost."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from models.policy import (
    Change,
    Policy,
    Scored,
    Standing,
    Unseen,
    Verb,
    calm_storms,
    fit_policy,
    persistent,
)

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
POLICY = Policy(watch=0.2, act=0.5, act_reason="", sure=0.4)
WATCH = Standing(NOW - timedelta(days=3), "watch")

Floats = NDArray[np.float32]


def _scores(*risks: float) -> list[Scored]:
    """Hourly, the last one is now."""
    return [Scored(NOW - timedelta(hours=len(risks) - 1 - i), risk) for i, risk in enumerate(risks)]


def _decide(
    *risks: float,
    policy: Policy = POLICY,
    standing: Standing | None = None,
    busy: bool = False,
    touched_at: datetime | None = None,
) -> Change | None:
    return policy.decide(_scores(*risks), standing, busy=busy, touched_at=touched_at)


class TestRaise:
    @pytest.mark.parametrize(
        ("risks", "raised"),
        [
            ((0.3,), False),
            ((0.1, 0.3), False),
            ((0.3, 0.3), True),
            ((0.3, 0.1, 0.3), True),
            ((0.3, 0.1, 0.1, 0.3), False),
            ((0.3, 0.3, 0.1), False),
            ((0.2, 0.2), True),
            ((0.19, 0.19, 0.19), False),
        ],
    )
    def test_two_of_the_last_three_scores_must_reach_the_threshold_the_newest_among_them(
        self, risks: tuple[float, ...], raised: bool
    ) -> None:
        change = _decide(*risks)

        assert raised == (change is not None)
        assert change is None or Change(Verb.RAISE, "watch") == change

    def test_a_sure_risk_needs_no_second_score(self) -> None:
        assert Change(Verb.RAISE, "watch") == _decide(0.0, 0.0, 0.4)

    def test_act_has_a_threshold_of_its_own(self) -> None:
        assert Change(Verb.RAISE, "watch") == _decide(0.49, 0.49, 0.49)
        assert Change(Verb.RAISE, "act") == _decide(0.1, 0.5, 0.5)

    def test_being_sure_of_watch_is_not_being_sure_of_act(self) -> None:
        far = replace(POLICY, act=0.9)

        assert Change(Verb.RAISE, "watch") == _decide(0.45, policy=far)
        assert Change(Verb.RAISE, "act") == _decide(0.95, policy=far)

    def test_without_a_threshold_there_is_no_act(self) -> None:
        assert Change(Verb.RAISE, "watch") == _decide(1.0, 1.0, policy=replace(POLICY, act=None))

    def test_where_people_are_at_work_nothing_is_raised(self) -> None:
        assert _decide(1.0, 1.0, 1.0, busy=True) is None


class TestStanding:
    def test_an_alarm_stands_while_risk_does_not_stay_low(self) -> None:
        """Hysteresis: low is well below the threshold, and for a day."""
        assert _decide(*[0.01] * 23, 0.09, standing=WATCH) is None
        assert _decide(0.09, *[0.01] * 23, standing=WATCH) is None

    def test_it_ends_when_risk_has_stayed_low_for_a_day(self) -> None:
        change = _decide(*[0.07] * 24, standing=WATCH)

        assert Change(Verb.CLEAR, why="risk has fallen") == change

    def test_what_was_before_the_last_day_is_forgotten(self) -> None:
        assert _decide(0.9, *[0.01] * 24, standing=WATCH) is not None

    def test_it_stands_a_day_at_least(self) -> None:
        young = Standing(NOW - timedelta(hours=23), "watch")

        assert _decide(*[0.0] * 24, standing=young) is None

    def test_it_ends_with_a_repair(self) -> None:
        repaired = WATCH.raised_at + timedelta(hours=1)

        change = _decide(0.9, 0.9, standing=WATCH, touched_at=repaired)

        assert Change(Verb.CLEAR, why="the link was repaired") == change

    def test_a_repair_before_it_is_none_of_its_business(self) -> None:
        assert _decide(0.3, 0.3, standing=WATCH, touched_at=WATCH.raised_at) is None

    def test_it_ends_when_it_has_foretold_nothing_for_too_long(self) -> None:
        old = Standing(NOW - timedelta(days=21), "watch")

        assert _decide(0.3, 0.3, standing=old) is None
        expired = _decide(0.3, 0.3, standing=replace(old, raised_at=old.raised_at - timedelta(hours=1)))
        assert Change(Verb.CLEAR, why="it foretold nothing") == expired

    def test_it_rises_to_act_and_does_not_fall_back(self) -> None:
        assert Change(Verb.LEVEL, "act") == _decide(0.5, 0.5, standing=WATCH)
        assert _decide(0.3, 0.3, standing=replace(WATCH, level="act")) is None

    def test_it_is_not_raised_again(self) -> None:
        assert _decide(0.3, 0.3, standing=WATCH) is None

    def test_people_at_work_do_not_end_it(self) -> None:
        assert _decide(0.3, 0.3, standing=WATCH, busy=True) is None


class TestUnheard:
    def test_a_silent_link_keeps_its_alarm(self) -> None:
        assert POLICY.unheard(WATCH, NOW, exists=True) is None

    def test_but_not_for_ever(self) -> None:
        late = WATCH.raised_at + timedelta(days=22)

        assert Change(Verb.CLEAR, why="it foretold nothing") == POLICY.unheard(WATCH, late, exists=True)

    def test_a_link_that_is_no_longer_there_has_none(self) -> None:
        assert Change(Verb.CLEAR, why="the link is no longer there") == POLICY.unheard(WATCH, NOW, exists=False)


class TestStorms:
    def _links(self, count: int) -> dict[str, list[tuple[str, str, str]]]:
        return {f"C{i}": [("default", "leaf01", f"e{i}"), ("default", f"spine{i:02}", "e0")] for i in range(count)}

    def test_a_few_alarms_on_a_device_are_no_storm(self) -> None:
        assert set() == calm_storms(POLICY, self._links(POLICY.storm))

    def test_more_are_the_device_and_all_are_held_back(self) -> None:
        links = self._links(POLICY.storm + 1)
        elsewhere = {"C99": [("default", "leaf02", "e0"), ("default", "spine99", "e0")]}

        assert set(links) == calm_storms(POLICY, {**links, **elsewhere})

    def test_a_link_between_two_ports_of_a_device_counts_once(self) -> None:
        loops = {
            f"C{i}": [("default", "leaf01", f"e{i}"), ("default", "leaf01", f"e{i + 50}")] for i in range(POLICY.storm)
        }

        assert set() == calm_storms(POLICY, loops)

    def test_devices_of_the_same_name_at_other_sites_are_others(self) -> None:
        links = {f"C{i}": [(f"site{i}", "leaf01", "e0")] for i in range(POLICY.storm + 1)}

        assert set() == calm_storms(POLICY, links)


RISKS = arrays(np.float32, (3, 40), elements=st.floats(0, 1, width=32))
TIED = arrays(np.float32, (12, 2), elements=st.integers(0, 19).map(lambda k: k / 20)).map(
    lambda weeks: weeks.repeat(168, axis=1)
)
"""Two weeks of twelve links, each at one of 20 levels."""


class TestPersistent:
    @given(RISKS)
    def test_it_is_the_level_at_which_the_policy_would_raise(self, risk: Floats) -> None:
        """What the thresholds are fitted on is what decides later."""
        level = persistent(risk, POLICY.need, POLICY.of)

        for t in range(2, risk.shape[1]):
            for limit in (0.25, 0.5):
                policy = Policy(watch=limit, act=None, act_reason="", sure=2.0)
                scores = _scores(*risk[0, t - 2 : t + 1].tolist())
                raised = policy.decide(scores, None, busy=False, touched_at=None) is not None
                assert raised == (level[0, t] >= limit)

    def test_a_gap_is_no_risk(self) -> None:
        risk = np.array([[0.9, np.nan, 0.8, 0.7]], np.float32)

        assert [0.0, 0.0, 0.8, 0.7] == pytest.approx(persistent(risk, 2, 3)[0].tolist())


def _unseen(risk: Floats, healthy: NDArray[np.bool_] | None = None, wait: Floats | None = None) -> Unseen:
    return Unseen(
        risk,
        np.ones(risk.shape, bool) if healthy is None else healthy,
        np.full(risk.shape, np.inf, np.float32) if wait is None else wait,
        2.0,
    )


def _healthy(links: int, weeks: int, seed: int = 1) -> Floats:
    """Healthy links whose risk wanders: each week has its own level, each hour a little noise."""
    rng = np.random.default_rng(seed)
    level = rng.normal(-6, 1, (links, weeks)).repeat(168, axis=1)
    return np.asarray(1 / (1 + np.exp(-level - rng.normal(0, 0.1, level.shape))), np.float32)


class TestUnseen:
    def test_a_week_of_a_link_has_one_peak(self) -> None:
        risk = np.zeros((2, 336), np.float32)
        risk[0, [5, 9, 200]] = [0.3, 0.4, 0.2]
        risk[1, 335] = 0.1

        assert [0.4, 0.2, 0.1] == pytest.approx(_unseen(risk).peaks(risk).tolist())

    def test_what_is_not_healthy_has_none(self) -> None:
        risk = np.full((1, 168), 0.3, np.float32)

        assert 0 == _unseen(risk, healthy=np.zeros(risk.shape, bool)).peaks(risk).size

    def test_budgets_count_modules_not_links(self) -> None:
        assert 2 * 3 * 2.0 == _unseen(np.zeros((3, 336), np.float32)).module_weeks

    def test_a_failure_is_caught_by_the_highest_level_early_enough(self) -> None:
        """It fails at hour 100.25; levels of its last day come too late for a lead of a day."""
        risk = np.zeros((1, 100), np.float32)
        risk[0, 60], risk[0, 90] = 0.2, 0.6
        wait = (100.25 - np.arange(100, dtype=np.float32))[None, :]

        unseen = _unseen(risk, wait=wait)

        assert [0.6] == pytest.approx(unseen.caught(risk, 1.0).tolist())
        assert [0.2] == pytest.approx(unseen.caught(risk, 24.0).tolist())

    def test_a_failure_that_nothing_foretold_counts_as_missed(self) -> None:
        wait = np.full((1, 10), np.inf, np.float32)
        wait[0, :3] = [3.0, 2.0, 1.0]

        assert [0.0] == _unseen(np.full((1, 10), 0.5, np.float32), wait=wait).caught(
            np.ones((1, 10), np.float32), 24.0
        ).tolist()


class TestFit:
    def test_watch_costs_its_budget(self) -> None:
        unseen = _unseen(_healthy(links=400, weeks=10))
        allowed = 1.0 * unseen.module_weeks / 1000

        policy = fit_policy(unseen)

        level = persistent(unseen.risk, policy.need, policy.of)
        assert int(allowed) == (unseen.peaks(level) >= policy.watch).sum()
        assert int(allowed / 2) >= (unseen.peaks(unseen.risk) >= policy.sure).sum()

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
        assert unseen.risk.max() <= policy.act
        assert "" == policy.act_reason

    def test_too_short_a_history_does_not_bear_act_and_says_so(self) -> None:
        policy = fit_policy(_unseen(_healthy(40, 2)))

        assert policy.act is None
        assert "160 healthy module-weeks are too few; 1,000 are needed" == policy.act_reason

    def test_where_failures_are_many_watch_may_cost_more(self) -> None:
        """Twenty failures, foretold at a level that the budget alone would miss."""
        risk = _healthy(200, 4)
        healthy = np.ones(risk.shape, bool)
        wait = np.full(risk.shape, np.inf, np.float32)
        wait[:20, -100:] = np.arange(100, 0, -1)
        healthy[:20, -168:] = False
        risk[:20, -100:] = 1.01 * fit_policy(_unseen(risk, healthy), watch_budget=5.0).watch

        strict = fit_policy(_unseen(risk, healthy))
        generous = fit_policy(_unseen(risk, healthy, wait))

        assert generous.watch < strict.watch
        assert (risk[:20, -100:] >= generous.watch).all()
        assert generous.act == pytest.approx(strict.act)

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

    @given(TIED, st.floats(50, 5_000))
    def test_weeks_of_equal_peaks_do_not_overspend_the_budget(self, risk: Floats, budget: float) -> None:
        """Trees give many rows the very same risk: a threshold at such a level would let all of them through."""
        unseen = _unseen(risk)
        allowed = budget * unseen.module_weeks / 1000

        policy = fit_policy(unseen, watch_budget=budget)

        peaks = unseen.peaks(persistent(unseen.risk, policy.need, policy.of))
        assert allowed >= peaks.size or (peaks >= policy.watch).sum() <= allowed


def test_a_policy_survives_its_manifest() -> None:
    policy = fit_policy(_unseen(_healthy(40, 2)))

    assert policy == Policy.from_dict(json.loads(json.dumps(policy.to_dict())))
