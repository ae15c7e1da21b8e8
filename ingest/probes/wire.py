"""The probe's packet: 72 bytes, of which a reply has as many; `docs/probes.md` draws it.

All numbers are big-endian. The last sixteen bytes are HMAC-SHA256, cut, over the packet before them and both ends'
addresses and ports, by the key of the pinglist: a packet that was made elsewhere, or that comes from
another address than it was made for, is not answered.
"""

import hmac
import socket
import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from functools import lru_cache
from typing import Final

__all__ = ["ANSWERS", "SIZE", "Ends", "Flag", "Kind", "Packet", "pack", "traced_ttl", "unpack"]

_HEAD: Final = struct.Struct("!3sBBBHQIIQIQIQ")
_MAGIC: Final = b"FLP"
_VERSION: Final = 1
_MAC_BYTES: Final = 16
_QUOTED_BYTES: Final = 8
SIZE: Final = _HEAD.size + _MAC_BYTES
"""Bytes of each packet."""

Ends = tuple[str, int, str, int]
"""Sender's address and port, receiver's address and port."""


class Kind(IntEnum):
    """What a packet is for."""

    PROBE = 1
    REPLY = 2
    ASK = 3  # how many probes of a flow came?
    TOLD = 4
    TRACE = 5  # a probe whose time to live is cut
    TRACED = 6  # it came through


_KINDS: Final = frozenset(Kind)
ANSWERS: Final = {Kind.PROBE: Kind.REPLY, Kind.ASK: Kind.TOLD, Kind.TRACE: Kind.TRACED}


class Flag(IntFlag):
    """What a responder says of itself."""

    LIMITED = 1  # it has left probes of this flow and round unanswered: too many came
    UNKNOWN = 2  # it knows nothing of the flow that is asked for
    HARDWARE = 4  # the previous delay is by the NIC's clock


@dataclass(slots=True)
class Packet:
    """What stands in a packet; a question leaves what only a responder knows at 0.

    Attributes:
        port: source port of the flow that is asked for; of a trace, its time to live.
        epoch: of the prober: drawn at each start.
        round: number of the window since 1970.
        seq: of the probe within flow and round, from 0.
        target_epoch: of the responder.
        count: probes of this flow and round that came to the responder so far.
        delay_ns: from receipt by its kernel to just before the reply is sent.
        before_seq: the probe before, of which `before_ns` is known by now.
        before_ns: its delay until the kernel, or the NIC, sent its reply; 0 where that is not known.
    """

    kind: Kind
    port: int
    epoch: int
    round: int
    seq: int
    flags: int = 0
    target_epoch: int = 0
    count: int = 0
    delay_ns: int = 0
    before_seq: int = 0
    before_ns: int = 0


def pack(packet: Packet, key: bytes, ends: Ends) -> bytes:
    """The bytes to send from the first of `ends` to the second."""
    head = _HEAD.pack(
        *(_MAGIC, _VERSION, packet.kind, packet.flags, packet.port, packet.epoch, packet.round, packet.seq),
        *(packet.target_epoch, packet.count, packet.delay_ns, packet.before_seq, packet.before_ns),
    )
    return head + _mac(head, key, ends)


def unpack(data: bytes, key: bytes, ends: Ends) -> Packet | None:
    """What came from the first of `ends` to the second; None where it is no packet of ours."""
    if len(data) != SIZE or data[:4] != b"FLP\x01":
        return None
    head = data[: _HEAD.size]
    if not hmac.compare_digest(_mac(head, key, ends), data[_HEAD.size :]):
        return None
    _, _, kind, flags, port, epoch, number, seq, *told = _HEAD.unpack(head)
    if kind not in _KINDS:
        return None
    return Packet(Kind(kind), port, epoch, number, seq, flags, *told)


def traced_ttl(quoted: bytes) -> int | None:
    """Time to live that a trace began with, from what ICMP quotes of it; None where it quotes too little.

    >>> traced_ttl(b"FLP" + bytes([1, 5, 0, 0, 3])), traced_ttl(b"FLP" + bytes([1, 1, 0, 0, 3])), traced_ttl(b"")
    (3, 0, None)
    """
    if len(quoted) < _QUOTED_BYTES:
        return None
    return int.from_bytes(quoted[6:8], "big") if quoted[:5] == b"FLP\x01\x05" else 0


def _mac(head: bytes, key: bytes, ends: Ends) -> bytes:
    bound = _address(ends[0]) + _address(ends[2]) + struct.pack("!HH", ends[1], ends[3])
    return hmac.digest(key, bound + head, "sha256")[:_MAC_BYTES]


@lru_cache(maxsize=65_536)
def _address(text: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
