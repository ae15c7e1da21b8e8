"""Plans of probes cover every link and tell faults apart."""

from itertools import pairwise, product

import numpy as np
import pytest

from data_samples.fat_tree import FatTree
from diagnosis.fabric import Path
from diagnosis.plan import classes, greedy_plan, rotated, tuples_needed


@pytest.fixture(name="paths")
def _paths() -> list[Path]:
    """Every path between edge switches of a small fat tree, there and back alike."""
    tree = FatTree(4)
    found = []
    for source, target, agg, core in product(range(8), range(8), range(2), range(2)):
        if source < target and (source // 2 != target // 2 or core == 0):
            routes = tree.routes(*(np.array([number]) for number in (source, target, agg, core)))
            found.append(tuple(int(link) // 2 for link in routes.links[0] if link >= 0))
    return found


@pytest.mark.parametrize("paths", [1, 2, 4, 16, 64])
def test_as_many_tuples_as_needed_cover_all_paths_and_one_fewer_would_not(paths: int) -> None:
    """Against draws: the share of covers lies at the probability that was asked for."""
    needed, rng = tuples_needed(paths), np.random.default_rng(2)
    drawn = rng.integers(0, paths, (20_000, needed))
    covered = np.mean([np.unique(row).size == paths for row in drawn])

    assert 0.987 <= covered


@pytest.mark.parametrize(("alpha", "beta"), [(1, 0), (3, 0), (1, 1), (2, 1), (1, 2)])
def test_a_plan_covers_each_link_and_tells_as_many_faults_apart_as_it_can(
    paths: list[Path], alpha: int, beta: int
) -> None:
    """What all paths together cannot tell apart, no plan can."""
    plan = greedy_plan(paths, alpha, beta)

    assert plan.cover >= alpha
    assert len(plan.chosen) < len(paths)
    if beta:
        assert set(plan.classes) == set(classes(paths))


def test_a_plan_that_tells_apart_needs_about_as_few_paths_as_detector_says(paths: list[Path]) -> None:
    """k³/5 is its bound of (1, 1): 12.8 at k = 4."""
    assert 12 <= len(greedy_plan(paths, 1, 1).chosen) <= 20


def test_a_plan_for_two_faults_needs_more_paths_than_for_one(paths: list[Path]) -> None:
    assert len(greedy_plan(paths, 1, 2).chosen) > len(greedy_plan(paths, 1, 1).chosen)


def test_a_fifth_of_the_tuples_is_replaced_each_period_and_all_come_to_be_used() -> None:
    ports, pool = list(range(50)), range(50, 150)
    periods = [rotated(ports, period, pool) for period in range(20)]

    assert {40} == {len(set(one) & set(after)) for one, after in pairwise(periods)}
    assert {*ports, *pool} == {port for period in periods for port in period}
