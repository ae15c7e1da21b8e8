"""An all-clear is worth what was looked for, and says so; the part follows from both ends' light."""

from collections.abc import Callable

import numpy as np
import pytest

from diagnosis.innocence import Suspicion, all_clear, windows_needed
from diagnosis.localize import Finding, Localization, Localizer
from diagnosis.localizers.flock import Flock
from diagnosis.localizers.netbouncer import NetBouncer
from diagnosis.localizers.votes import Seven, Vote
from diagnosis.observations import Evidence, Observations
from diagnosis.parts import EndChange, Part, faulty_part

Window = Callable[..., Observations]
LINKS = Suspicion(frozenset({0, 1}), sla=1e-3)


class TestAllClear:
    def test_innocent_needs_power_at_every_link(self) -> None:
        """What is not on the path may be unseen."""
        seen = all_clear(Localization((), (), np.array([5e-4, 9e-4, 1.0])), LINKS)
        blind = all_clear(Localization((), (), np.array([5e-4, 2e-3, 1.0])), LINKS)

        assert seen.innocent
        assert (False, (1,), 3) == (blind.innocent, blind.unseen, blind.more_windows)

    def test_a_suspected_link_is_not_innocent_though_it_is_no_finding(self) -> None:
        told = Localization((), (1,), np.full(3, 1e-4))

        assert (False, (1,)) == (all_clear(told, LINKS).innocent, all_clear(told, LINKS).suspected)

    def test_a_localiser_that_does_not_know_its_power_clears_nobody(self) -> None:
        assert not all_clear(Localization(()), LINKS).innocent

    def test_no_links_are_not_innocent(self) -> None:
        assert not all_clear(Localization((), (), np.zeros(3)), Suspicion(frozenset())).innocent

    def test_where_nothing_crosses_no_number_of_windows_is_enough(self) -> None:
        assert windows_needed(np.array([1e-4, 1.0]), 1e-3, 2) is None


@pytest.mark.parametrize(
    ("sender", "receiver", "part"),
    [
        (EndChange(tx_power_db=-3.0, tx_bias=0.4), EndChange(rx_power_db=-3.1), Part.LASER),
        (EndChange(tx_power_db=0.0, tx_bias=0.3), EndChange(rx_power_db=0.0), Part.LASER),
        (EndChange(tx_power_db=0.0, rx_power_db=0.0), EndChange(rx_power_db=-3.0, rx_lanes=1.0), Part.FIBRE),
        (EndChange(tx_power_db=0.0, rx_power_db=-2.0), EndChange(rx_power_db=-3.0), Part.FIBRE),
        (EndChange(tx_power_db=0.0), EndChange(rx_power_db=-3.0, rx_lanes=0.25), Part.RECEIVER),
        (EndChange(tx_power_db=0.0), EndChange(rx_power_db=0.0, ber_decades=3.0), Part.RECEIVER),
        (EndChange(), EndChange(rx_power_db=-3.0), Part.UNKNOWN),
        (EndChange(tx_power_db=0.0), EndChange(rx_power_db=0.0, ber_decades=0.1), Part.UNKNOWN),
        (EndChange(), EndChange(), Part.UNKNOWN),
    ],
)
def test_the_part_follows_from_both_ends(sender: EndChange, receiver: EndChange, part: Part) -> None:
    """Where one end is silent, as servers' often are, no part is guessed."""
    assert part is faulty_part(sender, receiver).part


@pytest.mark.parametrize("localizer", [Vote(), Seven(), Flock(), NetBouncer()], ids=lambda one: one.name)
class TestOthers:
    """What others published finds plain faults in the same harness."""

    def test_a_plain_fault_is_found(self, localizer: Localizer, window: Window) -> None:
        assert 5 in localizer.localize(window({5: 0.2}), Evidence()).links

    def test_none_tells_its_power(self, localizer: Localizer, window: Window) -> None:
        assert localizer.localize(window({}), Evidence()).least_loss is None


def test_a_finding_at_two_links_alike_picks_neither() -> None:
    two = Finding((4, 5), (0.5, 0.5), 0.01)

    assert (None, (4, 5), frozenset({2})) == (two.first, two.alike, two.cables)
