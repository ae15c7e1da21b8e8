"""A plan of the controller on real ECMP: what it says of its coverage is so, and a lossy link is found by it."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fabric_bed.hosts import KEY, Agents, Rates
from fabric_bed.net import Fabric
from fabric_bed.trials import Bench

from diagnosis.fabric import Fabric as Graph
from diagnosis.pinglists import Planned, Wishes, planned
from ingest.probes.addresses import PortAddress
from ingest.probes.pinglist import Pinglist

pytestmark = [pytest.mark.fabric, pytest.mark.slow]

PER_S = 40.0
"""Across each link: a window of the field in two seconds."""


@dataclass
class ByPlan(Agents):  # type: ignore[misc]  # mypy finds no package below tests
    """Agents whose pinglists are the controller's."""

    plan: Planned = field(init=False)

    def pinglist(self, host: str) -> dict[str, Any]:
        """As it was planned."""
        return self.plan.pinglists["default", host].as_json()


@pytest.fixture(name="agents")
def _agents(permitted: None, tmp_path: Path) -> Iterator[ByPlan]:
    agents = ByPlan(Fabric(), tmp_path, Rates())
    agents.fabric.up()
    bed = agents.fabric
    cables = tuple((("default", *cable.a), ("default", *cable.b)) for cable in bed.cables)
    nics = [PortAddress("default", host, "eth0", bed.address(host)) for host in bed.host_names()]
    base = Pinglist(
        (), (), bytes.fromhex(KEY), window_s=agents.rates.window_s, timeout_s=0.25, trace_share=0.5, trace_per_s=400.0
    )
    agents.plan = planned(Graph(cables), nics, 0, base, Wishes(link_per_s=PER_S, agent_per_s=500.0), {})
    agents.start()
    agents.ready()
    yield agents
    agents.end()
    agents.fabric.down()


def test_the_plan_crosses_every_link_and_finds_a_lossy_one(agents: ByPlan) -> None:
    bench = Bench(agents, random.Random(7))
    bench.windows(2)
    crossed = {link for path in agents.paths() for link in _links(bench, path)}
    between = set(agents.plan.link_per_s)

    assert ((), {}) == (agents.plan.unseen, agents.plan.slowed)
    assert set() == between - crossed  # the kernel's own hash spreads the ports over all ways

    link = sorted(between)[5]
    near, far = bench.graph.ends(link)
    agents.fabric.lose((near[1:], far[1:]), 0.05)
    found = bench.links(bench.windows(8))

    assert [(link,)] == [finding.links for finding in found], found


def _links(bench: Bench, path: dict[str, Any]) -> tuple[int, ...]:
    """Of a whole way that was traced."""
    if not path["reached"] or None in path["hops"]:
        return ()
    end = path["target_address" if path["direction"] == "forward" else "source_address"]
    found: tuple[int, ...] = bench.graph.crossed([bench.known.ports[hop] for hop in (*path["hops"], end)])
    return found
