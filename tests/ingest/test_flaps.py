"""Flaps counted by the collector: a link that went down by itself, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.decode.flaps import Flaps

UP, DOWN, UNKNOWN, ON, OFF = 1, 0, -1, 1, 0


class Port:
    """One port that is polled again and again; ticks are what ifLastChange says."""

    def __init__(self) -> None:
        self._flaps = Flaps()

    def poll(
        self, ticks: int, up: int, admin: int = ON, *, changes: int | None = None, up_time: int | None = None
    ) -> int:
        counted = self._flaps.update(
            ["Ethernet1"],
            np.array([ticks], np.int64),
            np.array([up], np.int8),
            np.array([admin], np.int8),
            changes=None if changes is None else np.array([changes], np.int64),
            up_time=up_time,
        )
        return int(counted[0])


def polled(*polls: tuple[int, ...]) -> list[int]:
    """Flaps after each poll of one port: (ticks, up) or (ticks, up, admin)."""
    port = Port()
    return [port.poll(*poll) for poll in polls]


@pytest.mark.parametrize(
    ("polls", "flaps"),
    [
        ([(0, UP), (0, UP)], 0),
        ([(0, UP), (50, DOWN)], 1),
        ([(0, UP), (50, DOWN), (50, DOWN)], 1),
        ([(0, UP), (50, DOWN), (90, UP)], 1),
        ([(0, UP), (90, UP)], 1),
        ([(0, UP), (90, UP), (190, UP), (290, DOWN)], 3),
        ([(0, DOWN), (90, UP)], 0),
        ([(10, DOWN), (90, DOWN)], 1),
        ([(0, UP), (0, DOWN)], 1),
        ([(UNKNOWN, UP), (UNKNOWN, DOWN), (UNKNOWN, UP)], 1),
        ([(UNKNOWN, UP), (70, UP)], 0),
    ],
    ids=[
        "nothing happened",
        "down",
        "still down",
        "down and up again",
        "down and up between polls",
        "again and again",
        "came up",
        "up and down between polls",
        "the device forgot to move its time",
        "the device has no such time",
        "the time is new",
    ],
)
def test_a_flap_is_a_link_that_went_down(polls: list[tuple[int, ...]], flaps: int) -> None:
    assert flaps == polled(*polls)[-1]


@pytest.mark.parametrize(
    "polls",
    [
        [(0, UP, ON), (50, DOWN, OFF)],
        [(0, UP, ON), (50, DOWN, OFF), (90, UP, ON)],
        [(0, UP, ON), (50, DOWN, OFF), (60, DOWN, ON)],
        [(0, DOWN, OFF), (50, DOWN, OFF)],
    ],
    ids=["switched off", "off and on again", "on again without light", "on and off between polls"],
)
def test_what_somebody_switched_is_no_flap(polls: list[tuple[int, ...]]) -> None:
    assert 0 == polled(*polls)[-1]


def test_a_link_that_fails_after_it_was_switched_on_is_one() -> None:
    assert [0, 0, 0, 1] == polled((0, UP, ON), (50, DOWN, OFF), (90, UP, ON), (120, DOWN, ON))


@pytest.mark.parametrize("ticks", [10, 900], ids=["earlier in its life", "later in its life"])
def test_a_restart_of_the_device_is_no_flap_of_its_links(ticks: int) -> None:
    port = Port()
    port.poll(500, UP, up_time=100_000)

    assert 0 == port.poll(ticks, UP, up_time=2_000)
    assert 1 == port.poll(ticks + 1_500, UP, up_time=8_000)


def test_a_time_that_runs_backwards_is_no_flap() -> None:
    assert [0, 0] == polled((500, UP), (10, UP))


def test_an_unknown_state_tells_nothing_and_hides_nothing() -> None:
    assert [0, 0, 1] == polled((0, UP), (50, UNKNOWN), (50, UP))
    assert [UNKNOWN, 0] == polled((0, UNKNOWN), (50, UP))


def test_a_device_that_counts_its_changes_of_state_tells_of_all_flaps_between_two_polls() -> None:
    port = Port()
    port.poll(0, UP, changes=7)

    assert 3 == port.poll(80, UP, changes=13)
    assert 5 == port.poll(90, DOWN, changes=16)
    assert 5 == port.poll(99, UP, changes=17)
    assert 6 == port.poll(99, DOWN, OFF, changes=20)


def test_a_count_of_changes_that_began_anew_is_no_flap() -> None:
    port = Port()
    port.poll(0, UP, changes=700)

    assert 0 == port.poll(0, UP, changes=3)


def test_counts_stay_with_their_port_when_others_come_and_go() -> None:
    flaps, on = Flaps(), np.array([1, 1], np.int8)
    flaps.update(["Ethernet1", "Ethernet2"], np.array([0, 0]), on, on)
    flaps.update(["Ethernet1", "Ethernet2"], np.array([0, 50]), on, on)

    counted = flaps.update(["Ethernet2", "Ethernet3"], np.array([90, 90]), on, on)

    assert [2, 0] == counted.tolist()


def test_no_ports_are_no_flaps() -> None:
    none, states = np.zeros(0, np.int64), np.zeros(0, np.int8)

    assert [] == Flaps().update([], none, states, states).tolist()


@given(st.lists(st.integers(0, 5), max_size=20), st.booleans())
def test_whenever_it_is_polled_a_counting_device_tells_of_each_time_a_link_went_down(
    steps: list[int], begins_up: bool
) -> None:
    up, changes, downs, port = begins_up, 0, 0, Port()
    port.poll(0, int(up), changes=0)
    counted = 0
    for place, count in enumerate(steps, 1):
        for _ in range(count):
            up, changes, downs = not up, changes + 1, downs + up
        counted = port.poll(10 * place if count else 0, int(up), changes=changes)

    assert downs == counted


@given(st.lists(st.integers(0, 2), max_size=30))
def test_polled_often_enough_the_time_of_the_last_change_tells_of_each_time_a_link_went_down(steps: list[int]) -> None:
    up, ticks, downs, counted, port = True, 0, 0, 0, Port()
    port.poll(0, 1)
    for count in steps:
        for _ in range(count):
            up, ticks, downs = not up, ticks + 7, downs + up
        counted = port.poll(ticks, int(up))

    assert downs == counted
