"""The fabric's paths are those that packets take."""

import numpy as np
import polars as pl
import pytest

from data_samples.fat_tree import FatTree
from diagnosis.fabric import Fabric, incidence

S = "default"


@pytest.fixture(name="tree")
def _tree() -> FatTree:
    return FatTree(4)


@pytest.fixture(name="fabric")
def _fabric(tree: FatTree) -> Fabric:
    return Fabric.of(tree.table())


def _rail() -> Fabric:
    """Two servers with two NICs each, two leaves, one spine; two parallel cables from the first leaf up."""
    rows = [
        ("gpu1", "eth0", "leaf1", "e1"),
        ("gpu1", "eth1", "leaf2", "e1"),
        ("gpu2", "eth0", "leaf1", "e2"),
        ("gpu2", "eth1", "leaf2", "e2"),
        ("leaf1", "e8", "spine", "e1"),
        ("leaf1", "e9", "spine", "e2"),
        ("leaf2", "e8", "spine", "e3"),
    ]
    names = ["a_device", "a_interface", "z_device", "z_interface"]
    links = pl.DataFrame(rows, schema=names, orient="row").with_columns(a_site=pl.lit(S), z_site=pl.lit(S))
    return Fabric.of(links, servers=[(S, "gpu1"), (S, "gpu2")])


class TestPaths:
    def test_a_fat_tree_has_as_many_paths_as_the_book_says(self, fabric: Fabric) -> None:
        """(k/2)² between pods, k/2 within one."""
        across = fabric.paths((S, "edge0-0"), (S, "edge1-0"))
        within = fabric.paths((S, "edge0-0"), (S, "edge0-1"))

        assert (4, 4) == (len(across), len(across[0]))
        assert (2, 2) == (len(within), len(within[0]))

    def test_a_path_is_a_chain_of_directed_links(self, fabric: Fabric) -> None:
        for path in fabric.paths((S, "edge0-0"), (S, "edge3-1")):
            ends = [fabric.ends(link) for link in path]

            assert [ends[at][1][1] for at in range(3)] == [ends[at + 1][0][1] for at in range(3)]

    def test_the_generator_routes_over_paths_of_the_fabric(self, tree: FatTree, fabric: Fabric) -> None:
        """Two pieces of code that share nothing but the table of links agree on every path."""
        names = [f"edge{pod}-{edge}" for pod in range(4) for edge in range(2)]
        number = {tuple(map(str, (end[1], end[2]))): link for end, link in fabric.leaving.items()}
        table = tree.table()
        ours = [
            number[row[side], row[port]]
            for row in table.iter_rows(named=True)
            for side, port in (("a_device", "a_interface"), ("z_device", "z_interface"))
        ]
        for source, target in ((0, 1), (0, 5), (7, 2)):
            choices = np.array([(agg, core) for agg in range(2) for core in range(2)])
            routes = tree.routes(np.full(4, source), np.full(4, target), choices[:, 0], choices[:, 1])
            made = {tuple(ours[link] for link in row if link >= 0) for row in routes.links.tolist()}

            assert made == set(fabric.paths((S, names[source]), (S, names[target])))

    def test_a_server_forwards_nothing(self) -> None:
        """Two leaves with servers in common are not joined by them."""
        fabric = _rail()

        assert all(len(path) == 2 for path in fabric.paths((S, "leaf1"), (S, "leaf2")))
        assert 2 == len(fabric.paths((S, "leaf1"), (S, "leaf2")))

    def test_devices_that_are_not_joined_have_no_path(self) -> None:
        assert [] == _rail().paths((S, "leaf1"), (S, "leaf7"))

    def test_a_traced_path_may_name_the_ports_at_both_ends_of_a_cable(self) -> None:
        fabric = _rail()
        came_in = [(S, "spine", "e2"), (S, "leaf2", "e8")]
        both = [(S, "leaf1", "e9"), came_in[0], (S, "spine", "e3"), came_in[1]]

        assert fabric.crossed(came_in) == fabric.crossed(both)
        assert ["leaf1:e9 → spine:e2", "spine:e3 → leaf2:e8"] == [fabric.named(x) for x in fabric.crossed(both)]


class TestSpread:
    @pytest.mark.parametrize(("source", "target"), [("edge0-0", "edge1-0"), ("edge0-0", "edge0-1")])
    def test_even_shares_are_the_mean_of_the_paths(self, fabric: Fabric, source: str, target: str) -> None:
        paths = fabric.paths((S, source), (S, target))
        mean = incidence(paths, fabric.links).toarray().mean(axis=0)

        spread = incidence([fabric.spread((S, source), (S, target))], fabric.links).toarray()[0]

        assert spread == pytest.approx(mean)

    def test_measured_shares_decide_where_they_are_known(self) -> None:
        fabric = _rail()
        shares = {(S, "leaf1", "e8"): 3.0, (S, "leaf1", "e9"): 1.0}
        spread = fabric.spread((S, "leaf1"), (S, "leaf2"), shares)

        assert 0.75 == spread[fabric.leaving[S, "leaf1", "e8"]]
        assert 1.0 == spread[fabric.leaving[S, "spine", "e3"]]

    def test_there_is_no_spread_where_there_is_no_path(self) -> None:
        assert {} == _rail().spread((S, "leaf1"), (S, "leaf7"))


def test_a_cable_that_two_sources_know_is_one(tree: FatTree) -> None:
    """LLDP says it from the other end."""
    table = tree.table()
    turned = table.rename({n: ("z" if n[0] == "a" else "a") + n[1:] for n in table.columns}).select(table.columns)

    assert Fabric.of(table).links == Fabric.of(pl.concat([table, turned])).links
