"""Windows of probes between four hosts at two leaves and two spines: whose fault it is, in which order."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any, Final

import polars as pl
import pytest

from diagnosis.fabric import Fabric
from diagnosis.localizers.glrt import Glrt
from diagnosis.observations import Evidence
from diagnosis.probes import Cause, Known, ProbeFinding
from diagnosis.tracking import Tracker
from diagnosis.ways import Span, Ways
from diagnosis.windows import Judged, judge, located
from ingest.schema import PROBE_PATHS, PROBES

Row = dict[str, Any]
START: Final = datetime(2026, 3, 1, tzinfo=UTC)
SPAN: Final = Span(START, START + timedelta(seconds=20))
HOSTS: Final = ("h0", "h1", "h2", "h3")
PORTS: Final = (50_000, 50_001, 50_002, 50_003)
CABLES: Final = tuple(
    [(("s", f"leaf{number // 2}", f"d{number}"), ("s", f"h{number}", "eth0")) for number in range(4)]
    + [(("s", f"leaf{leaf}", f"u{spine}"), ("s", f"spine{spine}", f"d{leaf}")) for leaf in (0, 1) for spine in (0, 1)]
)
FABRIC: Final = Fabric(CABLES, frozenset(("s", host) for host in HOSTS))
KNOWN: Final = Known(FABRIC, {"/".join(port[1:]): port for cable in CABLES for port in cable}, FABRIC.servers)


def _address(host: str) -> str:
    return f"{host}/eth0"


def _hops(source: str, target: str, spine: int) -> list[str]:
    near, far = int(source[1]) // 2, int(target[1]) // 2
    first = f"leaf{near}/d{source[1]}"
    return [first] if near == far else [first, f"spine{spine}/d{near}", f"leaf{far}/u{spine}"]


def _flow(source: str, target: str, port: int) -> Row:
    same = int(source[1]) // 2 == int(target[1]) // 2
    return {
        "site": "s",
        "source_device": source,
        "source_interface": "eth0",
        "source_address": _address(source),
        "target_device": target,
        "target_interface": "eth0",
        "target_address": _address(target),
        "source_port": port,
        "kind": "tor_mesh" if same else "inter_tor",
    }


def _row(source: str, target: str, port: int) -> Row:
    return _flow(source, target, port) | {
        "sent": 200,
        "unsent": 0,
        "lost": 0,
        "forward_lost": 0,
        "reverse_lost": 0,
        "refused": 0,
        "late": 0,
        "kernel_answers": None,
        "epoch_changed": False,
        "limited": False,
        "rtt_p50_ns": 10_000,
        "rtt_p99_ns": 30_000,
        "target_p50_ns": 100_000,
        "target_p99_ns": 400_000,
        "target_max_ns": 500_000,
    }


@pytest.fixture(name="rows")
def _rows() -> list[Row]:
    """All is well."""
    return [_row(source, target, port) for source, target in permutations(HOSTS, 2) for port in PORTS]


def _ways(spine_of: Callable[[int], int] = lambda port: port % 2, at: datetime = START - timedelta(minutes=1)) -> Ways:
    ways = Ways(KNOWN)
    _trace(ways, spine_of, at)
    return ways


def _trace(ways: Ways, spine_of: Callable[[int], int], at: datetime) -> None:
    for source, target in permutations(HOSTS, 2):
        for port in PORTS:
            same = _flow(source, target, port) | {"time": at, "reached": True}
            there, back = (_hops(*ends, spine_of(port)) for ends in ((source, target), (target, source)))
            found = [same | {"direction": "forward", "hops": there}, same | {"direction": "reverse", "hops": back}]
            ways.add(pl.DataFrame(PROBE_PATHS.of(found)))


def _dead(rows: list[Row], where: Callable[[Row], bool], **also: object) -> None:
    for row in rows:
        if where(row):
            row.update(lost=row["sent"], forward_lost=None, reverse_lost=None, rtt_p50_ns=None, **also)


def _of(rows: list[Row], ways: Ways | None = None) -> tuple[list[ProbeFinding], list[ProbeFinding]]:
    judged: Judged = judge(pl.DataFrame(PROBES.of(rows)), ways or _ways(), SPAN)
    return judged.findings, located([judged], Glrt(), KNOWN, Evidence())


def _touches(host: str) -> Callable[[Row], bool]:
    return lambda row: host in (row["source_device"], row["target_device"])


class TestTheHostsPart:
    def test_nothing_wrong_is_no_finding(self, rows: list[Row]) -> None:
        assert ([], []) == _of(rows)

    @pytest.mark.parametrize(
        ("also", "cause"),
        [
            ({"kernel_answers": False}, Cause.HOST_DOWN),
            ({"kernel_answers": True}, Cause.HOST_STALLED),
            ({"kernel_answers": True, "refused": 3}, Cause.AGENT_DOWN),
        ],
        ids=["down", "stalled", "no agent"],
    )
    def test_a_host_that_is_silent_explains_its_losses(
        self, rows: list[Row], also: dict[str, object], cause: Cause
    ) -> None:
        """It tells nothing, nothing comes back from it, and its kernel says why; no cable is blamed."""
        _dead(rows, _touches("h2"), **also)
        findings, links = _of([row for row in rows if row["source_device"] != "h2"])

        assert [(cause, "h2")] == [(each.cause, each.subject) for each in findings]
        assert [] == links

    def test_a_restart_is_noise(self, rows: list[Row]) -> None:
        """Counts of a responder that began anew say nothing, however many probes were lost."""
        for row in rows:
            if row["target_device"] == "h1":
                row.update(epoch_changed=True, lost=80, forward_lost=None, reverse_lost=None)
        findings, links = _of(rows)

        assert [(Cause.AGENT_RESTARTED, "h1")] == [(each.cause, each.subject) for each in findings]
        assert [] == links

    def test_a_nic_that_is_dead_while_its_host_speaks_is_named_with_its_cable(self, rows: list[Row]) -> None:
        """The host reports by another way."""
        _dead(rows, _touches("h3"), kernel_answers=False)
        findings, links = _of(rows)

        assert [(Cause.NIC_DOWN, "h3:eth0")] == [(each.cause, each.subject) for each in findings]
        assert {3} == {link // 2 for link in findings[0].links}
        assert [] == links

    def test_a_starved_host_is_neither_nic_nor_cable(self, rows: list[Row]) -> None:
        """It answers seconds late, and loses what its buffers could not hold."""
        for row in rows:
            if row["target_device"] == "h0":
                row.update(target_p99_ns=2_000_000_000, lost=40, forward_lost=40)
        findings, links = _of(rows)

        assert [(Cause.HOST_STARVED, "h0")] == [(each.cause, each.subject) for each in findings]
        assert [] == links

    def test_what_a_responder_left_unanswered_by_its_limit_is_no_loss(self, rows: list[Row]) -> None:
        """It says so itself."""
        for row in rows:
            if row["target_device"] == "h0":
                row.update(limited=True, lost=100, reverse_lost=100)

        assert ([], []) == _of(rows)


class TestTheFabricsPart:
    def test_a_lossy_link_is_named_with_its_direction(self, rows: list[Row]) -> None:
        """Two of a hundred from leaf0 by spine1; with two leaves the way down is of the same class, and told so."""
        for row in rows:
            if row["kind"] == "inter_tor" and row["source_port"] % 2:
                name = "forward_lost" if row["source_device"] in ("h0", "h1") else "reverse_lost"
                row.update({"lost": 4, name: 4})
        findings, links = _of(rows)

        assert [] == findings
        assert ["leaf0:u1 → spine1:d0 or spine1:d1 → leaf1:u1"] == [each.subject for each in links]

    def test_without_traces_the_fabrics_shares_are_taken(self, rows: list[Row]) -> None:
        """Half of each flow's probes cross either spine, as far as anybody knows: the leaf's uplinks are one class."""
        for row in rows:
            if row["kind"] == "inter_tor":
                name = "forward_lost" if row["source_device"] in ("h0", "h1") else "reverse_lost"
                row.update({"lost": 6, name: 6})
        _, links = _of(rows, Ways(KNOWN))

        assert links
        assert {"leaf0", "spine0", "spine1", "leaf1"} >= {
            FABRIC.ends(link)[0][1] for each in links for link in each.links
        }
        assert all(len(each.links) > 1 for each in links)

    def test_a_way_that_changed_within_the_window_blames_nobody(self, rows: list[Row]) -> None:
        """Which links the losses are of cannot be told."""
        ways = _ways()
        _trace(ways, lambda port: (port + (port == PORTS[0])) % 2, START + timedelta(seconds=9))
        for row in rows:
            if row["kind"] == "inter_tor" and row["source_port"] == PORTS[0]:
                row.update(lost=30, forward_lost=30)
        findings, links = _of(rows, ways)

        assert [Cause.PATH_CHANGED] == [each.cause for each in findings]
        assert [] == links

    def test_dead_tuples_among_living_ones_are_a_black_hole(self, rows: list[Row]) -> None:
        """One source port dies at leaf1, where all others pass by the same links."""
        for row in rows:
            ends = {row["source_device"], row["target_device"]}
            if row["source_port"] == PORTS[2] and ends & {"h2", "h3"}:
                row.update(lost=200, forward_lost=200, rtt_p50_ns=None)
        findings, links = _of(rows)

        assert [(Cause.BLACK_HOLE, "leaf1")] == [(each.cause, each.subject) for each in findings]
        assert [] == links

    def test_a_link_that_is_dead_for_all_is_no_black_hole(self, rows: list[Row]) -> None:
        """No other flow shows that it lives."""
        for row in rows:
            if row["kind"] == "inter_tor" and row["source_port"] % 2:
                name = "forward_lost" if row["source_device"] in ("h0", "h1") else "reverse_lost"
                row.update({"lost": 200, name: 200, "rtt_p50_ns": None})
        findings, links = _of(rows)

        assert [] == findings
        assert ["leaf0:u1 → spine1:d0 or spine1:d1 → leaf1:u1"] == [each.subject for each in links]

    @pytest.mark.parametrize("median_ns", [30_000_000, 20_000], ids=["always", "at times"])
    def test_losses_beside_a_queue_are_congestion(self, rows: list[Row], median_ns: int) -> None:
        """Round trips over spine0 of leaf1 take milliseconds, and some are dropped."""
        for row in rows:
            if row["kind"] == "inter_tor" and row["source_port"] % 2 == 0:
                row.update(rtt_p50_ns=median_ns, rtt_p99_ns=90_000_000, lost=50, forward_lost=50)
        findings, links = _of(rows)

        assert [Cause.CONGESTION] == [each.cause for each in findings]
        assert "spine0" in findings[0].subject
        assert [] == links

    def test_flows_that_a_queue_drops_whole_do_not_speak_against_it(self, rows: list[Row]) -> None:
        """Most of what leaf0 sends to spine0 is dropped, and half of the flows tell no time; what came back waited."""
        for row in rows:
            if row["kind"] == "inter_tor" and row["source_port"] % 2 == 0:
                whole = row["source_port"] == PORTS[0]
                times = dict.fromkeys(("rtt_p50_ns", "rtt_p99_ns"), None if whole else 700_000_000)
                name = "forward_lost" if row["source_device"] in ("h0", "h1") else "reverse_lost"
                row.update({"lost": 200 if whole else 180, name: 200 if whole else 180, **times})
        findings, links = _of(rows)

        assert [Cause.CONGESTION] == [each.cause for each in findings]
        assert "leaf0:u0 → spine0:d0 or spine0:d1 → leaf1:u0" == findings[0].subject
        assert [] == links

    @pytest.mark.parametrize("late_ns", [30_000, 700_000_000], ids=["none late", "one late"])
    def test_a_link_that_loses_nearly_all_is_no_queue(self, rows: list[Row], late_ns: int) -> None:
        """What comes back came in time, but for a flow that something else delayed."""
        for row in rows:
            if row["kind"] == "inter_tor" and row["source_port"] % 2:
                name = "forward_lost" if row["source_device"] in ("h0", "h1") else "reverse_lost"
                row.update({"lost": 190, name: 190})
        next(row for row in rows if row["lost"]).update(rtt_p50_ns=late_ns, rtt_p99_ns=late_ns)
        findings, links = _of(rows)

        assert [] == findings
        assert ["leaf0:u1 → spine1:d0 or spine1:d1 → leaf1:u1"] == [each.subject for each in links]

    def test_a_black_hole_that_begins_within_the_window_is_one(self, rows: list[Row]) -> None:
        """Its flows lost three in four, those beside them nothing."""
        for row in rows:
            ends = {row["source_device"], row["target_device"]}
            if row["source_port"] == PORTS[2] and ends & {"h2", "h3"}:
                row.update(lost=150, forward_lost=150)
        findings, links = _of(rows)

        assert [(Cause.BLACK_HOLE, "leaf1")] == [(each.cause, each.subject) for each in findings]
        assert [] == links

    def test_flows_over_two_lossy_links_are_no_black_hole(self, rows: list[Row]) -> None:
        """Each takes two in five, as of the flows that cross one of them alone: together most of what crosses both."""
        for row in rows:
            there = (row["source_device"] == "h0") + (row["target_device"] == "h3")
            back = (row["target_device"] == "h0") + (row["source_device"] == "h3")
            forward = round(200 * (1.0 - 0.6**there))
            reverse = round((200 - forward) * (1.0 - 0.6**back))
            row.update(forward_lost=forward, reverse_lost=reverse, lost=forward + reverse)
        findings, links = _of(rows)

        assert [] == findings
        assert {"h0:eth0 → leaf0:d0", "leaf1:d3 → h3:eth0"} == {each.subject for each in links}


class TestHysteresis:
    def test_a_finding_opens_after_two_windows_and_closes_after_three_without(self) -> None:
        """One window is a hint."""
        finding = ProbeFinding(Cause.LINK, "leaf0:u1 → spine1:d0", 9, 0.9, "loses")
        tracker = Tracker()
        open_ = [bool(tracker.step([finding] if seen else [])) for seen in (1, 0, 1, 1, 0, 0, 1, 0, 0, 0)]

        assert [False, False, False, True, True, True, True, True, True, False] == open_

    def test_one_reporter_alone_opens_nothing(self) -> None:
        """Its confidence is even, whatever it tells, and for how long."""
        tracker = Tracker()
        alone = ProbeFinding(Cause.HOST_DOWN, "h1", 4, 0.5, "down")

        assert [[]] * 5 == [tracker.step([alone]) for _ in range(5)]
