"""A day with a device that restarts, stalls, changes encodings and forgets keys: nothing told after sync is lost."""

import asyncio
import itertools
import re
from collections.abc import Awaitable, Callable
from typing import Any

import polars as pl
import pytest

from ingest.collect.poller import Poller, Sweep

MakePoller = Callable[..., Poller]
Kept = Any  # of conftest.py
Run = Callable[[Poller, Callable[[], Awaitable[None]]], list[Sweep]]
Settled = Callable[[Poller], Awaitable[None]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]

_MINUTE_NS = 60_000_000_000
_LANE = re.compile(r"component\[name=Ethernet(\d) transceiver\].*channel\[index=(\d)\]/state/input-power/instant")


class Day:
    """A device's day; its clock and ours are the same, and move by the minute."""

    def __init__(self, tree: Any, faults: Any, server: Any) -> None:
        self.tree, self.faults, self.server = tree, faults, server
        self.clock_ns = 1_780_000_000 * 1_000_000_000
        self.samples = 0
        tree.now = self.now

    def now(self) -> int:
        return self.clock_ns

    def minutes(self, count: int) -> None:
        """Samples, each with a power of its own."""
        for _ in range(count):
            self.clock_ns += _MINUTE_NS
            self.samples += 1
            for port, lane in itertools.product((1, 2), range(4)):
                channel = f"components/component[name=Ethernet{port} transceiver]/transceiver/physical-channels"
                power = -1.0 - (self.samples % 50) / 25 - lane / 100
                self.tree.put(f"{channel}/channel[index={lane}]/state/input-power/instant", power)
            self.tree.sample(self.clock_ns)

    async def restart(self, until: Until) -> None:
        before = len(self.tree.asked)
        await asyncio.to_thread(self.server.stop)
        self.clock_ns += _MINUTE_NS
        self.server.start()
        await until(lambda: len(self.tree.asked) > before)

    async def stall(self, until: Until) -> None:
        """Say nothing until somebody asks anew."""
        before = len(self.tree.asked)
        self.faults.stalled = True
        await until(lambda: len(self.tree.asked) > before)
        self.faults.stalled = False

    def sent(self) -> set[tuple[str, int, int, float]]:
        """Powers that went out after sync: port, lane, microseconds, dBm."""
        return {
            (f"Ethernet{found[1]}/1", int(found[2]) + 1, stamp // 1000, round(value, 3))
            for text, value, stamp in self.tree.sent
            if (found := _LANE.search(text))
        }


@pytest.fixture(name="day")
def _day(tree: Any, faults: Any, server: Any) -> Day:
    return Day(tree, faults, server)


@pytest.mark.slow
def test_a_day_of_faults_loses_nothing_that_was_told_after_sync(
    poller: MakePoller, kept: Kept, day: Day, faults: Any, run: Run, settled: Settled, until: Until
) -> None:
    collector = poller(interval_s=0.5, sample_s=3600, idle_s=1.5)
    (device,) = collector._streams.values()
    device.now = day.now
    encodings = itertools.cycle([(0, 4), (0,), (2, 4), (4,)])
    forms = itertools.cycle(["decimal", "bytes", "string", "double", "leaflist"])

    async def play() -> None:
        await settled(collector)
        for hour in range(24):
            faults.form, faults.as_tree = next(forms), hour % 4 == 1
            faults.drop_keys = hour % 6 == 5
            day.minutes(10)
            await settled(collector)
            faults.drop_keys = False
            day.minutes(50)
            await settled(collector)
            if hour % 3 == 0:
                await day.restart(until)
            elif hour % 3 == 1:
                await day.stall(until)
            else:
                faults.encodings = next(encodings)
                await day.restart(until)
            faults.as_tree = False
            await until(lambda: bool(device._mirror and device._mirror.synced and device._error is None))
            await settled(collector)

    sweeps = run(collector, play)

    told = {
        (row["interface"], row["lane"], row["us"], round(row["rx_power_dbm"], 3))
        for row in kept.lanes.filter(pl.col("rx_power_dbm").is_not_null())
        .with_columns(us=pl.col("time").cast(pl.Int64))
        .iter_rows(named=True)
    }
    assert len(day.sent()) > 24 * 50 * 8
    assert set() == day.sent() - told
    gaps = [gap for sweep in sweeps for poll in sweep.polls for gap in poll.gaps]
    assert 24 == len(gaps)
    assert 2 == kept.rows("modules")["serial"].n_unique() == kept.rows("modules").height
    assert not kept.rows("port_events").height, "faults of the stream are none of its links"
