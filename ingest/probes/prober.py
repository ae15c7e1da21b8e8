"""One host's questions: 5-tuples probed evenly over a window, then asked after, then a row each.

A round is a window: numbered from 1970, so that all agents' begin at once. Probes leave in its first nine tenths; when
the last has had its time, the responders of flows that miss replies are asked how many probes came, by the same
5-tuple and, where that is dead, by others. Only then the round is closed: losses at its end have a direction, too.
"""

import heapq
import random
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from ingest.probes.limits import Policer
from ingest.probes.pinglist import Flow, Pinglist
from ingest.probes.stamps import Heard, Refusal, Sent, StampSocket
from ingest.probes.tally import Tally
from ingest.probes.wire import Kind, Packet, pack, unpack

__all__ = ["Prober"]

_PART: Final = 0.9
_ASKS: Final = 9
_ASK_EVERY_S: Final = 0.07
_OWN_ASKS: Final = 5
_LIFE_ASKS: Final = 3
"""So many unanswered questions are no chance loss: is there a kernel?"""
_LIFE_PORT: Final = 33_533
"""Nobody listens there: a kernel that lives says so."""
_RING: Final = 8_192
_SLACK_S: Final = 0.004

Key = tuple[str, int, str]
"""Source address, source port, target address."""
Row = dict[str, Any]


class Prober:
    """Probes what a pinglist says.

    Args:
        todo: the pinglist.
        epoch: drawn at start.
        sockets: by source address and port; those of all flows are there.
        policer: lets packets through; a probe that it stops is not sent.
        closed: told a round's start and its rows.
    """

    def __init__(
        self,
        todo: Pinglist,
        epoch: int,
        sockets: dict[tuple[str, int], StampSocket],
        policer: Policer,
        closed: Callable[[float, list[Row]], None],
    ) -> None:
        self._epoch, self._sockets, self._policer, self._closed = epoch, sockets, policer, closed
        self.change(todo)
        self._epochs: dict[str, int] = {}
        self._rounds: dict[int, dict[Key, Tally]] = {}
        self._left: dict[tuple[int, int], tuple[Tally, int]] = {}
        self._due: list[tuple[float, int, Key]] = []
        self._timers: list[tuple[float, int, int]] = []  # when, round, number of the question
        self._next = int(time.time() // todo.window_s) + 1
        self.lossy: set[Key] = set()
        """Flows that lost probes in the last closed round."""

    def change(self, todo: Pinglist) -> None:
        """Probe by another pinglist from the next round on; window and key are those of the first."""
        self._todo = todo
        self._flows = {(flow.source_address, flow.source_port, flow.target_address): flow for flow in todo.flows}

    def next_due(self) -> float:
        """When there is something to do, by the wall clock."""
        times = [self._next * self._todo.window_s]
        times += [heap[0][0] for heap in (self._due, self._timers) if heap]
        return min(times)

    def step(self, now: float) -> None:
        """Do what is due."""
        if now >= self._next * self._todo.window_s:
            self._begin(int(now // self._todo.window_s), now)
        while self._due and self._due[0][0] <= now + _SLACK_S:
            _, number, key = heapq.heappop(self._due)
            if (tallies := self._rounds.get(number)) is not None:
                self._probe(tallies[key])
        while self._timers and self._timers[0][0] <= now:
            due, number, asked = heapq.heappop(self._timers)
            if asked < _ASKS:  # the next one not before what came meanwhile was read, however late this one is
                self._ask(number, asked)
                heapq.heappush(self._timers, (max(due, now) + _ASK_EVERY_S, number, asked + 1))
            else:
                self._close(number)

    def heard(self, socket: StampSocket, heard: Heard) -> Packet | None:
        """A packet came to one of the prober's sockets; a trace's is given back."""
        ends = (heard.address, heard.port, socket.address, socket.port)
        packet = unpack(heard.data, self._todo.key, ends)
        if packet is None or packet.epoch != self._epoch:
            return packet
        if packet.kind in (Kind.REPLY, Kind.TOLD):
            port = socket.port if packet.kind is Kind.REPLY else packet.port
            tally = self._rounds.get(packet.round, {}).get((socket.address, port, heard.address))
            if tally is not None:
                self._answered(tally, packet, heard)
            return None
        return packet

    def _answered(self, tally: Tally, packet: Packet, heard: Heard) -> None:
        if packet.kind is Kind.REPLY:
            tally.reply(packet, heard.times, time.time_ns(), int(self._todo.timeout_s * 1e9))
        else:
            tally.told(packet, final=True)
        if tally.target_epoch is not None:
            self._epochs[heard.address] = tally.target_epoch

    def left(self, socket: StampSocket, sent: Sent) -> None:
        """The kernel, or the NIC, sent a probe then."""
        tally, seq = self._left.pop((socket.port, sent.number % _RING), (None, 0))
        if tally is not None:
            tally.left(seq, sent.times)

    def refused(self, socket: StampSocket, refusal: Refusal) -> None:
        """A target's kernel says that nobody listens, which tells that it lives."""
        if refusal.port == _LIFE_PORT:
            asked = (tally for tallies in self._rounds.values() for tally in tallies.values())
            for tally in asked:
                if tally.flow.target_address == refusal.address and tally.kernel_answers is not None:
                    tally.kernel_answers = True
            return
        for tallies in self._rounds.values():
            flow = tallies.get((socket.address, socket.port, refusal.address))
            if flow is not None and flow.lost:
                flow.refused += 1
                return

    def _begin(self, number: int, now: float) -> None:
        """A round: each flow's probes evenly, from a moment of its own."""
        todo, start = self._todo, number * self._todo.window_s
        self._next = number + 1
        end = start + _PART * todo.window_s
        self._rounds[number] = {
            key: Tally(flow, number, self._epochs.get(flow.target_address)) for key, flow in self._flows.items()
        }
        for key, flow in self._flows.items():
            step = 1.0 / flow.per_s
            due = start + random.random() * step  # noqa: S311 - no secret
            while due < end:
                if due >= now - _SLACK_S:  # a round that is begun late is not made up for
                    self._due.append((due, number, key))
                due += step
        heapq.heapify(self._due)
        heapq.heappush(self._timers, (end + todo.timeout_s, number, 0))

    def _probe(self, tally: Tally) -> None:
        flow = tally.flow
        posted_ns, seq = time.time_ns(), tally.sent
        number = self._send(Packet(Kind.PROBE, 0, self._epoch, tally.round, seq), flow, flow.source_port)
        if number is None:
            tally.unsent += 1
            return
        tally.send(posted_ns)
        self._left[flow.source_port, number % _RING] = tally, seq

    def _ask(self, number: int, asked: int) -> None:
        """Ask after flows that miss replies; of targets that do not tell, whether their kernel lives."""
        dead: dict[str, list[Tally]] = {}
        for tally in self._rounds.get(number, {}).values():
            if not tally.lost or tally.settled:
                continue
            port = tally.flow.source_port if asked < _OWN_ASKS else self._other(tally.flow)
            self._send(Packet(Kind.ASK, tally.flow.source_port, self._epoch, number, 0), tally.flow, port)
            if asked >= _LIFE_ASKS:
                dead.setdefault(tally.flow.target_address, []).append(tally)
        for tallies in dead.values():
            for tally in tallies:
                tally.kernel_answers = bool(tally.kernel_answers)
            if not any(tally.kernel_answers for tally in tallies) and self._policer.may():
                flow = tallies[asked % len(tallies)].flow
                socket = self._sockets[flow.source_address, flow.source_port]
                socket.send(b"", flow.target_address, _LIFE_PORT)

    def _close(self, number: int) -> None:
        tallies = self._rounds.pop(number, {})
        self.lossy = {key for key, tally in tallies.items() if tally.lost}
        rows = [tally.row() for tally in tallies.values() if tally.sent or tally.unsent]
        self._closed(number * self._todo.window_s, rows)

    def _send(self, packet: Packet, flow: Flow, port: int) -> int | None:
        if not self._policer.may():
            return None
        ends = (flow.source_address, port, flow.target_address, self._todo.port)
        socket = self._sockets[flow.source_address, port]
        return socket.send(pack(packet, self._todo.key, ends), flow.target_address, self._todo.port)

    def _other(self, flow: Flow) -> int:
        """Any source port of the same address: it takes another way."""
        return random.choice(self._ports(flow.source_address))  # noqa: S311 - no secret

    def _ports(self, address: str) -> list[int]:
        return [port for own, port in self._sockets if own == address and port != self._todo.port]


def flows_of(todo: Pinglist) -> Iterable[tuple[str, int]]:
    """Addresses and ports that probes leave from."""
    return dict.fromkeys((flow.source_address, flow.source_port) for flow in todo.flows)
