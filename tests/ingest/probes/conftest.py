"""Two loops that probe each other over loopback addresses of this machine."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from ingest.errors import ConfigError
from ingest.probes.agent import ProbeLoop
from ingest.probes.pinglist import Answered, Flow, Pinglist

KEY = bytes(range(16))
PORTS = (50_100, 50_101, 50_102)


@dataclass
class Running:
    """A loop on a thread of its own, and what it gave."""

    todo: Pinglist
    probes: list[dict[str, Any]] = field(default_factory=list)
    paths: list[dict[str, Any]] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.loop = ProbeLoop(self.todo, self._take)
        self._asked: queue.Queue[Pinglist] = queue.Queue()
        self._told: queue.Queue[bool | ConfigError] = queue.Queue()
        self._thread = threading.Thread(target=self.loop.run, args=(self._turn,))
        self._thread.start()

    def change(self, todo: Pinglist) -> bool:
        """Follow another pinglist, in the loop's own thread."""
        self._asked.put(todo)
        told = self._told.get(timeout=10.0)
        if isinstance(told, ConfigError):
            raise told
        return told

    def _turn(self) -> bool:
        with contextlib.suppress(queue.Empty):
            try:
                self._told.put(self.loop.change(self._asked.get_nowait()))
            except ConfigError as error:
                self._told.put(error)
        return self._stop.is_set()

    def end(self) -> None:
        """Stop it."""
        self._stop.set()
        self._thread.join(10.0)
        self.loop.close()

    def windows(self, wanted: int) -> list[dict[str, Any]]:
        """Rows of so many closed windows, the first left out: it may be no whole one."""
        until = time.monotonic() + 30.0
        while len({row["time"] for row in self.probes}) <= wanted and time.monotonic() < until:
            time.sleep(0.05)
        first = min(row["time"] for row in self.probes)
        return [row for row in self.probes if row["time"] > first]

    def _take(self, probes: list[dict[str, Any]], paths: list[dict[str, Any]]) -> None:
        self.probes += probes
        self.paths += paths


@pytest.fixture(name="run")
def _run() -> Iterator[Callable[[Pinglist], Running]]:
    """Starts loops, and ends them."""
    started: list[Running] = []

    def run(todo: Pinglist) -> Running:
        started.append(Running(todo))
        return started[-1]

    yield run
    for each in started:
        each.end()


@pytest.fixture(name="ends")
def _ends(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Two addresses of this machine that no other test has."""
    number = abs(hash(request.node.nodeid)) % 250 + 1
    return f"127.77.{number}.1", f"127.77.{number}.2"


@pytest.fixture(name="asking")
def _asking(ends: tuple[str, str]) -> Pinglist:
    """Probes from the first of them to the second."""
    flows = tuple(Flow("lo", ends[0], port, "far", "lo", ends[1], "tor_mesh", 20.0) for port in PORTS)
    return Pinglist(flows, (), KEY, window_s=1.0, timeout_s=0.2, trace_share=1.0, trace_per_s=1_000.0)


@pytest.fixture(name="answering")
def _answering(ends: tuple[str, str]) -> Pinglist:
    """The other end of `asking`."""
    answered = tuple(Answered("near", "lo", ends[0], port, "lo", ends[1]) for port in PORTS)
    return Pinglist((), answered, KEY, window_s=1.0, timeout_s=0.2, trace_share=1.0, trace_per_s=1_000.0)
