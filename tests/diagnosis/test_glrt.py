"""The likelihood ratio finds lossy links, and says what it cannot tell apart."""

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest

from data_samples.fat_tree import FatTree
from diagnosis.fabric import Fabric, incidence
from diagnosis.localizers.glrt import Glrt, distinct
from diagnosis.localizers.power import least_found
from diagnosis.observations import Evidence, Observations, PortErrors

Window = Callable[..., Observations]


def _mirrored(links: int, lossy: int) -> Observations:
    """Paths that go out and back over the same cables, as Linux's symmetric hash makes them."""
    rng = np.random.default_rng(3)
    cables = np.stack([rng.choice(links // 2, 2, replace=False) for _ in range(400)])
    paths = np.zeros((400, links))
    for way in (0, 1):
        paths[np.arange(400)[:, None], 2 * cables + way] = 1.0
    sent = np.full(400, 100.0)
    lost = rng.binomial(100, 0.05 * paths[:, lossy])
    from scipy import sparse

    return Observations(sparse.csr_array(paths), sent, lost.astype(float))


class TestKnownPaths:
    @pytest.mark.parametrize("lossy", [{5: 0.01}, {5: 0.2, 18: 0.005}, {0: 0.02, 1: 0.02, 40: 0.5}])
    def test_lossy_links_are_found_and_no_others(self, window: Window, lossy: dict[int, float]) -> None:
        found = Glrt().localize(window(lossy))

        assert set(lossy) == found.links
        assert {finding.first: finding.loss for finding in found.findings} == pytest.approx(lossy, rel=0.3)

    def test_where_nothing_is_wrong_nothing_is_found(self, window: Window) -> None:
        """The chance is 1 in 200 a window; these are 40."""
        found = [Glrt().localize(window({}, seed=seed)).findings for seed in range(40)]

        assert 1 >= sum(map(len, found))

    def test_a_black_hole_is_found_as_one(self, window: Window) -> None:
        (finding,) = Glrt().localize(window({7: 1.0})).findings

        assert (7, 7) == (finding.first, *finding.links)
        assert finding.loss > 0.95

    def test_a_window_without_a_probe_says_nothing_and_knows_it(self, tree: FatTree, window: Window) -> None:
        seen = window({})
        empty = Observations(seen.paths[:0], seen.sent[:0], seen.lost[:0])
        found = Glrt().localize(empty)

        assert () == found.findings
        assert found.least_loss is not None
        assert np.all(found.least_loss == 1.0)


class TestIdentifiability:
    def test_directions_with_equal_paths_are_reported_together(self) -> None:
        """Out and back over the same cables: which direction loses cannot be seen, and none is picked."""
        (finding,) = Glrt().localize(_mirrored(20, 8)).findings

        assert {8, 9} == set(finding.links) == set(finding.alike)
        assert (0.5, 0.5) == pytest.approx(finding.shares)
        assert finding.first is None
        assert frozenset({4}) == finding.cables

    def test_the_optics_risk_tells_them_apart(self) -> None:
        prior = np.full(20, 0.001)
        prior[9] = 0.2
        (finding,) = Glrt().localize(_mirrored(20, 8), Evidence(prior=prior)).findings

        assert (9,) == finding.links

    def test_the_ports_own_counters_tell_them_apart(self) -> None:
        packets, errors = np.full(20, 1e6), np.zeros(20)
        errors[8] = 5.0
        (finding,) = Glrt().localize(_mirrored(20, 8), Evidence(ports=PortErrors(packets, errors))).findings

        assert (8,) == finding.links

    def test_the_likelier_of_two_clears_not_the_other(self) -> None:
        """A finding names the one with the risky optic; the other may still be it, and is suspected."""
        prior = np.full(20, 0.001)
        prior[9] = 0.02
        told = Glrt().localize(_mirrored(20, 8), Evidence(prior=prior))

        assert (9,) == told.findings[0].links
        assert (8, 9) == told.suspected

    def test_what_spray_cannot_tell_apart_is_one_question(self, tree: FatTree) -> None:
        """Of each edge switch all links up, and all down; of each pod all links to the cores, and all from them."""
        fabric = Fabric.of(tree.table())
        edges = [("default", f"edge{edge // tree.half}-{edge % tree.half}") for edge in range(tree.edges)]
        paths = incidence([fabric.spread(*pair) for pair in permutations(edges, 2)], fabric.links)
        rows = paths.shape[0]

        assert 2 * (tree.edges + tree.k) == distinct(Observations(paths, np.ones(rows), np.zeros(rows)))

    def test_counters_that_the_prior_has_read_are_not_counted_again(self) -> None:
        prior, packets, errors = np.full(20, 0.001), np.full(20, 1e6), np.zeros(20)
        errors[8] = 5.0
        ports = PortErrors(packets, errors)
        (twice,) = Glrt().localize(_mirrored(20, 8), Evidence(prior, ports)).findings
        (once,) = Glrt().localize(_mirrored(20, 8), Evidence(prior, ports, prior_reads_counters=False)).findings

        assert {8, 9} == set(twice.alike)
        assert (8,) == once.links

    def test_no_prior_makes_a_finding_by_itself(self, window: Window) -> None:
        """A risky optic whose packets all arrive is a matter for its alarm, not for the localiser."""
        seen = window({})
        prior = np.full(seen.links, 0.001)
        prior[3] = 0.99

        assert () == Glrt().localize(seen, Evidence(prior=prior)).findings


class TestPower:
    def test_a_loss_of_the_least_that_would_be_found_is_found(self, window: Window) -> None:
        """In each of 40 windows; the power is meant to hold in all but one of 10,000."""
        least = Glrt().localize(window({})).least_loss
        assert least is not None
        missed = 0
        for seed in range(40):
            link = seed % least.size
            found = Glrt().localize(window({link: float(least[link]) * 1.05}, seed=100 + seed))
            missed += link not in found.suspected

        assert 0 == missed

    def test_four_times_the_probes_see_half_the_loss_or_less(self) -> None:
        few, many = (least_found(np.array([n]), np.array([4e-4 * n]), np.array([9.0])) for n in (1e4, 4e4))

        assert many < few / 2

    def test_a_link_that_nothing_crossed_could_have_lost_everything(self) -> None:
        assert 1.0 == least_found(np.array([0.0]), np.array([0.0]), np.array([9.0]))
