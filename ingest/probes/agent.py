"""The probe agent: one thread that probes, answers and traces, and gives the rows of each closed round away.

Everything happens in one loop over the sockets: what comes is read, what is due is sent. A pinglist that is replaced
ends the running round of the old one early; its rows are given all the same.
"""

import random
import select
import time
from collections.abc import Callable
from datetime import UTC, datetime
from secrets import randbits
from typing import Any, Final

from ingest.errors import ConfigError
from ingest.probes.pinglist import Pinglist
from ingest.probes.prober import Key, Prober, flows_of
from ingest.probes.responder import Responder
from ingest.probes.stamps import Heard, Sent, StampSocket
from ingest.probes.tracing import Trace, Tracer
from ingest.probes.wire import Kind

__all__ = ["ProbeLoop"]

_LONGEST_S: Final = 0.5
_BURST: Final = 64
Rows = Callable[[list[dict[str, Any]], list[dict[str, Any]]], None]


class ProbeLoop:
    """Probes, answers and traces by one pinglist.

    Args:
        todo: the pinglist.
        given: told the rows of each closed round, and the ways found by then.

    Raises:
        ConfigError: an address is not of this host, or a port is taken.
    """

    def __init__(self, todo: Pinglist, given: Rows) -> None:
        self._todo, self._given = todo, given
        self.epoch = randbits(63)
        self._poll = select.epoll()
        self._sockets: dict[tuple[str, int], StampSocket] = {}
        self._by_fd: dict[int, StampSocket] = {}
        self._responders: dict[int, Responder] = {}
        self._paths: list[dict[str, Any]] = []
        try:
            self._open()
        except ConfigError:
            self.close()
            raise
        self._prober = Prober(todo, self.epoch, self._sockets, self._closed)
        self._tracer = Tracer(self.epoch, todo.key, todo.trace_per_s, self._traced)
        self._turn = self._ways()
        self._round = 0

    @property
    def stamped(self) -> bool:
        """Whether the kernel tells times here."""
        return all(socket.stamped for socket in self._by_fd.values())

    @property
    def traced(self) -> bool:
        """Whether no trace is under way."""
        return self._tracer.idle

    def run(self, stopped: Callable[[], bool]) -> None:
        """Until `stopped` says so; looked at twice a second at least."""
        while not stopped():
            self.step()

    def step(self) -> None:
        """Wait for what comes or is due, and do it."""
        now = time.time()
        if now >= self._round * self._todo.window_s:
            self._trace_some(int(now // self._todo.window_s))
        self._prober.step(now)
        self._tracer.step()
        wait_s = min(self._prober.next_due() - time.time(), self._tracer.next_due(), _LONGEST_S)
        for number, events in self._poll.poll(max(wait_s, 0.0)):
            socket = self._by_fd[number]
            if events & select.EPOLLERR:
                self._trouble(socket)
            if events & select.EPOLLIN:
                self._read(socket)

    def close(self) -> None:
        """Give the ports back."""
        for socket in self._by_fd.values():
            socket.close()
        self._poll.close()

    def _open(self) -> None:
        own = {flow.source_address for flow in self._todo.flows}
        own |= {each.target_address for each in self._todo.answered}
        listening = [(address, self._todo.port) for address in sorted(own)]
        for address, port in [*listening, *flows_of(self._todo)]:
            if (address, port) in self._sockets:
                continue
            try:
                socket = StampSocket.bind(address, port)
            except OSError as error:
                msg = f"cannot probe from {address} port {port}: {error.strerror}"
                raise ConfigError(msg) from None
            number = socket.socket.fileno()
            self._sockets[address, port] = self._by_fd[number] = socket
            self._poll.register(number, select.EPOLLIN | select.EPOLLERR)
            if port == self._todo.port:
                self._responders[number] = Responder(socket, randbits(63), self._todo.key, self._todo.answer_per_s)

    def _trouble(self, socket: StampSocket) -> None:
        responder = self._responders.get(socket.socket.fileno())
        while (said := socket.trouble()) is not None:
            if isinstance(said, Sent):
                responder.left(said) if responder else self._prober.left(socket, said)
            elif said.exceeded:
                self._tracer.exceeded(socket, said)
            elif said.refused and responder is None:
                self._prober.refused(socket, said)

    def _read(self, socket: StampSocket) -> None:
        responder = self._responders.get(socket.socket.fileno())
        for _ in range(_BURST):
            heard = socket.receive()
            if heard is None:
                return
            packet = responder.heard(heard) if responder else self._prober.heard(socket, heard)
            if packet is None:
                continue
            if packet.kind is Kind.TRACED and packet.epoch == self.epoch:
                self._tracer.through(socket, heard, packet.port)
            elif packet.kind is Kind.TRACE and responder is None:
                self._came_through(socket, heard)

    def _came_through(self, socket: StampSocket, heard: Heard) -> None:
        """The trace of a reply's way ends at a prober's port: the responder of this host answers for it."""
        responder = Responder(socket, self.epoch, self._todo.key, self._todo.answer_per_s)
        responder.heard(heard)

    def _ways(self) -> list[tuple[Key, Trace]]:
        """All that there is to trace, in an order of this agent's own."""
        found = self._forward() + self._reverse()
        random.shuffle(found)
        return found

    def _forward(self) -> list[tuple[Key, Trace]]:
        found = []
        for flow in self._todo.flows:
            socket = self._sockets[flow.source_address, flow.source_port]
            about = {
                "source_interface": flow.source_interface,
                "source_address": flow.source_address,
                "source_port": flow.source_port,
                "target_device": flow.target_device,
                "target_interface": flow.target_interface,
                "target_address": flow.target_address,
                "direction": "forward",
            }
            key = (flow.source_address, flow.source_port, flow.target_address)
            found.append((key, Trace(socket, flow.target_address, self._todo.port, about)))
        return found

    def _reverse(self) -> list[tuple[Key, Trace]]:
        found = []
        for each in self._todo.answered:
            about = {
                "source_device": each.source_device,
                "source_interface": each.source_interface,
                "source_address": each.source_address,
                "source_port": each.source_port,
                "target_interface": each.target_interface,
                "target_address": each.target_address,
                "direction": "reverse",
            }
            key = (each.source_address, each.source_port, each.target_address)
            socket = self._sockets[each.target_address, self._todo.port]
            found.append((key, Trace(socket, each.source_address, each.source_port, about)))
        return found

    def _trace_some(self, number: int) -> None:
        """The share of this window, in turn, and what lost probes in the last."""
        self._round = number + 1
        count = -(-len(self._turn) * self._todo.trace_share // 1)
        start = int(number * count) % max(len(self._turn), 1)
        chosen = (self._turn + self._turn)[start : start + int(count)]
        chosen += [each for each in self._turn if each[0] in self._prober.lossy]
        for _, trace in chosen:
            self._tracer.add(Trace(trace.socket, trace.address, trace.port, trace.about))

    def _traced(self, trace: Trace) -> None:
        time_ = datetime.now(UTC).isoformat()
        self._paths.append(trace.about | {"time": time_, "hops": trace.hops, "reached": trace.reached})

    def _closed(self, start: float, rows: list[dict[str, Any]]) -> None:
        same = {
            "time": datetime.fromtimestamp(start, UTC).isoformat(),
            "window_s": self._todo.window_s,
            "target_port": self._todo.port,
            "protocol": "udp",
            "source_epoch": self.epoch,
        }
        paths = [{"target_port": self._todo.port, "protocol": "udp"} | path for path in self._paths]
        self._paths = []
        self._given([same | row for row in rows], paths)
