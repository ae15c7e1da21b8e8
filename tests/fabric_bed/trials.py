"""Trials on a fabric: a fault that is really made, windows judged as the service judges them, and what was named."""

import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import polars as pl
from fabric_bed.hosts import Agents

from diagnosis.fabric import Fabric as Graph
from diagnosis.localizers.glrt import Glrt
from diagnosis.observations import Evidence
from diagnosis.probes import Cause, Known, Limits, ProbeFinding
from diagnosis.ways import Span, Ways
from diagnosis.windows import Judged, judge, located
from ingest.schema import PROBE_PATHS, PROBES, Table

__all__ = ["SCENARIOS", "Bench", "Outcome"]

LIMITS: Final = Limits(starved_ns=900_000_000)
"""A processor that is shared with whatever else runs here answers late now and then."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A trial.

    Attributes:
        named: whether the right cause, and place, was named.
        direction: whether all directed links were the right ones; None where none is at fault.
        blamed: links that were blamed and are sound.
    """

    scenario: str
    named: bool
    direction: bool | None
    blamed: int
    said: str


@dataclass
class Bench:
    """Judges windows of a fabric whose agents run."""

    agents: Agents
    rng: random.Random
    graph: Graph = field(init=False)
    known: Known = field(init=False)
    ways: Ways = field(init=False)

    def __post_init__(self) -> None:
        fabric = self.agents.fabric
        cables = tuple((("default", *cable.a), ("default", *cable.b)) for cable in fabric.cables)
        hosts = frozenset(("default", host) for host in fabric.host_names())
        self.graph = Graph(cables, hosts)
        ports = {address: ("default", *port) for port, address in fabric.addresses.items()}
        self.known = Known(self.graph, ports, hosts)
        self.ways = Ways(self.known)

    def judged(self, start: float) -> Judged:
        """Wait until a window is closed, and judge it."""
        self.agents.wait(start)
        self.ways.add(_frame(PROBE_PATHS, self.agents.new_paths()))
        begin = datetime.fromtimestamp(start, UTC)
        span = Span(begin, begin + timedelta(seconds=self.agents.rates.window_s))
        return judge(_frame(PROBES, self.agents.rows(start)), self.ways, span, LIMITS)

    def windows(self, count: int, start: float | None = None) -> list[Judged]:
        """Some windows in a row, from the next one or a given one."""
        first = start or self.agents.window()
        return [self.judged(first + number * self.agents.rates.window_s) for number in range(count)]

    def links(self, judged: list[Judged]) -> list[ProbeFinding]:
        """What the localiser blames, with nothing but the probes."""
        return located(judged, Glrt(), self.known, Evidence())

    def lossy_links(self, windows: int = 6, *, host_link: bool = False) -> Outcome:
        """One or two directed links lose 1 to 20 %."""
        fabric = self.agents.fabric
        count = self.rng.choice((1, 2))
        inner = range(2 * len(fabric.host_names()), self.graph.links)
        outer = range(2 * len(fabric.host_names()))
        chosen = self.rng.sample(inner, count)
        if host_link:
            chosen[0] = self.rng.choice(outer)
        shares = [self.rng.uniform(0.01, 0.2) for _ in chosen]
        for link, share in zip(chosen, shares, strict=True):
            near, far = self.graph.ends(link)
            fabric.lose((near[1:], far[1:]), share)
        try:
            found = self.links(self.windows(windows))
        finally:
            fabric.heal()
        links = {link for finding in found for link in finding.links}
        right = {link // 2 for link in links} == {link // 2 for link in chosen}
        truth = ", ".join(f"{self.graph.named(link)} {share:.1%}" for link, share in zip(chosen, shares, strict=True))
        said = f"{truth}; found {[(f.subject, f.detail) for f in found]}"
        blamed = len({link // 2 for link in links} - {link // 2 for link in chosen})
        return Outcome("lossy links", right, links == set(chosen), blamed, said)

    def scenario(self, name: str) -> Outcome:
        """One that is no cable's fault."""
        fault, expected, windows = SCENARIOS[name]
        start = self.agents.window(time.time() + 0.2)
        with fault(self, start) as where:
            judged = self.windows(windows, start)
        findings = [finding for each in judged for finding in each.findings]
        named = any(finding.cause in expected and where in finding.subject for finding in findings)
        blamed = self.links(judged)
        said = f"{where}; {[(f.cause.value, f.subject) for f in [*findings, *blamed]]}"
        self.settle(name)
        return Outcome(name, named, None, len(blamed), said)

    def settle(self, name: str) -> None:
        """Windows in which nothing is wrong lie between two trials."""
        if name == "agent restart":
            self.agents.ready()
        else:
            self.judged(self.agents.window())


def _frame(table: Table, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows as the lake would give them."""
    told = [{**row, "site": "default", "time": datetime.fromisoformat(row["time"])} for row in rows]
    return pl.DataFrame(table.of(told))


def _until(at: float) -> None:
    time.sleep(max(at - time.time(), 0.0))


@contextmanager
def _stall(bench: Bench, start: float) -> Iterator[str]:
    host = bench.rng.choice(bench.agents.fabric.host_names())
    _until(start + bench.rng.uniform(-0.1, 0.1))
    bench.agents.signal(host, signal.SIGSTOP)
    try:
        yield host
    finally:
        bench.agents.signal(host, signal.SIGCONT)


@contextmanager
def _down(bench: Bench, start: float) -> Iterator[str]:
    """The agent says nothing and the kernel answers nothing, as if the power were gone."""
    fabric = bench.agents.fabric
    host = bench.rng.choice(fabric.host_names())
    _until(start - 0.15)
    bench.agents.signal(host, signal.SIGSTOP)
    fabric.sh(host, "ip link set eth0 down")
    try:
        yield host
    finally:
        number = host.removeprefix("host")
        fabric.sh(host, f"ip link set eth0 up; ip route add default via 10.1.{number}.1")
        bench.agents.signal(host, signal.SIGCONT)


@contextmanager
def _restart(bench: Bench, start: float) -> Iterator[str]:
    host = bench.rng.choice(bench.agents.fabric.host_names())
    _until(start + bench.rng.uniform(0.0, 1.5))
    bench.agents.end(host)
    bench.agents.start(host)
    yield host


@contextmanager
def _reroute(bench: Bench, start: float) -> Iterator[str]:
    fabric = bench.agents.fabric
    leaf, gone = bench.rng.randrange(fabric.leaves), bench.rng.randrange(fabric.spines)
    _until(start + bench.rng.uniform(0.3, 1.5))
    fabric.sh(f"leaf{leaf}", fabric.ecmp(leaf, [spine for spine in range(fabric.spines) if spine != gone]))
    try:
        yield ""
    finally:
        fabric.sh(f"leaf{leaf}", fabric.ecmp(leaf, range(fabric.spines)))


@contextmanager
def _hole(bench: Bench, start: float) -> Iterator[str]:
    fabric = bench.agents.fabric
    leaf = f"leaf{bench.rng.randrange(fabric.leaves)}"
    _until(start - 0.1)
    fabric.rule(leaf, f"udp sport {49_152 + bench.rng.randrange(bench.agents.rates.ports)}")
    try:
        yield leaf
    finally:
        fabric.heal()


@contextmanager
def _queue(bench: Bench, start: float) -> Iterator[str]:
    """A leaf's uplink, or a spine's downlink, sends so slowly that a queue stands before it."""
    fabric = bench.agents.fabric
    leaf, spine = bench.rng.randrange(fabric.leaves), bench.rng.randrange(fabric.spines)
    node, interface = bench.rng.choice([(f"leaf{leaf}", f"up{spine}"), (f"spine{spine}", f"down{leaf}")])
    _until(start - 0.1)
    fabric.sh(node, f"tc qdisc add dev {interface} root tbf rate 24kbit burst 1600 latency 200ms")
    try:
        yield f"{node}:{interface} →"  # the port that sends, not the one that it sends to
    finally:
        fabric.sh(node, f"tc qdisc del dev {interface} root")


SCENARIOS: Final = {
    "host stall": (_stall, (Cause.HOST_STALLED,), 1),
    "host down": (_down, (Cause.HOST_DOWN,), 1),
    "agent restart": (_restart, (Cause.AGENT_RESTARTED,), 6),
    "reroute": (_reroute, (Cause.PATH_CHANGED,), 2),
    "black hole": (_hole, (Cause.BLACK_HOLE,), 1),
    "congestion": (_queue, (Cause.CONGESTION,), 1),
}
"""What is done, what it must be called, and in how many windows."""
