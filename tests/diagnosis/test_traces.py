"""Hops into ports: by the operator's list, else by what hosts say of themselves."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from probed_fabric import AT, probed

from diagnosis.reading import Question, answered, fabric_of
from diagnosis.traces import paths_traced, ports_by_address, traced, unmapped
from ingest.lake import Lake
from ingest.probes.addresses import PortAddress, address_table
from ingest.schema import PORT_ADDRESSES, PROBE_PATHS, PROBES

S = "default"
Fill = Callable[..., Lake]
LISTED = [
    *(PortAddress(S, "leaf0", f"h{host}", f"10.1.0.{host}") for host in range(2)),
    *(PortAddress(S, f"spine{spine}", "d0", f"10.2.{spine}.1") for spine in range(2)),
    *(PortAddress(S, "leaf1", f"u{spine}", f"10.3.{spine}.1") for spine in range(2)),
]
"""Where packets from the servers of leaf0 to those of leaf1 come in."""


@pytest.fixture(name="lake")
def _lake(tmp_path: Path) -> Lake:
    """Probes, and the traced ways of two 5-tuples, from gpu0 to gpu2 over either spine."""
    lake: Lake = probed(tmp_path / "lake")
    lake.append(PROBE_PATHS, PROBE_PATHS.of([_way(50_000 + spine, spine) for spine in range(2)]))
    return lake


def _way(port: int, spine: int, **more: Any) -> dict[str, Any]:
    ends = {
        f"{end}_{what}": value
        for end, name in (("source", "gpu0"), ("target", "gpu2"))
        for what, value in (("device", name), ("interface", "eth0"), ("address", f"10.0.0.{name[3:]}"))
    }
    hops = ["10.1.0.0", f"10.2.{spine}.1", f"10.3.{spine}.1"]
    flow = {"site": S, "source_port": port, "target_port": 4791, "protocol": "udp", "direction": "forward"}
    at = AT - timedelta(minutes=5)
    said = {"time": at, "received_at": at, "hops": hops, "reached": True, "method": "trace", "source": "agent"}
    return ends | flow | said | more


def _list(lake: Lake, *ports: PortAddress, minutes: int = 0) -> None:
    lake.append(PORT_ADDRESSES, address_table(ports, AT + timedelta(minutes=minutes)))


def test_a_traced_way_is_the_links_that_the_list_names(lake: Lake) -> None:
    _list(lake, *LISTED)
    fabric = fabric_of(lake, AT)

    ways = traced(lake, fabric, AT)

    assert {("10.0.0.0", 50_000, "10.0.0.2"), ("10.0.0.0", 50_001, "10.0.0.2")} == ways.keys()
    assert [
        "gpu0:eth0 → leaf0:h0",
        "leaf0:u1 → spine1:d0",
        "spine1:d1 → leaf1:u1",
        "leaf1:h0 → gpu2:eth0",
    ] == [fabric.named(link) for link in ways["10.0.0.0", 50_001, "10.0.0.2"]]


def test_hops_that_no_list_names_are_told_with_their_ways(lake: Lake) -> None:
    _list(lake, *LISTED[:3])
    paths = paths_traced(lake, AT)

    left = unmapped(paths, ports_by_address(lake, paths))

    assert {"10.2.1.1": 1, "10.3.0.1": 1, "10.3.1.1": 1} == left
    assert {} == traced(lake, fabric_of(lake, AT), AT)


def test_the_newest_line_of_an_address_counts(lake: Lake) -> None:
    _list(lake, PortAddress(S, "leaf0", "h1", "10.1.0.0"))
    _list(lake, *LISTED, minutes=1)

    assert (S, "leaf0", "h0") == ports_by_address(lake, paths_traced(lake, AT))["10.1.0.0"]


def test_an_old_way_is_none(lake: Lake) -> None:
    _list(lake, *LISTED)

    assert {} == traced(lake, fabric_of(lake, AT), AT + timedelta(hours=2))


def test_a_verdict_says_whether_ways_were_known(lake: Lake) -> None:
    """Else every equal-cost way counts with its share, and links of one ToR are hard to tell apart."""
    question = Question(ports=((S, "leaf0", "u0"),))

    assert "ways" in answered(lake, question, AT).missing
    _list(lake, *LISTED)
    assert "ways" not in answered(lake, question, AT).missing


def test_windows_from_files_which_tell_less_are_judged_too(lake: Lake) -> None:
    """No directions, no ports, no epochs: a summary of all 5-tuples between two ends, all of whose probes are lost."""
    ends = {
        "source_address": "10.0.0.0",
        "target_address": "10.0.0.2",
        "source_device": "gpu0",
        "target_device": "gpu2",
    }
    counts = {"sent": 40, "lost": 40, "window_s": 20.0, "protocol": "rdma_ud", "kind": "inter_tor", "source": "file"}
    same = {"site": S, "time": AT - timedelta(seconds=100), "received_at": AT}
    lake.append(PROBES, PROBES.of([ends | counts | same, {**ends, "source_device": "10.9.9.9"} | counts | same]))

    assert "probes" not in answered(lake, Question(ports=((S, "leaf0", "u0"),)), AT).missing


def _first(lake: Lake) -> dict[str, Any]:
    """What the first server saw of another."""
    rows = lake.latest(PROBES).filter(source_device="gpu0", target_device="gpu2").sort("time").collect()
    return rows.row(0, named=True)


def test_an_address_that_two_hosts_claim_is_nobodys(lake: Lake) -> None:
    row = _first(lake)
    lake.append(PROBES, PROBES.of([{**row, "source_device": "gpu6", "source_address": "10.0.0.1"}]))
    found = ports_by_address(lake, lake.latest(PROBES).collect())

    assert "10.0.0.1" not in found
    assert (S, "gpu2", "eth0") == found["10.0.0.2"]


def test_what_others_say_of_an_address_is_not_its_hosts_word(lake: Lake) -> None:
    row = _first(lake)
    lake.append(PROBES, PROBES.of([{**row, "target_device": "gpu6", "target_address": "10.0.0.2"}]))

    assert (S, "gpu2", "eth0") == ports_by_address(lake, lake.latest(PROBES).collect())["10.0.0.2"]


def test_the_operators_list_is_believed_before_any_host(lake: Lake) -> None:
    _list(lake, PortAddress(S, "gpu5", "eth1", "10.0.0.2"))

    assert (S, "gpu5", "eth1") == ports_by_address(lake, lake.latest(PROBES).collect())["10.0.0.2"]
