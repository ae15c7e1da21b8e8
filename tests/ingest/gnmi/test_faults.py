"""Faults that devices over gNMI were reported with (reference: field_faults.md), each kind with what happens here."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import polars as pl
import pytest

from ingest.collect.poller import Poller, Sweep

MakePoller = Callable[..., Poller]
Once = Callable[[Poller], Sweep]
Kept = Any  # of conftest.py
Run = Callable[[Poller, Callable[[], Awaitable[None]]], list[Sweep]]
Settled = Callable[[Poller], Awaitable[None]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]

_PROTO, _JSON, _IETF = 2, 0, 4


@pytest.mark.parametrize(
    ("has", "asked"),
    [((_JSON, _IETF, _PROTO), _PROTO), ((_JSON, _IETF), _IETF), ((_JSON,), _JSON)],
)
def test_the_best_encoding_that_the_device_tells_of_is_asked_for(
    has: tuple[int, ...], asked: int, poller: MakePoller, tree: Any, faults: Any, once: Once
) -> None:
    faults.encodings = has

    once(poller())

    assert {asked} == {each.encoding for each in tree.asked}


def test_without_capabilities_encodings_are_tried_in_turn(
    poller: MakePoller, kept: Kept, tree: Any, faults: Any, once: Once
) -> None:
    faults.no_capabilities, faults.encodings = True, (_JSON,)

    sweep = once(poller())

    assert [_PROTO, _IETF, _JSON] == [each.encoding for each in tree.asked]
    assert (None, 8) == (sweep.polls[0].error, kept.lanes.height)


def test_an_encoding_that_nobody_knows_is_told(poller: MakePoller, faults: Any, once: Once) -> None:
    faults.encodings = (3,)

    assert "offers ASCII alone" in str(once(poller()).polls[0].error)


def test_paths_that_a_device_refuses_are_left_out(poller: MakePoller, kept: Kept, faults: Any, once: Once) -> None:
    faults.refused_paths = ("lldp", "interfaces/interface/ethernet/phy/state")

    sweep = once(poller())

    assert (None, 8) == (sweep.polls[0].error, kept.lanes.height)


def test_a_device_without_on_change_is_sampled(
    poller: MakePoller, kept: Kept, tree: Any, faults: Any, run: Run, until: Until, settled: Settled
) -> None:
    faults.no_on_change = True

    collector = poller(interval_s=30)

    async def play() -> None:
        await until(lambda: bool(tree.streams) and bool(tree.asked[-1].mode == 0))
        await settled(collector)

    run(collector, play)

    assert 8 == kept.lanes.height
    assert {0, 2} == {each.mode for each in tree.asked[-1].subscription} | {0}


def test_readings_without_their_keys_are_refused(poller: MakePoller, kept: Kept, faults: Any, once: Once) -> None:
    """Otherwise the lanes of all modules would overwrite each other (row 41)."""
    faults.drop_keys = True

    sweep = once(poller())

    assert 0 == kept.lanes.height + kept.ports.height
    assert 0 == sweep.polls[0].lane_count
    assert "without their keys" in " ".join(sweep.notes)


def test_nothing_is_installed_before_the_device_has_told_all(
    poller: MakePoller, kept: Kept, tree: Any, faults: Any, run: Run, until: Until, settled: Settled
) -> None:
    """A device that never says so: its readings are kept, and marked."""
    faults.no_sync = True

    collector = poller(interval_s=1, sample_s=3600)

    async def play() -> None:
        await until(lambda: bool(tree.streams))
        await asyncio.sleep(5.3)
        tree.sample()
        await asyncio.sleep(0.2)
        tree.sample()
        await settled(collector)

    sweeps = run(collector, play)

    assert kept.lanes.height
    assert {8} == set(kept.lanes["quality"])
    assert not kept.rows("modules").height
    assert any("sync_response" in str(poll.error) for sweep in sweeps for poll in sweep.polls)


def test_a_late_sync_is_waited_for(
    poller: MakePoller, kept: Kept, tree: Any, faults: Any, run: Run, until: Until
) -> None:
    faults.late_sync_s = 1.5

    async def play() -> None:
        await until(lambda: bool(tree.streams))
        await until(lambda: bool(kept.rows("modules").height))

    run(poller(interval_s=0.5, idle_s=5), play)

    assert 2 == kept.rows("modules").height
    assert {0} == set(kept.lanes["quality"])


def test_a_module_that_the_device_deletes_is_an_event_and_no_installation_ends_at_once(
    poller: MakePoller, kept: Kept, tree: Any, run: Run, until: Until, once: Once
) -> None:
    """A daemon that restarts takes all modules out of its tables for minutes: that is no removal (row 58)."""

    async def play() -> None:
        await until(lambda: bool(tree.streams))
        await until(lambda: bool(kept.rows("modules").height))
        tree.drop("components/component[name=Ethernet1 transceiver]")
        await asyncio.sleep(1.5)

    run(poller(interval_s=0.5, sample_s=0.3), play)

    assert [("Ethernet1/1", "removed")] == kept.rows("port_events").select("interface", "kind").rows()
    assert kept.rows("modules")["removed_at"].null_count() == kept.rows("modules").height
    last = kept.lanes.group_by("interface").agg(pl.col("time").max())
    assert last.sort("interface")["time"][0] < last.sort("interface")["time"][1], "no rows of what is gone"


def test_what_is_not_told_again_after_a_restart_is_gone(
    poller: MakePoller, kept: Kept, tree: Any, server: Any, run: Run, until: Until
) -> None:
    async def play() -> None:
        await until(lambda: bool(kept.rows("modules").height))
        await asyncio.to_thread(server.stop)
        tree.drop("components/component[name=Ethernet2 transceiver]")
        tree.put("interfaces/interface[name=Ethernet1/1]/state/oper-status", "DOWN")
        server.start()
        await until(lambda: bool(tree.streams))
        await asyncio.sleep(0.8)

    run(poller(interval_s=0.4), play)

    events = kept.rows("port_events").sort("interface").select("interface", "kind", "cause").rows()
    assert [
        ("Ethernet1/1", "down", "oper-status DOWN, while not heard"),
        ("Ethernet2/1", "removed", "serial SN0002 is gone, while not heard"),
    ] == events


def test_a_message_of_megabytes_is_taken_and_one_beyond_the_limit_told(
    poller: MakePoller, kept: Kept, faults: Any, once: Once
) -> None:
    faults.padding = 6_000_000

    taken = once(poller())
    refused = once(poller(max_message_mb=1))

    assert (None, 8) == (taken.polls[0].error, kept.lanes.height)
    assert "larger than max" in str(refused.polls[0].error)


@pytest.mark.parametrize("hours", [-5.0, 5.0])
def test_the_clock_of_a_device_that_is_hours_off_is_marked(
    hours: float, poller: MakePoller, kept: Kept, tree: Any, faults: Any, run: Run, settled: Settled
) -> None:
    """Readings have the time of receipt then; what lies ahead is never in the future (rows 44 to 46)."""
    faults.offset_ns = int(hours * 3600e9)

    collector = poller(interval_s=30)

    async def play() -> None:
        await settled(collector)
        for _ in range(3):
            tree.sample()
            await asyncio.sleep(0.1)
        await settled(collector)

    run(collector, play)

    rows = kept.lanes.filter(interface="Ethernet1/1", lane=1).sort("time")
    assert 4 == rows.height
    assert [4, 4, 4] == rows["quality"].to_list()[1:], "of the first stamp alone it cannot be told that it is not old"
    assert (rows["received_at"] - rows["time"]).abs().max().total_seconds() < 5


def test_a_stamp_that_repeats_is_not_when_a_reading_was_taken(
    poller: MakePoller, kept: Kept, tree: Any, run: Run, settled: Settled
) -> None:
    """Some devices stamp with the last change: two samples with one stamp are two rows, at the times of receipt."""
    stamp = time.time_ns() - int(3 * 86_400e9)

    collector = poller(interval_s=30, sample_s=3600)

    async def play() -> None:
        await settled(collector)
        tree.sample(stamp)
        await asyncio.sleep(0.2)
        tree.put("interfaces/interface[name=Ethernet1/1]/state/counters/in-unicast-pkts", 77)
        tree.sample(stamp)
        await settled(collector)

    run(collector, play)

    counters = kept.ports.filter(interface="Ethernet1/1").sort("time")
    assert [1000, 1000, 77] == counters["in_packets"].to_list()
    assert 3 == counters["time"].n_unique()
    assert {0} == set(counters["quality"])


def test_a_copy_of_a_sample_is_no_second_row(
    poller: MakePoller, kept: Kept, tree: Any, run: Run, settled: Settled
) -> None:
    collector = poller(interval_s=30, sample_s=3600)

    async def play() -> None:
        await settled(collector)
        stamp = time.time_ns()
        tree.sample(stamp)
        tree.sample(stamp)
        await settled(collector)

    run(collector, play)

    assert 2 == kept.lanes.filter(interface="Ethernet1/1", lane=1).height


def test_a_temperature_of_what_is_no_transceiver_is_nobodys(
    poller: MakePoller, kept: Kept, tree: Any, once: Once
) -> None:
    tree.put("components/component[name=Ethernet1]/state/temperature/instant", 88.0)
    tree.put("components/component[name=CPU0]/state/temperature/instant", 99.0)

    once(poller())

    assert {41.5} == set(kept.ports["temperature_c"])


def test_breakout_ports_of_one_module_are_one_cage(poller: MakePoller, kept: Kept, tree: Any, once: Once) -> None:
    """The port with the first channels stands for the module (rows 18 to 20)."""
    for n in (1, 2, 3, 4):
        interface = f"interfaces/interface[name=Ethernet9/{n}]/state"
        tree.put(f"{interface}/oper-status", "UP" if n == 1 else "DOWN")
        tree.put(f"{interface}/transceiver", "Ethernet9 transceiver")
        tree.put(f"{interface}/physical-channel", [n - 1])
        tree.put(f"{interface}/counters/in-unicast-pkts", n)
        at = f"components/component[name=Ethernet9 transceiver]/transceiver/physical-channels/channel[index={n - 1}]"
        tree.put(f"{at}/state/input-power/instant", -1.0 * n)
    tree.put("components/component[name=Ethernet9 transceiver]/transceiver/state/serial-no", "B9")

    once(poller())

    lanes = kept.lanes.filter(pl.col("interface").str.starts_with("Ethernet9"))
    assert [("Ethernet9/1", lane, -1.0 * lane) for lane in (1, 2, 3, 4)] == lanes.sort("lane").select(
        "interface", "lane", "rx_power_dbm"
    ).rows()
    ports = kept.ports.filter(pl.col("interface").str.starts_with("Ethernet9"))
    assert [("Ethernet9/1", 1, True, "B9"), *((f"Ethernet9/{n}", n, False, None) for n in (2, 3, 4))] == ports.sort(
        "interface"
    ).select("interface", "in_packets", "oper_up", "serial").rows()
    assert ["Ethernet9/1"] == kept.rows("modules").filter(serial="B9")["interface"].to_list()


def test_neighbours_over_lldp_become_links(poller: MakePoller, server: Any, kept: Kept, tree: Any, once: Once) -> None:
    from ingest.collect.links import Links

    at = "lldp/interfaces/interface[name=Ethernet1/1]/neighbors/neighbor[id=1]/state"
    tree.put(f"{at}/system-name", "spine1")
    tree.put(f"{at}/port-id", "Ethernet7/1")
    tree.put(f"{at}/chassis-id", "00:11:22:33:44:55")
    collector = poller()
    collector._links = Links()

    once(collector)

    link = kept.rows("links").row(0, named=True)
    assert ("leaf1", "Ethernet1/1", "spine1", "Ethernet7/1", "lldp") == tuple(
        link[name] for name in ("a_device", "a_interface", "z_device", "z_interface", "source")
    )


def test_a_stall_holds_up_memory_not_the_device(
    poller: MakePoller, kept: Kept, tree: Any, run: Run, until: Until, settled: Settled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody takes the rows, the stream waits: nothing is lost, and memory does not grow."""
    monkeypatch.setattr("ingest.gnmi.target._ROOM", 200)
    collector = poller(interval_s=1.0, sample_s=3600)

    async def play() -> None:
        await settled(collector)
        for n in range(100):
            tree.sample(time.time_ns() // 1000 * 1000 + n * 1000)
        await until(lambda: kept.lanes.height >= 101 * 8)

    run(collector, play)

    assert 101 == kept.lanes.filter(interface="Ethernet1/1", lane=1)["time"].n_unique()
