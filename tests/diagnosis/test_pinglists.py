"""Plans of a fabric: who probes whom, how fast, and what a plan says that it cannot see."""

import itertools
from collections import Counter
from dataclasses import replace

import pytest

from diagnosis.fabric import Fabric, Path
from diagnosis.pinglists import Planned, Wishes, new_key, planned
from ingest.probes.addresses import PortAddress
from ingest.probes.pinglist import Flow, Pinglist

BASE = Pinglist((), (), new_key())


def _leaf_spine(leaves: int = 4, spines: int = 4, hosts: int = 2) -> tuple[Fabric, list[PortAddress]]:
    cables, nics = [], []
    for leaf in range(leaves):
        for host in range(hosts):
            name = f"host{leaf * hosts + host}"
            cables.append((("default", f"leaf{leaf}", f"h{host}"), ("default", name, "eth0")))
            nics.append(PortAddress("default", name, "eth0", f"10.1.{leaf}.{host + 1}"))
        cables += [
            (("default", f"leaf{leaf}", f"up{spine}"), ("default", f"spine{spine}", f"d{leaf}"))
            for spine in range(spines)
        ]
    return Fabric(tuple(cables)), nics


def _flows(plan: Planned) -> list[tuple[str, Flow]]:
    return [(device, flow) for (_, device), todo in plan.pinglists.items() for flow in todo.flows]


@pytest.fixture(name="plan", scope="module")
def _plan() -> Planned:
    return planned(*_leaf_spine(), 0, BASE, Wishes(), {})


def test_each_nic_probes_those_of_its_tor_at_its_rate(plan: Planned) -> None:
    mesh = [(device, flow) for device, flow in _flows(plan) if flow.kind == "tor_mesh"]

    assert {("host0", "host1"), ("host1", "host0")} < {(device, flow.target_device) for device, flow in mesh}
    assert {10.0} == {flow.per_s for _, flow in mesh}
    assert 8 == len(mesh)


def test_a_tor_has_as_many_ports_as_find_all_its_ways(plan: Planned) -> None:
    """21 of four, by the coupon collector's problem; two NICs share them."""
    drawn = Counter(f"leaf{int(device[4:]) // 2}" for device, flow in _flows(plan) if flow.kind == "inter_tor")

    assert {"leaf0": 22, "leaf1": 22, "leaf2": 22, "leaf3": 22} == drawn


def test_every_link_between_switches_is_crossed_as_often_as_is_wished(plan: Planned) -> None:
    assert 32 == len(plan.link_per_s)
    assert 10.0 == pytest.approx(min(plan.link_per_s.values()), rel=0.01)
    assert 11.0 > max(plan.link_per_s.values())
    assert ((), {}) == (plan.unseen, plan.slowed)


def test_who_is_probed_is_told_by_which_5_tuples(plan: Planned) -> None:
    """Each host traces the way of its replies."""
    sent = Counter((flow.source_address, flow.source_port, flow.target_address) for _, flow in _flows(plan))
    told = Counter(
        (each.source_address, each.source_port, each.target_address)
        for todo in plan.pinglists.values()
        for each in todo.answered
    )

    assert sent == told
    assert {1} == set(sent.values())


def test_a_period_replaces_a_share_of_the_5_tuples() -> None:
    plans = [planned(*_leaf_spine(), period, BASE, Wishes(), {}) for period in (7, 8)]
    before, after = (
        {(flow.source_address, flow.source_port, flow.target_address) for _, flow in _flows(plan)} for plan in plans
    )

    assert 0.7 <= len(before & after) / len(before) < 1.0


def test_a_host_sends_no_more_than_it_may_and_the_plan_says_what_is_left() -> None:
    plan = planned(*_leaf_spine(), 0, BASE, Wishes(agent_per_s=15.0), {})
    sent = [sum(flow.per_s for flow in todo.flows) for todo in plan.pinglists.values()]

    assert 15.0 == pytest.approx(max(sent), rel=0.001)
    assert 8 == len(plan.slowed)
    assert min(plan.link_per_s.values()) < 10.0


def test_what_cannot_be_seen_is_said() -> None:
    """A ToR alone, a ToR that no link joins to the others, a NIC whose ToR nobody knows."""
    fabric, nics = _leaf_spine(hosts=1)
    island = PortAddress("default", "far", "eth0", "10.9.0.1", tor="leaf9")
    lost = PortAddress("default", "lost", "eth0", "10.9.0.2")

    plan = planned(fabric, [*nics, island, lost], 0, BASE, Wishes(), {})

    assert 5 == len(plan.alone)
    assert (("default", "leaf9"),) == plan.apart
    assert (lost,) == plan.homeless
    assert () == plan.pinglists["default", "lost"].flows


def test_a_host_does_not_probe_itself_nor_another_family() -> None:
    fabric, nics = _leaf_spine()
    twice = [
        *nics,
        *(
            replace(nic, interface="eth1", address=f"fc00::{number + 1}", tor=f"leaf{number // 2}")
            for number, nic in enumerate(nics)
        ),
    ]

    found = _flows(planned(fabric, twice, 0, BASE, Wishes(), {}))

    assert [] == [flow for device, flow in found if flow.target_device == device]
    assert [] == [flow for _, flow in found if (":" in flow.source_address) != (":" in flow.target_address)]
    assert {True, False} == {":" in flow.source_address for _, flow in found}


class TestPinned:
    """5-tuples whose way is known: few of them cross each link and tell faults apart."""

    @pytest.fixture(name="ways")
    def _ways(self) -> dict[tuple[str, int, str], Path]:
        fabric, nics = _leaf_spine()
        pairs = [(a, b) for a, b in itertools.permutations(nics, 2) if a.address[:7] != b.address[:7]]
        found = {}
        for number, (a, b) in enumerate(2 * pairs):
            paths = fabric.paths(a.host, b.host)
            found[a.address, 61_100 + number, b.address] = paths[number % len(paths)]
        return found

    def test_they_cross_each_link_and_are_few(self, ways: dict[tuple[str, int, str], Path]) -> None:
        plan = planned(*_leaf_spine(), 0, BASE, Wishes(alpha=2), ways)
        pinned = [flow for _, flow in _flows(plan) if flow.kind == "pinned"]
        crossed = Counter(
            link for flow in pinned for link in ways[flow.source_address, flow.source_port, flow.target_address]
        )
        between = {link for path in ways.values() for link in path[1:-1]}

        assert plan.pinned is not None
        assert 2 == plan.pinned.cover
        assert 2 <= min(crossed[link] for link in between)
        assert len(pinned) < len(ways) / 2

    def test_what_they_cannot_tell_apart_is_said(self) -> None:
        """One way alone: nothing tells its two links from each other."""
        fabric, nics = _leaf_spine()
        path = fabric.paths(nics[0].host, nics[2].host)[0]
        plan = planned(fabric, nics, 0, BASE, Wishes(), {(nics[0].address, 61_100, nics[2].address): path})

        assert plan.pinned is not None
        assert (frozenset(path[1:-1]),) == plan.pinned.classes

    def test_they_stay_as_ports_come_and_go(self, ways: dict[tuple[str, int, str], Path]) -> None:
        kept = [
            {flow for _, flow in _flows(planned(*_leaf_spine(), period, BASE, Wishes(), ways)) if flow.kind == "pinned"}
            for period in (0, 5)
        ]

        assert {flow.source_port for flow in kept[0]} == {flow.source_port for flow in kept[1]}

    def test_ways_of_strangers_pin_nothing(self, ways: dict[tuple[str, int, str], Path]) -> None:
        stranger = {("10.200.0.1", port, target): path for (_, port, target), path in ways.items()}

        assert planned(*_leaf_spine(), 0, BASE, Wishes(), stranger).pinned is None
        assert planned(*_leaf_spine(), 0, BASE, Wishes(alpha=0), ways).pinned is None
