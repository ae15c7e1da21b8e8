"""What fleets live through, over several seeds."""

import itertools
from collections import Counter

import numpy as np

from data_samples.faults import DEAD_DB
from data_samples.history import History
from data_samples.ports import port_time
from data_samples.tables import has_precursor, visible_step
from ingest.schema import FailureType


def test_a_third_to_a_half_of_failures_come_without_precursor(histories: list[History]) -> None:
    without = [not has_precursor(history, failure) for history in histories for failure in history.failures]

    assert 1 / 3 < np.mean(without) < 1 / 2


def test_failures_are_about_as_dense_as_promised(histories: list[History]) -> None:
    failures = sum(len(history.failures) for history in histories)

    assert 0.28 < failures / sum(len(history.states) for history in histories) < 0.42


def test_every_failure_type_occurs(histories: list[History]) -> None:
    counts = Counter(failure.fault.kind for history in histories for failure in history.failures)

    assert set(FailureType) - {FailureType.NO_FAULT_FOUND, FailureType.OTHER} == set(counts)


def test_degradations_stall_at_any_level_and_never_fail(histories: list[History]) -> None:
    failed = {id(failure.fault) for history in histories for failure in history.failures}
    faults = (fault for history in histories for state in history.states for fault in state.faults)
    levels = [float(fault.level_db.max()) for fault in faults if fault.stalled and id(fault) not in failed]

    assert len(levels) > 40
    assert [True, True, True] == [any(low < x < high for x in levels) for low, high in ((0, 1), (1, 2), (2, 4))]


def test_what_was_not_cured_fails_again(histories: list[History]) -> None:
    again = [failure for history in histories for failure in history.failures if failure.since > 0]

    assert again


def test_some_modules_are_taken_out_before_they_fail(histories: list[History]) -> None:
    assert sum(len(history.preventive) for history in histories) > 10


def test_a_link_does_not_fail_while_it_is_down(histories: list[History]) -> None:
    for history in histories:
        for failures in history.by_link.values():
            spans = sorted((failure.failed, failure.visit.closed) for failure in failures)

            assert all(closed <= failed for (_, closed), (failed, _) in itertools.pairwise(spans))


def test_heat_alone_fails_no_link(histories: list[History]) -> None:
    assert not any(failure.fault.kind is FailureType.OTHER for history in histories for failure in history.failures)


def test_bad_lots_fail_more_often(histories: list[History]) -> None:
    modules = [module for history in histories for state in history.states for end in state.modules for module in end]
    bad = np.mean([module.bad_lot for module in modules])
    lots = [
        next(state for state in history.states if state.link is failure.link)
        .module(failure.fault.end, max(failure.failed - 1, 0))
        .bad_lot
        for history in histories
        for failure in history.failures
        if failure.fault.kind == FailureType.LASER_DEGRADATION
    ]

    assert np.mean(lots) > 1.8 * bad


def test_dying_electronics_flap_tens_of_times_in_their_last_days(histories: list[History]) -> None:
    day = 48
    flaps = [
        int(port_time(history, history.states[failure.link.index], failure.fault.end).flaps[: failure.failed].sum())
        for history in histories[:3]
        for failure in history.failures
        if failure.fault.kind is FailureType.MODULE_ELECTRONICS
        and failure.fault.level_db[0] < DEAD_DB
        and failure.failed - max(failure.fault.onset, 0) > 3 * day
    ]

    assert 20 < np.median(flaps) < 120


def test_stalls_you_can_see_are_fewer_than_failures(histories: list[History]) -> None:
    """A degradation in sight is no coin toss: more than half of them end in a failure."""
    failed = {id(failure.fault) for history in histories for failure in history.failures}
    stalled = [
        fault
        for history in histories
        for state in history.states
        for fault in state.faults
        if fault.stalled and id(fault) not in failed and visible_step(state, fault) is not None
    ]
    warned = [failure for history in histories for failure in history.failures if has_precursor(history, failure)]

    assert 0.3 * len(warned) < len(stalled) < len(warned)
