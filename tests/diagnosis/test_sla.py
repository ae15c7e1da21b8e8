"""What the network gave, by tier, and what its map shows."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from probed_fabric import AT, probed

from diagnosis.fabric import Fabric
from diagnosis.heatmap import Cell, Pattern, Seen, heat_map, pattern
from diagnosis.reading import closed_windows, fabric_of
from diagnosis.sla import Breach, Places, Reach, Sla, Tier, slas

S = "default"
Rows = Callable[..., pl.DataFrame]


@pytest.fixture(name="told")
def _told(tmp_path: Path) -> Callable[..., dict[tuple[str, str, str], Sla]]:
    """SLAs of the newest window of a small fabric, some of whose links lose packets."""

    def told(lossy: dict[str, float] | None = None) -> dict[tuple[str, str, str], Sla]:
        lake = probed(tmp_path / "lake", lossy)
        rows = closed_windows(lake, AT, 1)
        return {(one.tier, one.name, one.reach): one for one in slas(rows, Places.of(fabric_of(lake, AT)))}

    return told


class TestSla:
    def test_each_tier_has_its_probes(self, told: Callable[..., dict[tuple[str, str, str], Sla]]) -> None:
        """Eight servers, two on each of four ToRs, one pod: 56 ordered pairs, two within each ToR."""
        found = told()

        assert 56 == found["fleet", "all", "within"].flows
        assert 56 == found["pod", "leaf0…leaf3", "within"].flows
        assert {2} == {found["tor", f"leaf{leaf}", "within"].flows for leaf in range(4)}
        assert {24} == {found["tor", f"leaf{leaf}", "across"].flows for leaf in range(4)}
        assert ("pod", "leaf0…leaf3", "across") not in found
        assert {()} == {one.breached for one in found.values()}
        assert (20_000, 30_000, 9_000, 12_000) == (
            found["tor", "leaf0", "within"].rtt_p50_ns,
            found["tor", "leaf0", "within"].rtt_p99_ns,
            found["tor", "leaf0", "within"].processing_p50_ns,
            found["tor", "leaf0", "within"].processing_p99_ns,
        )

    def test_a_lossy_uplink_is_across_its_tor_and_not_within(
        self, told: Callable[..., dict[tuple[str, str, str], Sla]]
    ) -> None:
        found = told({"leaf1:u0 → spine0:d1": 0.05})

        assert (Breach.LOSS,) == found["tor", "leaf1", "across"].breached
        assert () == found["tor", "leaf1", "within"].breached
        assert found["tor", "leaf1", "across"].loss > 2 * found["tor", "leaf0", "across"].loss

    def test_a_host_that_nobody_knows_counts_for_the_fleet_alone(self, rows: Rows) -> None:
        frame = rows([{"source_device": "stranger", "target_device": "gpu9"}])

        assert [(Tier.FLEET, Reach.WITHIN)] == [(one.tier, one.reach) for one in slas(frame, _places(2, 2))]

    def test_no_window_has_no_sla(self, rows: Rows) -> None:
        assert [] == slas(rows([]), _places(2, 2))

    @settings(deadline=None)  # a busy machine is no failure
    @given(st.lists(st.tuples(st.integers(1, 1_000), st.integers(1, 500)), min_size=1, max_size=20))
    def test_few_round_trips_are_longer_than_the_99th_percentile_told(self, flows: list[tuple[int, int]]) -> None:
        """Quantiles do not add up: at most 2 % of all lie above."""
        trips = [np.sort(np.random.default_rng(most).integers(1, most + 1, count)) for most, count in flows]
        said = [
            {"sent": len(each), "lost": 0, "source_port": number, "rtt_p99_ns": int(each[int(0.99 * len(each))])}
            if len(each) > 1
            else {"sent": 1, "lost": 0, "source_port": number, "rtt_p99_ns": int(each[0])}
            for number, each in enumerate(trips)
        ]

        (fleet,) = slas(_rows(said), _places(2, 2))

        assert fleet.rtt_p99_ns is not None
        assert np.mean(np.concatenate(trips) > fleet.rtt_p99_ns) <= 0.02


class TestHeatMap:
    """Three pods of three ToRs each."""

    PODS = tuple(f"pod{number // 3}" for number in range(9))

    @pytest.fixture(name="cells")
    def _cells(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        return np.zeros((9, 9), dtype=np.int8)

    def test_all_green_is_normal(self, cells: Any) -> None:
        assert Seen(Pattern.NORMAL) == pattern(cells, self.PODS)

    def test_a_white_cross_is_a_pod_that_is_down(self, cells: Any) -> None:
        """Nobody in it probes any more; none of the others is answered by it."""
        cells[3:6, :] = Cell.UNKNOWN
        cells[:, 3:6] = np.where(cells[:, 3:6] == Cell.GREEN, Cell.WHITE, cells[:, 3:6])

        assert Seen(Pattern.POD_DOWN, ("pod1",)) == pattern(cells, self.PODS)

    def test_a_red_cross_is_a_pod_that_fails(self, cells: Any) -> None:
        cells[3:6, :] = cells[:, 3:6] = Cell.RED

        assert Seen(Pattern.POD_FAILURE, ("pod1",)) == pattern(cells, self.PODS)

    def test_red_but_for_the_diagonals_blocks_is_the_spine(self, cells: Any) -> None:
        cells[:] = Cell.RED
        for pod in range(3):
            cells[3 * pod : 3 * pod + 3, 3 * pod : 3 * pod + 3] = Cell.GREEN

        assert Seen(Pattern.SPINE_FAILURE) == pattern(cells, self.PODS)

    def test_of_two_pods_the_one_that_is_red_inside_fails(self) -> None:
        cells = np.array([[0, 1], [1, 1]], dtype=np.int8)

        assert Seen(Pattern.POD_FAILURE, ("b",)) == pattern(cells, ("a", "b"))

    def test_a_red_cell_alone_is_none_of_them(self, cells: Any) -> None:
        cells[0, 7] = Cell.RED

        assert Seen(Pattern.MIXED) == pattern(cells, self.PODS)

    @pytest.mark.parametrize("kind", [Pattern.POD_FAILURE, Pattern.SPINE_FAILURE])
    def test_a_plan_that_does_not_probe_all_pairs_shows_the_same(self, cells: Any, kind: Pattern) -> None:
        inside = np.equal.outer(self.PODS, self.PODS)
        touched = np.logical_or.outer(*(2 * [np.array(self.PODS) == "pod1"]))
        cells[touched if kind is Pattern.POD_FAILURE else ~inside] = Cell.RED
        left_out = np.random.default_rng(3).random((9, 9)) < 0.4
        cells[left_out] = Cell.UNKNOWN

        assert kind is pattern(cells, self.PODS).pattern

    def test_nothing_is_unknown(self) -> None:
        assert Seen(Pattern.UNKNOWN) == pattern(np.full((2, 2), -1, dtype=np.int8), ("a", "b"))

    def test_probes_make_the_map(self, rows: Rows) -> None:
        """One pod only: each ToR counts as one, and a dead ToR is a white cross."""
        names = [f"gpu{leaf}-{host}" for leaf in range(4) for host in range(2)]
        told = [
            {"source_device": a, "target_device": b, "lost": 100 * (b[3] == "2")}
            for a in names
            for b in names
            if a != b and a[3] != "2"
        ]
        places = _places(4, 2)
        found = heat_map(rows(told), places)

        assert ("leaf0", "leaf1", "leaf2", "leaf3") == found.tors == found.pods
        assert Seen(Pattern.POD_DOWN, ("leaf2",)) == pattern(found.cells, found.pods)


@pytest.fixture(name="rows")
def _rows_fixture() -> Rows:
    return _rows


def _rows(told: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows of ``probes`` of one window; what is not said is the same for all."""
    same = {
        "time": AT - timedelta(seconds=40),
        "site": S,
        "sent": 100,
        "lost": 0,
        "source_port": 1,
        "source_device": "a",
        "source_interface": None,
        "target_device": "b",
        "target_interface": None,
        "rtt_p50_ns": 10,
        "rtt_p99_ns": 20,
        "target_p50_ns": 5,
        "target_p99_ns": 6,
    }
    kinds = {name: pl.String for name in same if name.endswith(("device", "interface"))}
    return pl.DataFrame([same | row for row in told], schema_overrides=kinds) if told else pl.DataFrame()


def _places(leaves: int, hosts: int) -> Places:
    down = [
        ((S, f"leaf{leaf}", f"h{host}"), (S, f"gpu{leaf}-{host}", "eth0"))
        for leaf in range(leaves)
        for host in range(hosts)
    ]
    up = [((S, f"leaf{leaf}", "u0"), (S, "spine0", f"d{leaf}")) for leaf in range(leaves)]
    return Places.of(Fabric((*down, *up), frozenset(pair[1][:2] for pair in down)))


def test_pods_are_tors_below_the_same_switches() -> None:
    """A host with NICs at two ToRs is placed by the NIC."""
    cables = [
        *(((S, f"leaf{leaf}", "up"), (S, f"agg{leaf // 2}", f"d{leaf}")) for leaf in range(4)),
        *(((S, f"agg{agg}", "up"), (S, "core", f"d{agg}")) for agg in range(2)),
        *(((S, "gpu", f"eth{nic}"), (S, f"leaf{nic}", "h")) for nic in range(4)),
    ]
    places = Places.of(Fabric(tuple(cables), frozenset({(S, "gpu")})))

    assert {"leaf0": "leaf0…leaf1", "leaf1": "leaf0…leaf1", "leaf2": "leaf2…leaf3", "leaf3": "leaf2…leaf3"} == {
        tor: pod for (_, tor), pod in places.pods.items()
    }
    assert (S, "leaf3") == places.tor(S, "gpu", "eth3")
    assert places.tor(S, "gpu", None) is None
