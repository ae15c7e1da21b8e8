"""The other end of a probe: counts it, answers it with no more bytes than it had, and within a rate."""

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from ingest.probes.stamps import Heard, Sent, StampSocket, Times, between
from ingest.probes.wire import ANSWERS, Ends, Flag, Kind, Packet, pack, unpack

__all__ = ["Responder"]

_MOST_FLOWS: Final = 65_536
_RING: Final = 4_096


@dataclass(slots=True)
class _Round:
    """What came of a flow in a round."""

    number: int
    count: int = 0
    limited: bool = False


@dataclass(slots=True)
class _Flow:
    """Two rounds of a flow, the running one and the one before, and the delay of its last reply."""

    epoch: int
    now: _Round
    before: _Round
    seq: int = 0
    delay_ns: int = 0
    hardware: bool = False

    def round(self, number: int) -> _Round | None:
        """One of the two."""
        return next((each for each in (self.now, self.before) if each.number == number), None)


class Responder:
    """Answers what comes to one socket.

    Args:
        socket: bound to the port where responders listen.
        epoch: drawn at start.
        key: of the packets.
        per_s: answers to one prober; a second's worth may come at once.
    """

    def __init__(self, socket: StampSocket, epoch: int, key: bytes, per_s: float) -> None:
        self.socket = socket
        self._epoch, self._key, self.per_s = epoch, key, per_s
        self._flows: OrderedDict[tuple[str, int], _Flow] = OrderedDict()
        self._tokens: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._left: dict[int, tuple[_Flow, int, Times]] = {}
        self.strange = 0
        """Packets that were none of ours."""

    def heard(self, heard: Heard) -> Packet | None:
        """Answer a question; what is none of a prober's questions is given back."""
        ends = (heard.address, heard.port, self.socket.address, self.socket.port)
        packet = unpack(heard.data, self._key, ends)
        if packet is None:
            self.strange += 1
            return None
        if packet.kind not in ANSWERS:
            return packet
        flow = self._count(packet, heard) if packet.kind is Kind.PROBE else self._asked(packet, heard)
        if not self._may(heard.address):
            if flow is not None and packet.kind is Kind.PROBE:
                flow.now.limited = True
            return None
        self._answer(packet, flow, heard)
        return None

    def left(self, sent: Sent) -> None:
        """The kernel, or the NIC, sent a reply then: its delay is told with the flow's next."""
        flow, seq, came = self._left.pop(sent.number % _RING, (None, 0, Times(0, 0)))
        if flow is not None and (span := between(came, sent.times)) is not None:
            flow.seq, (flow.delay_ns, clock) = seq, span
            flow.hardware = clock == "hardware"

    def _count(self, packet: Packet, heard: Heard) -> _Flow:
        key = (heard.address, heard.port)
        flow = self._flows.get(key)
        if flow is None or flow.epoch != packet.epoch:
            flow = self._flows[key] = _Flow(packet.epoch, _Round(packet.round), _Round(-1))
            if len(self._flows) > _MOST_FLOWS:
                self._flows.popitem(last=False)
        self._flows.move_to_end(key)
        if packet.round > flow.now.number:
            flow.before, flow.now = flow.now, _Round(packet.round)
            flow.delay_ns = 0
        if (of := flow.round(packet.round)) is not None:
            of.count += 1
        return flow

    def _asked(self, packet: Packet, heard: Heard) -> _Flow | None:
        flow = self._flows.get((heard.address, packet.port))
        return flow if flow is not None and flow.epoch == packet.epoch else None

    def _answer(self, packet: Packet, flow: _Flow | None, heard: Heard) -> None:
        of = flow.round(packet.round) if flow is not None else None
        packet.kind, is_probe = ANSWERS[packet.kind], packet.kind is Kind.PROBE
        packet.target_epoch = self._epoch
        packet.flags = 0 if of is not None else Flag.UNKNOWN
        packet.count = of.count if of is not None else 0
        if of is not None and of.limited:
            packet.flags |= Flag.LIMITED
        if flow is not None and is_probe:
            packet.before_seq, packet.before_ns = flow.seq, flow.delay_ns
            packet.flags |= Flag.HARDWARE if flow.hardware else 0
            flow.delay_ns = 0
        packet.delay_ns = max(time.time_ns() - heard.times.kernel, 0) if heard.times.kernel else 0
        ends: Ends = (self.socket.address, self.socket.port, heard.address, heard.port)
        number = self.socket.send(pack(packet, self._key, ends), heard.address, heard.port)
        if number is not None and flow is not None and is_probe:
            self._left[number % _RING] = flow, packet.seq, heard.times

    def _may(self, address: str) -> bool:
        """Take one of the prober's answers, if it has any left."""
        now = time.monotonic()
        tokens, since = self._tokens.get(address, (self.per_s, now))
        tokens = min(tokens + (now - since) * self.per_s, self.per_s)
        self._tokens[address] = (tokens - 1.0 if tokens >= 1.0 else tokens, now)
        self._tokens.move_to_end(address)
        if len(self._tokens) > _MOST_FLOWS:
            self._tokens.popitem(last=False)
        return tokens >= 1.0
