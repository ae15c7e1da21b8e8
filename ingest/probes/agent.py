"""The probe agent: one thread that probes, answers and traces, and gives the rows of each closed round away.

Everything happens in one loop over the sockets: what comes is read, what is due is sent. Another pinglist is followed
from the next round on: the running one ends as it began, and neither prober nor responder is taken for restarted.
"""

import random
import select
import time
from collections.abc import Callable
from datetime import UTC, datetime
from secrets import randbits
from typing import Any, Final

from ingest.errors import ConfigError
from ingest.probes.limits import PER_S, Policer
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
        per_s: packets of its own accord, at most, whatever the pinglist says.

    Raises:
        ConfigError: an address is not of this host, or a port is taken.
    """

    def __init__(self, todo: Pinglist, given: Rows, per_s: float = PER_S) -> None:
        self._todo, self._given = todo, given
        self.epoch = randbits(63)
        policer = Policer(per_s)
        self._poll = select.epoll()
        self._sockets: dict[tuple[str, int], StampSocket] = {}
        self._by_fd: dict[int, StampSocket] = {}
        self._responders: dict[int, Responder] = {}
        self._paths: list[dict[str, Any]] = []
        self._retiring: dict[tuple[str, int], float] = {}
        try:
            self._open(todo)
        except ConfigError:
            self.close()
            raise
        self._prober = Prober(todo, self.epoch, self._sockets, policer, self._closed)
        self._tracer = Tracer(self.epoch, todo.key, todo.trace_per_s, policer, self._traced)
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

    def change(self, todo: Pinglist) -> bool:
        """Follow another pinglist from the next round on; False where only a new loop can: of key, port or window.

        Raises:
            ConfigError: an address is not of this host, or a port is taken; the old one is followed still.
        """
        if any(getattr(todo, name) != getattr(self._todo, name) for name in ("key", "port", "window_s")):
            return False
        self._open(todo)
        self._todo = todo
        self._prober.change(todo)
        self._tracer.per_s = todo.trace_per_s
        for responder in self._responders.values():
            responder.per_s = todo.answer_per_s
        self._turn = self._ways()
        over = time.time() + 2.0 * todo.window_s
        self._retiring |= dict.fromkeys(self._sockets.keys() - set(_needed(todo)), over)
        return True

    def step(self) -> None:
        """Wait for what comes or is due, and do it."""
        now = time.time()
        if now >= self._round * self._todo.window_s:
            self._trace_some(int(now // self._todo.window_s))
            self._retire(now)
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

    def _open(self, todo: Pinglist) -> None:
        """Bind what a pinglist needs and is not bound yet, or nothing of it."""
        opened: list[tuple[str, int]] = []
        for where in _needed(todo):
            if where in self._sockets:
                continue
            try:
                self._sockets[where] = StampSocket.bind(*where)
            except OSError as error:
                for each in opened:
                    self._shut(each)
                msg = f"cannot probe from {where[0]} port {where[1]}: {error.strerror}"
                raise ConfigError(msg) from None
            opened.append(where)
            self._take(self._sockets[where], todo)

    def _take(self, socket: StampSocket, todo: Pinglist) -> None:
        number = socket.socket.fileno()
        self._by_fd[number] = socket
        self._poll.register(number, select.EPOLLIN | select.EPOLLERR)
        if socket.port == todo.port:
            self._responders[number] = Responder(socket, randbits(63), todo.key, todo.answer_per_s)

    def _retire(self, now: float) -> None:
        """Close what no pinglist has needed since the last round of it was closed."""
        for where in [where for where, over in self._retiring.items() if over <= now]:
            del self._retiring[where]
            if where not in _needed(self._todo):
                self._tracer.forget(self._sockets[where])
                self._shut(where)

    def _shut(self, where: tuple[str, int]) -> None:
        socket = self._sockets.pop(where)
        number = socket.socket.fileno()
        self._poll.unregister(number)
        self._responders.pop(number, None)
        self._by_fd.pop(number).close()

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


def _needed(todo: Pinglist) -> list[tuple[str, int]]:
    """Addresses and ports that a pinglist binds: where this host answers, then where its probes leave from."""
    own = {flow.source_address for flow in todo.flows} | {each.target_address for each in todo.answered}
    return [*((address, todo.port) for address in sorted(own)), *flows_of(todo)]
