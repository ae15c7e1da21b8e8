"""Two agents over loopback: what is counted, and whose delay is whose."""

import contextlib
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ingest.errors import ConfigError
from ingest.probes.pinglist import Pinglist
from ingest.probes.wire import ANSWERS, SIZE, Kind, Packet, pack, unpack

Run = Callable[[Pinglist], Any]


class TestTwoAgents:
    def test_all_is_answered_and_times_are_the_kernels(self, run: Run, asking: Pinglist, answering: Pinglist) -> None:
        """Nothing is lost between two processes of one machine, and each flow has a row a window."""
        run(answering)
        rows = run(asking).windows(1)

        assert [0] * len(rows) == [row["lost"] for row in rows]
        assert {"kernel"} == {row["stamps"] for row in rows}
        assert {0} == {row["forward_lost"] for row in rows}
        assert min(row["sent"] for row in rows) > 5

    def test_the_round_trip_has_no_part_of_the_responders_delay(
        self, run: Run, asking: Pinglist, answering: Pinglist
    ) -> None:
        """A loopback takes microseconds, whatever the two processes wait for the processor."""
        run(answering)
        rows = run(asking).windows(1)

        assert all(row["rtt_min_ns"] < row["target_p50_ns"] for row in rows)
        assert [] == [row for row in rows if row["invalid_rtt"] > row["sent"] / 2]

    def test_ways_are_found_in_both_directions(self, run: Run, asking: Pinglist, answering: Pinglist) -> None:
        """The prober traces its probes' way, the other its replies'; on one machine neither has a hop."""
        far, near = run(answering), run(asking)
        near.windows(2)

        assert {("forward", True)} == {(path["direction"], path["reached"]) for path in near.paths}
        assert {("reverse", True)} == {(path["direction"], path["reached"]) for path in far.paths}
        assert all([] == path["hops"] for path in near.paths + far.paths)


class TestAResponder:
    def test_restarted_it_is_noise_and_not_loss(self, run: Run, asking: Pinglist, answering: Pinglist) -> None:
        """Its counts began anew: they say nothing of directions, and the row says so."""
        first, near = run(answering), run(asking)
        near.windows(1)
        first.end()
        time.sleep(0.3)
        run(answering)
        time.sleep(2.5)
        changed = [row for row in near.windows(4) if row["epoch_changed"]]

        assert changed
        assert {None} == {row["forward_lost"] for row in changed if row["lost"]}

    def test_that_is_not_there_is_told_by_its_kernel(self, run: Run, asking: Pinglist) -> None:
        """Refused is not lost in the network: the packet came."""
        rows = run(asking).windows(1)

        assert all(row["lost"] == row["sent"] for row in rows)
        assert sum(row["refused"] for row in rows) > 0
        assert any(row["kernel_answers"] for row in rows)

    def test_it_answers_within_its_rate_and_says_that_it_did_not_answer_all(
        self, run: Run, asking: Pinglist, answering: Pinglist
    ) -> None:
        """Probes beyond the rate are no loss of the network: they are counted, and the row is marked."""
        run(replace(answering, answer_per_s=15.0))
        rows = run(asking).windows(2)

        assert any(row["lost"] for row in rows)
        assert all(row["limited"] for row in rows if row["forward_lost"] == 0 and row["lost"])

    def test_it_answers_no_stranger_and_never_more_than_was_asked(
        self, run: Run, answering: Pinglist, ends: tuple[str, str]
    ) -> None:
        """Without the key there is no answer; with it, one of the same length."""
        run(answering)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.bind((ends[0], 50_200))
            asker.settimeout(1.0)
            own = (ends[0], 50_200, ends[1], 4791)
            asker.sendto(b"\0" * SIZE, (ends[1], 4791))
            asker.sendto(pack(Packet(Kind.PROBE, 0, 1, 1, 0), b"x" * 16, own), (ends[1], 4791))
            asker.sendto(pack(Packet(Kind.PROBE, 0, 1, 1, 0), answering.key, own), (ends[1], 4791))
            answers = [asker.recv(2_000)]
            asker.settimeout(0.3)
            with contextlib.suppress(TimeoutError):
                answers.append(asker.recv(2_000))

        assert [SIZE] == [len(answer) for answer in answers]


class TestAResponderThatLies:
    def test_delays_and_counts_that_cannot_be_are_not_believed(self, run: Run, asking: Pinglist) -> None:
        """Half of the probes are not answered; what it says of the others is beyond any table's numbers."""
        address = asking.flows[0].target_address
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as liar:
            liar.bind((address, asking.port))
            liar.settimeout(0.1)
            near = run(asking)
            while len({row["time"] for row in near.probes}) < 4:
                with contextlib.suppress(TimeoutError):
                    data, (asker, port) = liar.recvfrom(2_000)
                    packet = unpack(data, asking.key, (asker, port, address, asking.port))
                    if packet is None or packet.kind not in (Kind.PROBE, Kind.ASK) or packet.seq % 2:
                        continue
                    packet.kind = ANSWERS[packet.kind]
                    packet.count, packet.delay_ns, packet.before_ns = 2**32 - 1, 2**64 - 1, 2**64 - 1
                    packet.before_seq = packet.seq - 2 if packet.seq else 0
                    packet.target_epoch = 2**64 - 1
                    liar.sendto(pack(packet, asking.key, (address, asking.port, asker, port)), (asker, port))
        rows = near.windows(1)[:6]

        assert all(0 < row["lost"] < row["sent"] for row in rows)
        assert {None} == {row["forward_lost"] for row in rows}
        assert all(row["invalid_rtt"] == row["sent"] - row["lost"] for row in rows)
        assert {None} == {row["target_max_ns"] for row in rows}


def test_another_pinglist_is_followed_without_a_restart(run: Run, asking: Pinglist, answering: Pinglist) -> None:
    """Rows go on with the same epochs: a plan that changes must not look like agents that die."""
    far, near = run(answering), run(asking)
    near.windows(2)
    moved = replace(asking, flows=tuple(replace(flow, source_port=flow.source_port + 10) for flow in asking.flows))
    before = len(near.probes)
    assert near.change(moved)
    until = time.monotonic() + 20.0
    while not [row for row in near.probes[before:] if row["source_port"] > 50_109] and time.monotonic() < until:
        time.sleep(0.05)
    later = len(near.probes)
    near.windows(len({row["time"] for row in near.probes}) + 2)

    fresh = [row for row in near.probes[later:] if row["sent"]]
    assert {50_110, 50_111, 50_112} == {row["source_port"] for row in fresh}
    assert {(0, False)} == {(row["lost"], row["epoch_changed"]) for row in fresh}
    assert 1 == len({row["source_epoch"] for row in near.probes})
    assert not {50_100, 50_101, 50_102} & {port for _, port in near.loop._sockets}  # given back
    assert far.loop.stamped


def test_a_pinglist_of_another_key_needs_a_new_loop(run: Run, asking: Pinglist) -> None:
    assert not run(asking).change(replace(asking, key=bytes(range(1, 17))))


def test_a_pinglist_that_cannot_be_followed_leaves_the_last_in_place(
    run: Run, asking: Pinglist, answering: Pinglist
) -> None:
    far, near = run(answering), run(asking)
    strange = replace(asking, flows=(*asking.flows, replace(asking.flows[0], source_address="192.0.2.1")))
    with pytest.raises(ConfigError, match=r"192\.0\.2\.1"):
        near.change(strange)

    assert {0} == {row["lost"] for row in near.windows(2)}
    assert far.probes == []
