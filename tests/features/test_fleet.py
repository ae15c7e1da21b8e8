"""The fleet's records, and what of them was known at a time."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from features.fleet import Fleet, is_copper
from ingest.lake import Lake
from ingest.schema import LINKS, MODULES, TICKETS


def _at(day: int, hour: int = 0) -> datetime:
    return datetime(2026, 3, day, hour, tzinfo=UTC)


@pytest.fixture(name="links")
def _links() -> pl.DataFrame:
    rows = [
        ("leaf01", "Ethernet0", "gpu01", "eth0", "C1", "fiber"),
        ("leaf01", "Ethernet8", "spine01", "Ethernet0", None, None),
    ]
    return pl.DataFrame(
        rows, schema=["a_device", "a_interface", "z_device", "z_interface", "cable_id", "kind"], orient="row"
    )


def test_each_link_has_two_ends_that_are_each_others_peer(links: pl.DataFrame) -> None:
    ends = Fleet.from_frames(links=links).ends()

    cable = ends.filter(pl.col("link_id") == "C1")
    assert [("a", "leaf01", "gpu01"), ("z", "gpu01", "leaf01")] == cable.select("end", "device", "peer_device").rows()


def test_a_link_without_a_cable_id_is_named_after_its_sorted_ports(links: pl.DataFrame) -> None:
    turned = links.rename(
        {name: f"{'z' if name[0] == 'a' else 'a'}{name[1:]}" for name in links.columns if name[1] == "_"}
    )

    names = {frozenset(Fleet.from_frames(links=frame).ends()["link_id"]) for frame in (links, turned)}

    assert {frozenset({"C1", "leaf01:Ethernet8--spine01:Ethernet0"})} == names


def test_a_port_in_no_link_is_a_link_of_its_own(links: pl.DataFrame) -> None:
    modules = pl.DataFrame({"device": ["leaf09", "leaf01"], "interface": ["Ethernet4", "Ethernet0"]})

    ends = Fleet.from_frames(links=links, modules=modules).ends()

    alone = ends.filter(pl.col("device") == "leaf09")
    assert [("leaf09:Ethernet4", "a", None)] == alone.select("link_id", "end", "peer_device").rows()
    assert 5 == ends.height


def test_the_same_names_at_two_sites_are_two_links(links: pl.DataFrame) -> None:
    sites = [links.with_columns(a_site=pl.lit(site), z_site=pl.lit(site)) for site in ("paris", "oslo")]

    ends = Fleet.from_frames(links=pl.concat(sites)).ends()

    assert 4 == ends["link_id"].n_unique()


def test_lldp_from_both_ends_is_one_link_and_a_file_overrides_it() -> None:
    rows = [
        ("leaf01", "Ethernet0", "spine01", "Ethernet0", "lldp"),
        ("spine01", "Ethernet0", "leaf01", "Ethernet0", "lldp"),
        ("leaf02", "Ethernet0", "spine01", "Ethernet8", "lldp"),
        ("leaf02", "Ethernet0", "spine02", "Ethernet8", "file"),
    ]
    links = pl.DataFrame(rows, schema=["a_device", "a_interface", "z_device", "z_interface", "source"], orient="row")

    ends = Fleet.from_frames(links=links).ends()

    assert {"leaf01:Ethernet0--spine01:Ethernet0", "leaf02:Ethernet0--spine02:Ethernet8"} == set(ends["link_id"])


def test_links_of_one_breakout_cable_are_told_apart() -> None:
    rows = [("leaf01", "Ethernet0", f"gpu0{i}", "eth0", "MPO7") for i in range(2)]
    links = pl.DataFrame(rows, schema=["a_device", "a_interface", "z_device", "z_interface", "cable_id"], orient="row")

    ends = Fleet.from_frames(links=links).ends()

    assert 2 == ends["link_id"].n_unique()
    assert 2 == ends.filter(pl.col("device") == "leaf01").height


@pytest.mark.parametrize(
    ("kind", "media", "copper"),
    [
        ("dac", None, True),
        ("AEC", None, True),
        ("fiber", "400GBASE-DR4", False),
        ("aoc", "100G-AOC", False),
        (None, "100GBASE-CR4", True),
        (None, "100GBASE-CU--SR4", True),
        (None, "400G-CR8", True),
        (None, "10G-CU3M", True),
        (None, None, False),
    ],
)
def test_copper_is_known_by_kind_or_media(kind: str | None, media: str | None, copper: bool) -> None:
    frame = pl.DataFrame({"kind": [kind], "media": [media]}, schema={"kind": pl.String, "media": pl.String})

    assert [copper] == frame.select(is_copper().alias("copper"))["copper"].to_list()


def test_a_link_is_copper_at_both_ends_though_only_one_says_so(links: pl.DataFrame) -> None:
    modules = pl.DataFrame({"device": ["leaf01"], "interface": ["Ethernet8"], "media": ["400GBASE-CR8"]})

    ends = Fleet.from_frames(links=links, modules=modules).ends()

    assert {"leaf01:Ethernet8--spine01:Ethernet0"} == set(ends.filter("copper")["link_id"])
    assert 2 == ends["copper"].sum()


class TestAsOf:
    def test_a_later_installation_is_not_there_and_a_later_removal_not_known(self) -> None:
        modules = pl.DataFrame(
            {
                "device": ["leaf01"] * 3,
                "interface": ["Ethernet0", "Ethernet0", "Ethernet8"],
                "serial": ["A", "B", "C"],
                "installed_at": [_at(1), _at(10), None],
                "removed_at": [_at(10), None, None],
            }
        )

        known = Fleet.from_frames(modules=modules).as_of(_at(9)).modules

        assert [("A", None), ("C", None)] == known.select("serial", "removed_at").rows()

    def test_in_cages_is_the_module_of_the_time(self) -> None:
        modules = pl.DataFrame(
            {
                "device": ["leaf01"] * 2,
                "interface": ["Ethernet0"] * 2,
                "serial": ["A", "B"],
                "installed_at": [_at(1), _at(10)],
                "removed_at": [_at(10), None],
            }
        )
        fleet = Fleet.from_frames(modules=modules)

        assert ["A"] == fleet.as_of(_at(9)).in_cages()["serial"].to_list()
        assert ["B"] == fleet.as_of(_at(11)).in_cages()["serial"].to_list()

    def test_an_open_ticket_does_not_tell_how_it_will_end(self) -> None:
        tickets = pl.DataFrame(
            {
                "ticket_id": ["T1", "T2"],
                "device": ["leaf01"] * 2,
                "interface": ["Ethernet0"] * 2,
                "opened_at": [_at(5), _at(7)],
                "closed_at": [_at(6), _at(8)],
                "failure_type": ["contamination"] * 2,
                "action": ["clean_connector"] * 2,
            }
        )
        fleet = Fleet.from_frames(tickets=tickets)

        open_now = fleet.as_of(_at(5, 12)).tickets.select("ticket_id", "closed_at", "failure_type", "action").rows()
        closed = fleet.as_of(_at(6)).tickets.select("ticket_id", "closed_at", "failure_type").rows()

        assert [("T1", None, None, None)] == open_now
        assert [("T1", _at(6), "contamination")] == closed

    def test_maintenance_is_known_when_announced_and_links_when_valid(self, links: pl.DataFrame) -> None:
        work = pl.DataFrame(
            {"device": ["leaf01"] * 2, "start": [_at(9)] * 2, "end": [_at(10)] * 2, "announced_at": [_at(3), None]}
        )
        dated = links.with_columns(valid_from=pl.Series([_at(1), _at(8)]), valid_to=pl.Series([_at(4), None]))
        fleet = Fleet.from_frames(maintenance=work, links=dated)

        assert 1 == fleet.as_of(_at(4)).maintenance.height
        assert 2 == fleet.as_of(_at(9)).maintenance.height
        assert [["C1"], [None]] == [fleet.as_of(_at(day)).links["cable_id"].to_list() for day in (3, 9)]

    def test_repairs_are_known_when_done(self) -> None:
        repairs = pl.DataFrame({"ticket_id": ["T1", "T1"], "seq": [1, 2], "at": [_at(5), _at(6)]})

        assert [1] == Fleet.from_frames(repairs=repairs).as_of(_at(5)).repairs["seq"].to_list()

    def test_as_of_the_end_nothing_is_missing(self, links: pl.DataFrame) -> None:
        fleet = Fleet.from_frames(links=links)

        assert fleet.ends().equals(fleet.as_of(_at(30)).ends())


def test_load_reads_the_latest_records_of_the_lake(tmp_path: Path, links: pl.DataFrame) -> None:
    lake = Lake(str(tmp_path / "lake"))
    whole = Fleet.from_frames(links=links).links
    lake.append(LINKS, whole.with_columns(received_at=pl.lit(_at(1))))
    ticket = {"ticket_id": ["T1"], "site": ["default"], "device": ["leaf01"], "interface": ["Ethernet0"]}
    opened = pl.DataFrame(ticket | {"opened_at": [_at(2)]})
    lake.append(TICKETS, opened.with_columns(received_at=pl.lit(_at(2))))
    lake.append(TICKETS, opened.with_columns(received_at=pl.lit(_at(3)), closed_at=pl.lit(_at(3))))

    fleet = Fleet.load(lake)

    assert [_at(3)] == fleet.tickets["closed_at"].to_list()
    assert 4 == fleet.ends().height
    assert fleet.modules.is_empty()
    assert MODULES.schema.names == fleet.modules.columns


def test_an_unknown_table_is_an_error_that_names_the_known_ones(links: pl.DataFrame) -> None:
    with pytest.raises(TypeError, match=r"no cables; it has modules, links"):
        Fleet.from_frames(cables=links)
