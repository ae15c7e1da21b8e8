"""Links from LLDP: one row a cable, ended only by another neighbour, and never against the file's word."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.fleet import Fleet
from ingest.collect.links import Links
from ingest.decode.interfaces import Interfaces
from ingest.decode.lldp import Lldp, Neighbour
from ingest.lake import Lake
from ingest.schema import LINKS

T0 = datetime(2026, 3, 1, tzinfo=UTC)
T1, T2, T3 = (T0 + timedelta(hours=hours) for hours in (1, 2, 3))


def ports(*names: str) -> Interfaces:
    by_text = {name.casefold(): i for i, name in enumerate(names, 1)}
    return Interfaces(names=dict(enumerate(names, 1)), by_text=by_text)


def sees(**heard: tuple[str, str]) -> Lldp:
    """Neighbours by port: ``Ethernet1=("spine01", "Ethernet5")``."""
    return Lldp([Neighbour(port, device, interface) for port, (device, interface) in heard.items()])


def written(links: Links, at: datetime) -> list[tuple[Any, ...]]:
    """What changed, as a sweep writes it: both ends, since when, until when."""
    rows = links.changes(at)
    links.accept(rows)
    names = ("a_device", "a_interface", "z_device", "z_interface", "valid_from", "valid_to")
    return [tuple(row[name] for name in names) for row in rows]


def as_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in rows], schema=LINKS.schema)


def file_row(**columns: Any) -> dict[str, Any]:
    ends = {"a_site": "default", "z_site": "default", "a_device": "leaf01", "a_interface": "Ethernet1"}
    ends |= {"z_device": "spine09", "z_interface": "Ethernet9"}
    return {"received_at": T0, **ends, "valid_from": None, "valid_to": None, "source": "file"} | columns


LEAF = ("leaf01", "Ethernet1", "spine01", "Ethernet5")


def test_both_ends_reports_make_one_row() -> None:
    links = Links()
    links.report("default", "spine01", sees(Ethernet5=("leaf01", "Ethernet1")), ports("Ethernet5"))
    links.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))

    assert [(*LEAF, T1, None)] == written(links, T1)
    assert [] == written(links, T2)


def test_one_end_is_enough_and_a_row_has_all_that_the_table_needs() -> None:
    links = Links()
    links.report("paris", "leaf01", sees(Ethernet1=("gpu01", "eth0")), ports("Ethernet1"))

    rows = links.changes(T1)

    expected = {"a_site": "paris", "a_device": "gpu01", "z_site": "paris", "z_device": "leaf01", "source": "lldp"}
    row = as_table(rows).to_pylist()[0]
    assert expected == {name: row[name] for name in expected}
    assert (T1, T1, None) == (row["received_at"], row["valid_from"], row["valid_to"])


def test_what_was_not_accepted_is_given_again() -> None:
    links = Links()
    links.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))
    links.changes(T1)

    assert [(*LEAF, T2, None)] == written(links, T2)


def test_silence_is_no_removal() -> None:
    links = Links()
    links.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))
    written(links, T1)
    links.report("default", "leaf01", Lldp(), ports("Ethernet1"))

    assert [] == written(links, T2)


def test_another_neighbour_ends_the_link_and_begins_one() -> None:
    links = Links()
    links.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))
    written(links, T1)
    links.report("default", "leaf01", sees(Ethernet1=("spine02", "Ethernet7")), ports("Ethernet1"))

    assert [(*LEAF, T1, T2), ("leaf01", "Ethernet1", "spine02", "Ethernet7", T2, None)] == written(links, T2)


def test_a_neighbour_moved_from_another_port_ends_the_link_there() -> None:
    links = Links()
    links.report("default", "leaf01", sees(Ethernet1=("gpu01", "eth0")), ports("Ethernet1", "Ethernet2"))
    written(links, T1)
    links.report("default", "leaf01", sees(Ethernet2=("gpu01", "eth0")), ports("Ethernet1", "Ethernet2"))

    moved = written(links, T2)

    assert [
        ("gpu01", "eth0", "leaf01", "Ethernet1", T1, T2),
        ("gpu01", "eth0", "leaf01", "Ethernet2", T2, None),
    ] == moved


def test_a_link_that_stood_at_the_last_start_is_not_written_again(tmp_path: Path) -> None:
    lake, links = Lake(str(tmp_path)), Links()
    links.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))
    lake.append(LINKS, as_table(links.changes(T1)))
    again = Links.of(lake.latest(LINKS).collect().to_dicts())

    again.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))

    assert [] == written(again, T2)


@pytest.mark.parametrize("said", ["SPINE01", "spine01.example.net", "Spine01.Example.Net"])
def test_a_neighbour_is_the_known_device_with_or_without_its_domain_and_in_any_case(said: str) -> None:
    links = Links()
    links.report("default", "spine01", Lldp(), ports("Ethernet5"))
    links.report("default", "leaf01", sees(Ethernet1=(said, "ethernet5")), ports("Ethernet1"))

    assert [(*LEAF, T1, None)] == written(links, T1)


def test_two_domains_are_two_devices() -> None:
    links = Links()
    links.report("default", "spine01.dc1", Lldp(), ports("Ethernet5"))
    links.report("default", "leaf01", sees(Ethernet1=("spine01.dc2", "Ethernet5")), ports("Ethernet1"))

    assert [("leaf01", "Ethernet1", "spine01.dc2", "Ethernet5", T1, None)] == written(links, T1)


def test_a_short_name_that_two_devices_have_is_kept_as_it_came() -> None:
    links = Links()
    for name in ("spine01.dc1", "spine01.dc2"):
        links.report("default", name, Lldp(), ports("Ethernet5"))
    links.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))

    assert [(*LEAF, T1, None)] == written(links, T1)


def test_a_neighbour_is_looked_for_at_its_site_first_and_then_at_the_others() -> None:
    links = Links()
    for site, device in (("paris", "spine01"), ("oslo", "spine01"), ("oslo", "core01")):
        links.report(site, device, Lldp(), ports("Ethernet5"))
    heard = sees(Ethernet1=("spine01", "Ethernet5"), Ethernet2=("core01", "Ethernet5"))
    links.report("paris", "leaf01", heard, ports("Ethernet1", "Ethernet2"))

    rows = links.changes(T1)

    sites = {(row["a_device"], row["z_device"]): (row["a_site"], row["z_site"]) for row in rows}
    assert {("leaf01", "spine01"): ("paris", "paris"), ("core01", "leaf01"): ("oslo", "paris")} == sites


def test_a_device_under_another_name_in_the_configuration_is_known_by_its_chassis_or_its_own_name() -> None:
    links = Links()
    links.report("default", "rack7-top", Lldp(chassis="00:1c:73:00:00:01"), ports("Ethernet5"))
    links.report("default", "rack8-top", Lldp(sys_name="spine02.example.net"), ports("Ethernet5"))
    by_chassis = Neighbour("Ethernet1", "spine01", "Ethernet5", chassis="00:1c:73:00:00:01")
    by_name = Neighbour("Ethernet2", "spine02", "Ethernet5")
    links.report("default", "leaf01", Lldp([by_chassis, by_name]), ports("Ethernet1", "Ethernet2"))

    assert {"rack7-top", "rack8-top"} == {row[2] for row in written(links, T1)}


def test_the_peers_port_gets_its_own_name_by_the_id_that_the_peer_sends() -> None:
    links = Links()
    links.report("default", "spine01", Lldp(ports={"612": "ge-0/1/2"}), ports("ge-0/0/0", "ge-0/1/2"))
    heard = Neighbour("Ethernet1", "spine01", "612", port_id="612", description="ge-0/0/0")
    links.report("default", "leaf01", Lldp([heard]), ports("Ethernet1"))

    assert [("leaf01", "Ethernet1", "spine01", "ge-0/1/2", T1, None)] == written(links, T1)


def test_the_peers_port_gets_its_own_name_though_it_was_abbreviated() -> None:
    links = Links()
    links.report("default", "spine01", Lldp(), ports("TenGigabitEthernet1/3", "TenGigabitEthernet1/30"))
    links.report("default", "leaf01", sees(Ethernet1=("spine01", "Te1/3")), ports("Ethernet1"))

    assert [("leaf01", "Ethernet1", "spine01", "TenGigabitEthernet1/3", T1, None)] == written(links, T1)


def test_a_far_end_that_becomes_known_gets_its_name_and_the_link_keeps_its_beginning() -> None:
    links = Links()
    links.report("default", "leaf01", sees(Ethernet1=("spine01.example.net", "Et5")), ports("Ethernet1"))
    written(links, T1)
    links.report("default", "spine01", Lldp(), ports("Ethernet5"))

    rows = written(links, T2)

    assert [("leaf01", "Ethernet1", "spine01.example.net", "Et5", T1, T1), (*LEAF, T1, None)] == rows
    assert [] == written(links, T3)


def test_one_port_in_two_links_is_in_none_and_said_until_it_is_clear() -> None:
    links = Links()
    for leaf in ("leaf01", "leaf02"):
        links.report("default", leaf, sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))
    assert [] == written(links, T1)
    assert 2 == len(links.doubts)
    assert "LLDP sees leaf01 Ethernet1 connected to spine01 Ethernet5, but one of the two" in links.doubts[0]

    links.report("default", "leaf02", Lldp(), ports("Ethernet1"))

    assert [(*LEAF, T2, None)] == written(links, T2)
    assert [] == links.doubts


def test_what_both_ends_say_stands_against_an_old_report_of_one() -> None:
    links = Links()
    links.report("default", "dead01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))
    written(links, T1)
    links.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))
    links.report("default", "spine01", sees(Ethernet5=("leaf01", "Ethernet1")), ports("Ethernet5"))

    assert [("dead01", "Ethernet1", "spine01", "Ethernet5", T1, T2), (*LEAF, T2, None)] == written(links, T2)


def test_a_port_that_hears_itself_is_no_link() -> None:
    links = Links()
    links.report("default", "leaf01", sees(Ethernet1=("leaf01", "Ethernet1")), ports("Ethernet1"))

    assert [] == written(links, T1)


def test_doubts_of_a_device_are_passed_on_with_its_name() -> None:
    links = Links()
    links.report("default", "leaf01", Lldp(doubts=["Ethernet1 sees several neighbours"]), ports("Ethernet1"))
    written(links, T1)

    assert ["leaf01: Ethernet1 sees several neighbours"] == links.doubts


def test_links_are_wanted_only_of_ports_with_a_transceiver_where_these_are_told() -> None:
    links = Links()
    heard = sees(Ethernet1=("spine01", "Ethernet5"), Ethernet2=("ap07", "eth0"))
    links.report("default", "leaf01", heard, ports("Ethernet1", "Ethernet2"), cages={"Ethernet1"})

    assert [(*LEAF, T1, None)] == written(links, T1)


PORTS = [(device, port) for device in ("leaf01", "leaf02", "spine01") for port in ("Ethernet1", "Ethernet2")]
wirings = st.permutations(PORTS).map(lambda order: list(zip(order[::2], order[1::2], strict=True)))


@given(st.lists(st.tuples(wirings, st.sets(st.integers(0, 2)), st.sets(st.sampled_from(PORTS))), max_size=8), wirings)
def test_however_cables_move_a_port_is_in_one_link_and_what_all_say_at_last_stands(
    history: list[tuple[list[Any], set[int], set[Any]]], last: list[Any]
) -> None:
    """Some devices are not polled at a step, some ports hear nothing, and some devices report before others."""
    links, rows = Links(), {}
    for step, (wiring, silent, deaf) in enumerate([*history, (last, set(), set())]):
        peers = {**dict(wiring), **{far: near for near, far in wiring}}
        for place, device in enumerate(("leaf01", "leaf02", "spine01")):
            if place not in silent:
                heard = {p: peers[d, p] for d, p in PORTS if d == device and (d, p) not in deaf}
                links.report("default", device, sees(**heard), ports("Ethernet1", "Ethernet2"))
        at = T0 + timedelta(hours=step)
        for row in written(links, at):
            rows[row[:5]] = row
        standing = [row for row in rows.values() if row[5] is None]
        ends = [end for row in standing for end in (row[:2], row[2:4])]
        assert len(set(ends)) == len(ends)

    assert {tuple(sorted(pair)) for pair in last} == {(row[:2], row[2:4]) for row in standing}


class TestAgainstAFile:
    @pytest.mark.parametrize("near", ["Ethernet1", "Eth1"])
    def test_its_links_are_neither_ended_nor_contradicted(self, near: str) -> None:
        links = Links.of([file_row(a_interface=near)])
        links.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))

        assert [] == written(links, T1)
        assert ["file of links says otherwise" in doubt for doubt in links.doubts] == [True]

    def test_its_links_are_not_written_again(self) -> None:
        links = Links.of([file_row()])
        links.report("default", "leaf01", sees(Ethernet1=("spine09.example.net", "Ethernet9")), ports("Ethernet1"))

        assert [] == written(links, T1)
        assert [] == links.doubts

    def test_it_is_believed_after_an_import_in_between(self) -> None:
        links = Links()
        links.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))
        written(links, T1)
        links.accept([file_row()])
        links.report("default", "leaf01", sees(Ethernet1=("spine02", "Ethernet5")), ports("Ethernet1"))

        assert [] == written(links, T2)

    def test_a_link_that_it_says_is_over_is_seen_anew(self) -> None:
        links = Links.of([file_row(valid_to=T1)])
        links.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))

        assert [(*LEAF, T2, None)] == written(links, T2)

    def test_a_reader_sees_the_files_link_only(self, tmp_path: Path) -> None:
        lake, links = Lake(str(tmp_path)), Links()
        links.report("default", "leaf01", sees(Ethernet1=("spine01", "Ethernet5")), ports("Ethernet1"))
        lake.append(LINKS, as_table(links.changes(T1)))
        lake.append(LINKS, as_table([file_row()]))

        fleet = Fleet.load(lake)

        assert {"leaf01:Ethernet1--spine09:Ethernet9"} == set(fleet.ends()["link_id"])
        assert {"leaf01:Ethernet1--spine09:Ethernet9"} == set(fleet.as_of(T2).ends()["link_id"])


def test_a_reader_sees_a_renamed_link_once(tmp_path: Path) -> None:
    lake, links = Lake(str(tmp_path)), Links()
    for device, heard, at in (
        ("leaf01", sees(Ethernet1=("spine01.example.net", "Et5")), T1),
        ("spine01", Lldp(), T2),
    ):
        links.report("default", device, heard, ports("Ethernet1", "Ethernet5"))
        rows: list[Mapping[str, Any]] = [*links.changes(at)]
        lake.append(LINKS, as_table(rows))
        links.accept(rows)

    ends = Fleet.load(lake).ends()

    assert {"leaf01:Ethernet1--spine01:Ethernet5"} == set(ends["link_id"])
    assert [T1] == ends.filter(pl.col("end") == "a")["valid_from"].to_list()
