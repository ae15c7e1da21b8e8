"""Which action first: chances and costs counted by hand."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.schema import Action, FailureType
from models.actions import CURES, HOURS, Step, expected_cost_h, first, ranked
from models.base import FAULTS

LASER, DIRT, LOOSE = FailureType.LASER_DEGRADATION, FailureType.CONTAMINATION, FailureType.LOOSE_SEATING


def test_what_is_surely_a_laser_is_replaced_and_nothing_else() -> None:
    assert (Step(Action.REPLACE_TRANSCEIVER, 0.97, 3.5),) == ranked({LASER: 1.0})


def test_dirt_is_cleaned_first_and_then_the_rest_is_tried() -> None:
    """Cleaning cures 85 of 100; of the other 15 replacing the module cures 30 %, the fibre 70 %, reseating 20 %."""
    steps = ranked({DIRT: 1.0})

    assert Step(Action.CLEAN_CONNECTOR, 0.85, 2.25) == steps[0]
    assert {Action.RESEAT: 0.2, Action.REPLACE_FIBER: 0.7, Action.REPLACE_TRANSCEIVER: 0.3} == pytest.approx(
        {step.action: step.cures for step in steps[1:]}
    )


def test_after_an_action_that_did_not_cure_its_faults_are_less_likely() -> None:
    """Half loose, half laser: replacing cures 0.935 for 3.5 h, reseating 0.45 for 2 h, so replacing comes first."""
    one, second = ranked({LOOSE: 0.5, LASER: 0.5})[:2]

    assert (Action.REPLACE_TRANSCEIVER, 3.5) == (one.action, one.cost_h)
    assert pytest.approx(0.935) == one.cures
    assert Action.RESEAT == second.action
    assert pytest.approx(0.9 * 0.05 / (0.05 + 0.015)) == second.cures


def test_the_mean_cost_counts_each_step_as_often_as_it_is_reached() -> None:
    steps = (Step(Action.RESEAT, 0.5, 2.0), Step(Action.REPLACE_TRANSCEIVER, 0.9, 3.5))

    assert 2.0 + 0.5 * 3.5 == expected_cost_h(steps)
    assert 0.0 == expected_cost_h(())


def test_nothing_is_tried_where_nothing_is_known() -> None:
    assert () == ranked({})
    assert () == ranked({FailureType.OTHER: 1.0})


@given(st.dictionaries(st.sampled_from(sorted(FailureType)), st.floats(0.0, 1.0)))
def test_the_first_action_is_that_of_the_first_step(types: dict[FailureType, float]) -> None:
    steps = [step.action for step in ranked(types)]

    assert next(iter(steps), Action.NONE) == first(types)


def test_every_fault_that_a_model_names_has_a_cure_with_a_cost() -> None:
    assert {fault.failure_type for fault in FAULTS} == set(CURES)
    assert {action for cures in CURES.values() for action in cures} == set(HOURS)


@given(st.dictionaries(st.sampled_from(sorted(CURES)), st.floats(0.01, 1.0), min_size=1))
def test_first_comes_the_highest_chance_for_its_cost(types: dict[FailureType, float]) -> None:
    total = sum(types.values())
    worth = {
        action: sum(p * CURES[kind].get(action, 0.0) for kind, p in types.items()) / total / HOURS[action]
        for action in HOURS
    }

    steps = ranked(types)

    assert pytest.approx(max(worth.values())) == worth[steps[0].action]
    assert all(0 < step.cures <= 1 for step in steps)
    assert len(steps) == len({step.action for step in steps})


def test_no_other_order_of_two_independent_actions_is_cheaper() -> None:
    """A loose module or a cut fibre: no action cures both but replacing, which does not cure the fibre."""
    steps = ranked({LOOSE: 0.6, FailureType.FIBER_DAMAGE: 0.4})[:2]
    chance = {Action.RESEAT: 0.54, Action.REPLACE_FIBER: 0.38}

    def cost(order: tuple[Action, ...]) -> float:
        first, second = order
        return HOURS[first] + (1 - chance[first]) * HOURS[second]

    assert min(permutations(chance), key=cost)[0] == steps[0].action
