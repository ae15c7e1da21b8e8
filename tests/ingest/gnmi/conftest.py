"""A gNMI server of a made switch, and a collector that asks it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from gnmi_server.server import Faults, Server, Tree
from gnmi_server.switch import optics

from ingest.collect.poller import Poller, Sweep
from ingest.config import Collect, Config, GnmiOptions, Target
from ingest.errors import IngestError
from ingest.schema import LANE_SAMPLES, PORT_SAMPLES, Table

SAMPLES = Path(__file__).parents[4] / "shared" / "recordings" / "gnmi"


@pytest.fixture(name="samples", scope="session")
def _samples() -> Path:
    if not SAMPLES.is_dir():
        pytest.skip("the samples of real devices are not beside the project (../shared/recordings/gnmi)")
    return SAMPLES


@pytest.fixture(name="tree")
def _tree() -> Any:
    tree = Tree()
    optics(tree)
    return tree


@pytest.fixture(name="faults")
def _faults() -> Any:
    return Faults()


@pytest.fixture(name="server")
def _server(tree: Any, faults: Any) -> Iterator[Any]:
    """A server without TLS."""
    server = Server(tree, faults)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@dataclass
class Kept:
    """A sink in memory."""

    tables: dict[str, list[pa.Table]] = field(default_factory=dict)
    commits: int = 0

    def append(self, table: Table, rows: pa.Table) -> None:
        assert rows.schema.equals(table.schema), rows.schema
        self.commits += 1
        self.tables.setdefault(table.name, []).append(rows)

    def rows(self, name: str) -> pl.DataFrame:
        """All rows of a table."""
        tables = self.tables.get(name, [])
        found = pl.from_arrow(pa.concat_tables(tables)) if tables else pl.DataFrame()
        assert isinstance(found, pl.DataFrame)
        return found

    @property
    def lanes(self) -> pl.DataFrame:
        return self.rows(LANE_SAMPLES.name)

    @property
    def ports(self) -> pl.DataFrame:
        return self.rows(PORT_SAMPLES.name)


@pytest.fixture(name="kept")
def _kept() -> Kept:
    return Kept()


MakePoller = Callable[..., Poller]


@pytest.fixture(name="once", scope="session")
def _once() -> Callable[[Poller], Sweep]:
    """One sweep of a collector that is done then."""

    def once(poller: Poller) -> Sweep:
        async def sweep() -> Sweep:
            try:
                return await poller.sweep()
            finally:
                poller.close()

        return asyncio.run(sweep())

    return once


@pytest.fixture(name="poller")
def _poller(server: Any, kept: Kept) -> MakePoller:
    """A collector of the one server; options of `[target.gnmi]` and `interval_s`."""

    def make(*, interval_s: float = 60.0, **options: Any) -> Poller:
        gnmi = GnmiOptions(**{"insecure": True, **options})
        target = Target(device="leaf1", address="localhost", port=server.port, protocol="gnmi", gnmi=gnmi)
        return Poller(Config(collect=Collect(interval_s=interval_s), target=(target,)), kept)

    return make


Play = Callable[[], Awaitable[None]]
_PATIENCE_S = 20.0


def _collect(poller: Poller, play: Play) -> list[Sweep]:
    """Collect for as long as the play takes."""
    sweeps: list[Sweep] = []

    def report(outcome: Sweep | IngestError) -> None:
        assert isinstance(outcome, Sweep), outcome
        sweeps.append(outcome)

    async def both() -> None:
        stop = asyncio.Event()
        collector = asyncio.create_task(poller.run(stop, report))
        try:
            await play()
        finally:
            stop.set()
            await collector
            poller.close()

    asyncio.run(both())
    return sweeps


async def _wait(true: Callable[[], bool]) -> None:
    give_up = time.monotonic() + _PATIENCE_S
    while not true():
        assert time.monotonic() < give_up, "it has not come to pass"
        await asyncio.sleep(0.02)


@pytest.fixture(name="run")
def _run_fixture() -> Callable[[Poller, Play], list[Sweep]]:
    return _collect


@pytest.fixture(name="until")
def _until_fixture() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    return _wait


@pytest.fixture(name="settled")
def _settled_fixture(until: Callable[[Callable[[], bool]], Awaitable[None]]) -> Callable[[Poller], Awaitable[None]]:
    """Waits until a collector has heard all that its device has sent."""

    async def settled(poller: Poller) -> None:
        (device,) = poller._streams.values()
        await until(lambda: device._mirror is not None and device._mirror.updates > 0)
        before = -1
        while device._mirror is not None and device._mirror.updates != before:
            before = device._mirror.updates
            await asyncio.sleep(0.4)

    return settled
