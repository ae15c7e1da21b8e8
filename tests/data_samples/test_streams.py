"""Simulated switches that stream: what a collector hears of them is what the fleet last said, over and over."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from data_samples.streams import SimulatedStreams, StreamedSwitch, streamed_switches
from data_samples.switches import SimulatorError
from ingest.collect.poller import Poller
from ingest.config import Collect, Config, GnmiOptions, Target
from ingest.schema import Table

SAMPLE = Path(__file__).parents[2] / "data_samples" / "sample"


class Sink:
    """Keeps rows in memory."""

    def __init__(self) -> None:
        self.rows: dict[str, list[pa.Table]] = {}

    def append(self, table: Table, rows: pa.Table) -> None:
        self.rows.setdefault(table.name, []).append(rows)

    def frame(self, name: str) -> pl.DataFrame:
        found = pl.from_arrow(pa.concat_tables(self.rows[name]))
        assert isinstance(found, pl.DataFrame)
        return found


@pytest.fixture(name="switch")
def _switch() -> Iterator[StreamedSwitch]:
    (switch,) = streamed_switches(SAMPLE)
    with SimulatedStreams([switch]):
        yield switch


def _poller(switch: StreamedSwitch, sink: Sink) -> Poller:
    options = GnmiOptions(insecure=True, sample_s=0.2)
    target = Target(device=switch.device, address="127.0.0.1", port=switch.port, protocol="gnmi", gnmi=options)
    return Poller(Config(collect=Collect(interval_s=30), target=(target,)), sink)


def test_asked_once_it_tells_the_last_of_the_history(switch: StreamedSwitch) -> None:
    sink = Sink()
    poller = _poller(switch, sink)

    (poll,) = asyncio.run(poller.sweep()).polls

    assert (None, "sonic") == (poll.error, poll.profile)
    told = {(row["interface"], row["lane"]): row["rx_power_dbm"] for row in sink.frame("lane_samples").to_dicts()}
    wanted = {
        (port.interface, lane.lane): lane.rx_power_dbm
        for port in switch.ports
        for lane in port.lanes
        if lane.rx_power_dbm is not None and port.oper_up
    }
    assert wanted
    assert wanted == pytest.approx({place: told[place] for place in wanted}, abs=0.011)
    serials = {row["interface"]: row["serial"] for row in sink.frame("modules").to_dicts()}
    assert {port.interface: port.serial for port in switch.ports} == serials


def test_a_stream_goes_on(switch: StreamedSwitch) -> None:
    sink = Sink()
    poller, stop = _poller(switch, sink), asyncio.Event()

    async def listen() -> None:
        collecting = asyncio.create_task(poller.run(stop, lambda _: None))
        await asyncio.sleep(2.0)
        stop.set()
        await collecting
        poller.close()

    asyncio.run(listen())

    lit = sink.frame("lane_samples").filter(pl.col("rx_power_dbm") > -40)
    samples = lit.group_by("interface", "lane").agg(pl.col("time").n_unique(), pl.col("rx_power_dbm").std())
    assert samples["time"].min() > 2  # type: ignore[operator]
    assert samples["rx_power_dbm"].max() < 0.02  # type: ignore[operator]


def test_a_switch_that_does_not_stream_is_refused() -> None:
    with pytest.raises(SimulatorError, match="leaf000: not a switch that streams"):
        streamed_switches(SAMPLE, ["leaf000"])
