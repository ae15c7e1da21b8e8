"""What came of one 5-tuple's probes in one round: counts, delays, and from them a row of ``probes``."""

from dataclasses import dataclass, field
from typing import Any, Final

from ingest.probes.pinglist import Flow
from ingest.probes.stamps import Times, between
from ingest.probes.wire import Flag, Packet

__all__ = ["Tally", "quantiles"]

_ORDER: Final = ("user", "kernel", "hardware")


@dataclass(slots=True)
class _Probe:
    """A probe on its way: when it was made, when it left."""

    posted_ns: int
    left: Times | None = None


@dataclass(slots=True)
class _Reply:
    """A reply whose round trip waits for the responder's better word on its own delay; `whole_ns` is its most."""

    trip_ns: int
    delay_ns: int
    whole_ns: int


@dataclass(slots=True)
class Tally:
    """Counts of one flow and round.

    Attributes:
        count: probes that the responder has, as it told last; None while it has not.
        target_epoch: of the responder as it told last; None while it has not.
        reset: it changed, within the round or since the one before, or is heard for the first time.
        settled: the responder was asked after the last probe, and has told.
    """

    flow: Flow
    round: int
    before_epoch: int | None = None
    sent: int = 0
    unsent: int = 0
    answered: int = 0
    refused: int = 0
    late: int = 0
    count: int | None = None
    target_epoch: int | None = None
    reset: bool = False
    limited: bool = False
    kernel_answers: bool | None = None
    invalid: int = 0
    stamps: str | None = None
    settled: bool = False
    _way: dict[int, _Probe] = field(default_factory=dict)
    _open: dict[int, _Reply] = field(default_factory=dict)
    _rtt: list[int] = field(default_factory=list)
    _target: list[int] = field(default_factory=list)
    _source: list[int] = field(default_factory=list)

    def send(self, posted_ns: int) -> None:
        """The next probe is on its way."""
        self._way[self.sent] = _Probe(posted_ns)
        self.sent += 1

    def left(self, seq: int, times: Times) -> None:
        """The kernel, or the NIC, sent it then."""
        if (probe := self._way.get(seq)) is not None:
            probe.left = times

    def reply(self, packet: Packet, came: Times, done_ns: int, timeout_ns: int) -> None:
        """It came, and was looked at then."""
        probe = self._way.pop(packet.seq, None)
        self.told(packet)
        if probe is None:  # twice, or of another round
            return
        self.answered += 1
        whole_ns = done_ns - probe.posted_ns
        self.late += whole_ns > timeout_ns
        span = between(probe.left, came) if probe.left is not None else None
        trip_ns, clock = span or (whole_ns, "user")
        self.stamps = clock if self.stamps is None else min(clock, self.stamps, key=_ORDER.index)
        self._source.append(max(whole_ns - trip_ns, 0))
        if packet.delay_ns > whole_ns:  # it lies, or its clock was set: nobody has a probe for longer than it is away
            self.invalid += 1
        else:
            self._open[packet.seq] = _Reply(trip_ns, packet.delay_ns, whole_ns)
        if packet.before_ns and (before := self._open.pop(packet.before_seq, None)) is not None:
            believed = packet.before_ns <= before.whole_ns
            self._close(before.trip_ns, packet.before_ns if believed else before.delay_ns)

    def told(self, packet: Packet, *, final: bool = False) -> None:
        """The responder's count, and who it is; final in answer to a question after the last probe."""
        known = self.target_epoch if self.target_epoch is not None else self.before_epoch
        if packet.flags & Flag.UNKNOWN and known is None:
            return
        self.reset |= known != packet.target_epoch
        self.target_epoch = packet.target_epoch
        self.limited |= bool(packet.flags & Flag.LIMITED)
        self.count = max(self.count or 0, packet.count)
        self.settled |= final

    @property
    def lost(self) -> int:
        """Sent and not answered so far."""
        return self.sent - self.answered

    @property
    def forward_lost(self) -> int | None:
        """Of the lost, those that did not come to the target; None where it has not told, or tells what cannot be."""
        if not self.lost:
            return 0
        if self.reset or self.count is None or not self.settled or not self.answered <= self.count <= self.sent:
            return None
        return self.sent - self.count

    def row(self) -> dict[str, Any]:
        """As ``probes`` has it, but for what is the same in all rows of the agent."""
        for reply in self._open.values():
            self._close(reply.trip_ns, reply.delay_ns)
        self._open.clear()
        flow, lost, forward = self.flow, self.lost, self.forward_lost
        return {
            "source_interface": flow.source_interface,
            "source_address": flow.source_address,
            "target_device": flow.target_device,
            "target_interface": flow.target_interface,
            "target_address": flow.target_address,
            "source_port": flow.source_port,
            "kind": flow.kind,
            "sent": self.sent,
            "unsent": self.unsent,
            "lost": lost,
            "forward_lost": forward,
            "reverse_lost": None if forward is None else lost - forward,
            "refused": min(self.refused, lost),
            "late": self.late,
            "kernel_answers": self.kernel_answers,
            "target_epoch": _signed(self.target_epoch),
            "epoch_changed": self.reset,
            "limited": self.limited,
            "invalid_rtt": self.invalid,
            "stamps": self.stamps,
            **quantiles("rtt", self._rtt, least=True),
            **quantiles("target", self._target),
            **quantiles("source", self._source),
        }

    def _close(self, trip_ns: int, delay_ns: int) -> None:
        """The round trip is what is left of the whole without the responder's part."""
        self._target.append(delay_ns)
        if trip_ns < delay_ns:
            self.invalid += 1
        else:
            self._rtt.append(trip_ns - delay_ns)


def quantiles(name: str, values: list[int], *, least: bool = False) -> dict[str, int | None]:
    """Median, 99th percentile and largest (by nearest rank), and the smallest where wanted.

    >>> quantiles("rtt", [5, 1, 3], least=True)
    {'rtt_min_ns': 1, 'rtt_p50_ns': 3, 'rtt_p99_ns': 5, 'rtt_max_ns': 5}
    """
    ordered = sorted(values)
    places = [(f"{name}_min_ns", 0.0)] if least else []
    places += [(f"{name}_p50_ns", 0.5), (f"{name}_p99_ns", 0.99), (f"{name}_max_ns", 1.0)]
    last = len(ordered) - 1
    return {place: ordered[min(int(share * len(ordered)), last)] if ordered else None for place, share in places}


def _signed(epoch: int | None) -> int | None:
    """Of 64 bits without a sign into the table's."""
    return None if epoch is None else epoch - (1 << 64) if epoch >> 63 else epoch
