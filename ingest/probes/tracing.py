"""Which way a 5-tuple takes: its packets with ever longer times to live; the router that ends one says so by ICMP.

Needs no privilege: the kernel hands ICMP errors to the socket that sent the packet (IP_RECVERR). One packet of a flow
is on its way at a time, so an answer is known by its flow alone: many routers quote no more than the ports.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ingest.probes.limits import Policer
from ingest.probes.stamps import Heard, Refusal, StampSocket
from ingest.probes.wire import Kind, Packet, pack, traced_ttl

__all__ = ["Trace", "Tracer"]

_MOST_HOPS: Final = 10
_MOST_SILENT: Final = 3
_TRIES: Final = 3
_WAIT_S: Final = 0.25
_AT_ONCE: Final = 64


@dataclass(slots=True)
class Trace:
    """A 5-tuple being traced.

    Attributes:
        about: what its row says besides.
    """

    socket: StampSocket
    address: str
    port: int
    about: dict[str, Any]
    hops: list[str | None] = field(default_factory=list)
    reached: bool = False
    tries: int = 0
    deadline: float = 0.0

    @property
    def key(self) -> tuple[str, int, str, int]:
        """What answers are known by."""
        return self.socket.address, self.socket.port, self.address, self.port

    @property
    def hopeless(self) -> bool:
        """Whether the rest is silence."""
        silent = len(self.hops) >= _MOST_SILENT and not any(self.hops[-_MOST_SILENT:])
        return silent or len(self.hops) >= _MOST_HOPS


class Tracer:
    """Traces flows, some at a time, within a rate.

    Args:
        epoch: of the prober.
        key: of the packets.
        per_s: packets, at most.
        policer: lets packets through; what it stops waits for the next turn.
        found: told each trace that has ended.
    """

    def __init__(self, epoch: int, key: bytes, per_s: float, policer: Policer, found: Callable[[Trace], None]) -> None:
        self._epoch, self._key, self._policer, self._found = epoch, key, policer, found
        self.per_s = per_s
        self._waiting: deque[Trace] = deque()
        self._running: dict[tuple[str, int, str, int], Trace] = {}
        self._tokens, self._since = 1.0, time.monotonic()
        self._ready: deque[Trace] = deque()

    def add(self, trace: Trace) -> None:
        """Trace it when its turn comes."""
        self._waiting.append(trace)

    def forget(self, socket: StampSocket) -> None:
        """Trace nothing more from a socket."""
        self._waiting = deque(trace for trace in self._waiting if trace.socket is not socket)
        self._ready = deque(trace for trace in self._ready if trace.socket is not socket)
        self._running = {key: trace for key, trace in self._running.items() if trace.socket is not socket}

    @property
    def idle(self) -> bool:
        """Whether nothing is to be traced."""
        return not (self._waiting or self._running)

    def next_due(self) -> float:
        """Seconds until there is something to do."""
        if self._ready or (self._waiting and len(self._running) < _AT_ONCE):
            return max((1.0 - self._tokens) / self.per_s, 0.0)
        now = time.monotonic()
        return max(min((trace.deadline for trace in self._running.values()), default=now + 3_600.0) - now, 0.0)

    def step(self) -> None:
        """Send what may be sent, and give up waiting where it is time."""
        now = time.monotonic()
        for trace in [trace for trace in self._running.values() if trace.deadline <= now]:
            trace.deadline = float("inf")
            if trace.tries < _TRIES:
                self._ready.append(trace)
            else:
                self._hop(trace, None)
        while self._waiting and len(self._running) < _AT_ONCE:
            trace = self._waiting.popleft()
            if trace.key not in self._running:
                self._running[trace.key] = trace
                trace.deadline = float("inf")
                self._ready.append(trace)
        self._tokens = min(self._tokens + (now - self._since) * self.per_s, max(self.per_s / 10.0, 1.0))
        self._since = now
        while self._ready and self._tokens >= 1.0:
            self._tokens -= 1.0
            if not self._policer.may():
                return
            self._send(self._ready.popleft())

    def exceeded(self, socket: StampSocket, refusal: Refusal) -> None:
        """A router ended a packet."""
        trace = self._running.get((socket.address, socket.port, refusal.address, refusal.port))
        if trace is not None and trace.tries and traced_ttl(refusal.quoted) in (None, len(trace.hops) + 1):
            self._hop(trace, refusal.by)

    def through(self, socket: StampSocket, heard: Heard, ttl: int) -> None:
        """A packet came to the other end, which answered."""
        trace = self._running.get((socket.address, socket.port, heard.address, heard.port))
        if trace is not None and trace.tries and ttl == len(trace.hops) + 1:
            trace.reached = True
            self._end(trace)

    def _send(self, trace: Trace) -> None:
        trace.tries += 1
        trace.deadline = time.monotonic() + _WAIT_S
        ttl = len(trace.hops) + 1
        packet = Packet(Kind.TRACE, ttl, self._epoch, 0, 0)
        trace.socket.send(pack(packet, self._key, trace.key), trace.address, trace.port, ttl=ttl)

    def _hop(self, trace: Trace, by: str | None) -> None:
        trace.hops.append(by)
        trace.tries = 0
        trace.deadline = float("inf")
        if trace.hopeless:
            self._end(trace)
        else:
            self._ready.append(trace)

    def _end(self, trace: Trace) -> None:
        self._running.pop(trace.key, None)
        if trace in self._ready:
            self._ready.remove(trace)
        while trace.hops and trace.hops[-1] is None and not trace.reached:
            trace.hops.pop()
        self._found(trace)
