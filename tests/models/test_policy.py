"""When a risk becomes an alarm, and when the alarm ends."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from models.policy import Change, Policy, Scored, Standing, Verb, calm_storms
from models.policy_fit import persistent

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

    @pytest.mark.parametrize(("hours", "raised"), [(1, False), (23, False), (25, True)])
    def test_none_is_raised_while_windows_still_see_what_was_mended(self, hours: int, *, raised: bool) -> None:
        found = _decide(0.9, 0.9, touched_at=NOW - timedelta(hours=hours))

        assert raised == (found is not None)

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
        assert {} == calm_storms(POLICY, self._links(POLICY.storm))

    def test_more_are_the_device_and_all_are_held_back(self) -> None:
        links = self._links(POLICY.storm + 1)
        elsewhere = {"C99": [("default", "leaf02", "e0"), ("default", "spine99", "e0")]}

        calmed = calm_storms(POLICY, {**links, **elsewhere})

        assert set(links) == set(calmed)
        assert {f"{POLICY.storm + 1} new alarms at once on leaf01, more than {POLICY.storm}"} == {
            why.partition(":")[0] for why in calmed.values()
        }

    def test_a_link_between_two_ports_of_a_device_counts_once(self) -> None:
        loops = {
            f"C{i}": [("default", "leaf01", f"e{i}"), ("default", "leaf01", f"e{i + 50}")] for i in range(POLICY.storm)
        }

        assert {} == calm_storms(POLICY, loops)

    def test_devices_of_the_same_name_at_other_sites_are_others(self) -> None:
        links = {f"C{i}": [(f"site{i}", "leaf01", "e0")] for i in range(POLICY.storm + 1)}

        assert {} == calm_storms(POLICY, links)


RISKS = arrays(np.float32, (3, 40), elements=st.floats(0, 1, width=32))


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
