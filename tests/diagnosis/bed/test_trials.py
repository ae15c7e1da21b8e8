"""A few of the trials that `make test-fabric` runs by the dozen."""

import random
from collections.abc import Callable

import pytest
from fabric_bed.hosts import Agents, Rates
from fabric_bed.net import Fabric
from fabric_bed.trials import Bench

pytestmark = [pytest.mark.fabric, pytest.mark.slow]


def test_a_lossy_link_is_found_and_a_sleeping_host_blames_none(build: Callable[[Fabric, Rates], Agents]) -> None:
    """Four leaves, four spines, eight hosts; cable and direction are right, and a stopped agent is a stopped agent."""
    bench = Bench(build(Fabric(), Rates()), random.Random(1))
    lossy, stall = bench.lossy_links(), bench.scenario("host stall")

    assert (True, True, 0) == (lossy.named, lossy.direction, lossy.blamed), lossy.said
    assert (True, 0) == (stall.named, stall.blamed), stall.said
