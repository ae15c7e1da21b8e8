"""Links, tiers and paths of a fabric, against what one counts by hand."""

from collections.abc import Callable

import polars as pl

from features.fleet import Fleet
from serving.drains.fabric import Fabric, LinkClass


def test_tiers_are_the_hops_from_the_nearest_server(fabric: Fabric) -> None:
    tiers = {name: tier for (_, name), tier in fabric.tiers.items() if not name.startswith("gpu")}

    assert {"leaf01": 1, "leaf02": 1, "leaf03": 1, "leaf04": 1, "spine01": 2, "spine02": 2, "core01": 3} == tiers


def test_tiers_by_name_leave_a_device_that_no_pattern_fits_without_one(fleet: Fleet) -> None:
    fabric = Fabric.of(fleet, [["leaf*"], ["spine*"]])

    assert (1, 2, None) == tuple(fabric.tiers.get(("default", name)) for name in ("leaf01", "spine01", "core01"))


def test_a_leaf_has_one_path_for_each_way_over_parallel_links_to_the_top(fabric: Fabric) -> None:
    assert {"leaf01": 4, "leaf02": 4, "leaf03": 4, "leaf04": 4} == {name: n for (_, name), n in fabric.design.items()}


def test_a_link_below_the_core_takes_the_paths_of_every_leaf_over_its_spine(
    fabric: Fabric, name_of: Callable[[str], str]
) -> None:
    gone = {name_of("spine01 Ethernet9")}

    assert {("default", "leaf01"): 2} == fabric.paths([("default", "leaf01")], gone)
    assert set(fabric.design) == fabric.tors_below(gone)


def test_a_leafs_own_link_touches_no_other_leaf(fabric: Fabric, name_of: Callable[[str], str]) -> None:
    gone = {name_of("leaf01 Ethernet1")}

    assert {("default", "leaf01")} == fabric.tors_below(gone)
    assert {("default", "leaf01"): 3} == fabric.paths(fabric.tors_below(gone), gone)


def test_a_link_to_a_server_is_access_and_names_the_server(fabric: Fabric, name_of: Callable[[str], str]) -> None:
    access, trunk = (fabric.links[name_of(f"leaf01 Ethernet{port}")] for port in (11, 1))

    assert (LinkClass.ACCESS, LinkClass.FABRIC) == (fabric.class_of(access), fabric.class_of(trunk))
    assert (["gpu00"], []) == (fabric.servers_of(access), fabric.servers_of(trunk))


def test_all_links_of_a_breakout_module_go_out_when_the_module_is_worked_on() -> None:
    ends = [("leaf01", f"Ethernet1/{n}", f"spine0{n}", "Ethernet1") for n in (1, 2)]
    rows = [{"a_device": a, "a_interface": b, "z_device": c, "z_interface": d} for a, b, c, d in ends]
    modules = pl.DataFrame([{"device": "leaf01", "interface": "Ethernet1", "serial": "A", "role": "switch"}])
    fabric = Fabric.of(Fleet.from_frames(links=pl.DataFrame(rows), modules=modules))
    link = fabric.links[fabric.at_port["default", "leaf01", "Ethernet1/1"][0]]

    assert 2 == len(fabric.taken_with(link, ("default", "leaf01", "Ethernet1/1")))
    assert (link.link_id,) == fabric.taken_with(link, None)
    assert 2 == len(fabric.at_port["default", "leaf01", "Ethernet1"])


def test_parallel_links_are_a_bundle(fabric: Fabric) -> None:
    assert 2 == len(fabric.bundles[frozenset({("default", "leaf01"), ("default", "spine01")})])
