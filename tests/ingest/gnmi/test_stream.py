"""Streams: what comes is kept with its own time, what dies is noticed and begun again, and the gap is written down."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import polars as pl

from ingest.collect.poller import Poller, Sweep

MakePoller = Callable[..., Poller]
Kept = Any  # of conftest.py
Run = Callable[[Poller, Callable[[], Awaitable[None]]], list[Sweep]]
Settled = Callable[[Poller], Awaitable[None]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]


def _streams(tree: Any, count: int = 1) -> Callable[[], bool]:
    return lambda: len(tree.streams) >= count


def test_each_sample_is_a_row_with_the_devices_own_time(
    poller: MakePoller, kept: Kept, tree: Any, run: Run, until: Until, settled: Settled
) -> None:
    stamps: list[int] = []

    collector = poller(interval_s=30, sample_s=3600)

    async def play() -> None:
        await settled(collector)
        now = time.time_ns() // 1000 * 1000
        stamps.extend(now + n * 1_000_000 for n in range(20))
        for stamp in stamps:
            tree.sample(stamp)
        await until(lambda: len(tree.sent) >= 20 * 24)
        await settled(collector)

    run(collector, play)

    lane = kept.lanes.filter(interface="Ethernet1/1", lane=1).sort("time")
    assert [stamp // 1000 for stamp in stamps] == lane["time"].cast(pl.Int64)[-20:].to_list()
    assert 1 == lane["serial"].n_unique()
    assert {0} == set(lane["quality"])


def test_a_link_that_flaps_between_two_sweeps_is_told(
    poller: MakePoller, kept: Kept, tree: Any, run: Run, settled: Settled
) -> None:
    collector = poller(interval_s=30)

    async def play() -> None:
        await settled(collector)
        for state in ("DOWN", "UP", "LOWER_LAYER_DOWN", "UP"):
            tree.put("interfaces/interface[name=Ethernet1/1]/state/oper-status", state)
        channel = "components/component[name=Ethernet2 transceiver]/transceiver/physical-channels/channel[index=2]"
        tree.put(f"{channel}/state/rx-los", value=True)
        tree.sample()
        await settled(collector)

    run(collector, play)

    events = kept.rows("port_events").sort("time")
    assert ["down", "up", "down", "up"] == events.filter(interface="Ethernet1/1")["kind"].to_list()
    assert ["los"] == events.filter(interface="Ethernet2/1")["kind"].to_list()
    assert 2 == kept.ports.filter(interface="Ethernet1/1")["link_flaps"].max()


def test_a_module_that_is_swapped_is_removed_and_inserted(
    poller: MakePoller, kept: Kept, tree: Any, run: Run, settled: Settled
) -> None:
    serial = "components/component[name=Ethernet1 transceiver]/transceiver/state/serial-no"

    collector = poller(interval_s=30)

    async def play() -> None:
        await settled(collector)
        tree.drop(serial)
        tree.put(serial, "NEW1")
        tree.sample()
        await settled(collector)

    run(collector, play)

    events = kept.rows("port_events")
    assert [("removed", "serial SN0001 is gone"), ("inserted", "serial NEW1")] == events.select("kind", "cause").rows()
    assert ["SN0001", "NEW1"] == kept.lanes.filter(interface="Ethernet1/1", lane=1).sort("received_at")[
        "serial"
    ].to_list()
    assert {"SN0001", "NEW1"} == set(kept.rows("modules").filter(interface="Ethernet1/1")["serial"])


def test_a_server_that_restarts_is_found_again_and_the_gap_is_noted(
    poller: MakePoller, kept: Kept, tree: Any, run: Run, until: Until, settled: Settled, server: Any
) -> None:
    collector = poller(interval_s=0.5)

    async def play() -> None:
        await settled(collector)
        await asyncio.to_thread(server.stop)
        await asyncio.sleep(0.2)
        server.start()
        await until(_streams(tree))
        await settled(collector)

    sweeps = run(collector, play)

    gaps = [gap for sweep in sweeps for poll in sweep.polls for gap in poll.gaps]
    assert 1 == len(gaps)
    assert 0.1 < (gaps[0].end - gaps[0].start).total_seconds() < 10
    assert [poll.error for sweep in sweeps for poll in sweep.polls][-1] is None
    assert not kept.rows("port_events").height, "nothing has changed"
    assert 2 == kept.rows("modules").height, "nothing was installed anew"


def test_a_stream_that_dies_silently_is_noticed_within_its_deadline(
    poller: MakePoller, tree: Any, run: Run, until: Until, faults: Any
) -> None:
    began = 0.0

    async def play() -> None:
        nonlocal began
        await until(_streams(tree))
        await asyncio.sleep(0.3)
        faults.stalled, before = True, len(tree.asked)
        began = time.monotonic()
        await until(lambda: len(tree.asked) > before)
        began = time.monotonic() - began
        faults.stalled = False
        await asyncio.sleep(1.0)

    sweeps = run(poller(interval_s=0.5, sample_s=0.1, idle_s=1.0), play)

    assert 0.5 < began < 1.0 + 1.0 + 1.5, "the deadline, the wait before the next attempt, and a busy machine"
    gaps = [gap for sweep in sweeps for poll in sweep.polls for gap in poll.gaps]
    assert ["nothing has come for 1 s: the stream is dead"] == [gap.reason for gap in gaps]


def test_one_sample_far_from_both_its_neighbours_is_written_again_as_a_glitch(
    poller: MakePoller, kept: Kept, tree: Any, run: Run, settled: Settled
) -> None:
    collector = poller(interval_s=30, sample_s=3600)
    now = time.time_ns() // 1000 * 1000

    async def play() -> None:
        await settled(collector)
        for n, celsius in enumerate((41.0, 96.0, 41.5, 42.0)):
            tree.put("components/component[name=Ethernet1 transceiver]/state/temperature/instant", celsius)
            tree.sample(now + n * 1_000_000)
        await settled(collector)

    run(collector, play)

    marked = kept.ports.filter(pl.col("quality") == 1)
    assert [("Ethernet1/1", 96.0, (now + 1_000_000) // 1000)] == marked.select(
        "interface", "temperature_c", pl.col("time").cast(pl.Int64)
    ).rows()


def test_a_stream_without_anything_to_sample_is_not_dead(
    poller: MakePoller, tree: Any, run: Run, until: Until, faults: Any
) -> None:
    """A device that has a model and nothing of it, such as coherent optics, says nothing of it: that is no silence."""
    faults.models = (*faults.models, "openconfig-terminal-device")
    at = "terminal-device/logical-channels/channel[index=1]/logical-channel-assignments/assignment[index=1]/state"
    tree.put(f"{at}/logical-channel", 7)

    async def play() -> None:
        await until(_streams(tree, 2))
        await asyncio.sleep(2.5)

    sweeps = run(poller(interval_s=0.5, sample_s=0.1, idle_s=1.0), play)

    assert 2 == len(tree.asked)
    assert not [gap for sweep in sweeps for poll in sweep.polls for gap in poll.gaps]


def test_a_vendors_name_that_is_no_utf_8_ends_no_stream(
    poller: MakePoller, kept: Kept, tree: Any, run: Run, settled: Settled, faults: Any
) -> None:
    """The library refuses the whole message; the stream would end, and end again with each new attempt."""
    faults.letters = b"AC\xff\xfe"
    collector = poller(interval_s=0.5)

    sweeps = run(collector, lambda: settled(collector))

    assert {None} == {poll.error for sweep in sweeps for poll in sweep.polls}
    assert {"AC\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"} == set(kept.rows("modules")["vendor"])
