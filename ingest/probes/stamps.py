"""UDP sockets whose packets carry times: taken by the NIC where it is set up for that, else by the kernel.

Linux's SO_TIMESTAMPING. Times of receipt come with the packet, those of sending on the socket's error queue, where
ICMP errors come, too. Nothing of the NIC is changed: it stamps where ``hwstamp_ctl`` or a PTP daemon has told it to.
"""

import errno
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

__all__ = ["Heard", "Refusal", "Sent", "StampSocket", "Times", "between"]

_SO_TIMESTAMPING: Final = 37
_MSG_ERRQUEUE: Final = 0x2000
_TX_HARDWARE, _TX_SOFTWARE, _RX_HARDWARE, _RX_SOFTWARE = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_SOFTWARE, _RAW_HARDWARE, _OPT_ID, _OPT_TSONLY = 1 << 4, 1 << 6, 1 << 7, 1 << 11
_RX: Final = _RX_SOFTWARE | _RX_HARDWARE | _SOFTWARE | _RAW_HARDWARE
_TX: Final = _TX_SOFTWARE | _TX_HARDWARE | _OPT_ID | _OPT_TSONLY
_TIMES: Final = struct.Struct("@6q")
_ERROR: Final = struct.Struct("@IBBBBII")
_ORIGIN_STAMP: Final = 4
_LATE_ERRORS: Final = (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EPROTO, errno.EACCES)
_BUFFER_BYTES: Final = 1 << 21
_BILLION: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Family:
    """How a version of IP names the same things [linux/errqueue.h, linux/in.h, linux/in6.h; RFC 792, RFC 4443].

    Attributes:
        level: of its socket options and ancillary data.
        recverr: that errors come to the error queue.
        hops: time to live of a packet.
        icmp: origin of errors.
        closed: type and code that say that nobody listens.
        exceeded: type that says that the time to live ended.
        by: where the address of whoever says so stands behind the error.
    """

    family: socket.AddressFamily
    level: int
    recverr: int
    hops: int
    icmp: int
    closed: tuple[int, int]
    exceeded: int
    by: slice


_V4: Final = _Family(socket.AF_INET, socket.IPPROTO_IP, 11, socket.IP_TTL, 2, (3, 3), 11, slice(4, 8))
_V6: Final = _Family(socket.AF_INET6, socket.IPPROTO_IPV6, 25, socket.IPV6_HOPLIMIT, 3, (1, 4), 3, slice(8, 24))


class Times(NamedTuple):
    """One moment by the kernel's clock and by the NIC's, in ns; 0 where that clock said nothing."""

    kernel: int
    hardware: int


class Heard(NamedTuple):
    """A packet that came."""

    data: bytes
    address: str
    port: int
    times: Times


class Sent(NamedTuple):
    """When the packet left that was the n-th of its socket."""

    number: int
    times: Times


class Refusal(NamedTuple):
    """A router or a host sent ICMP about a packet to `address` and `port`.

    Attributes:
        exceeded: its time to live ended at `by`; else nobody listens at the port (`refused`), or there is no way.
        quoted: of the packet, as much as came back with it.
    """

    address: str
    port: int
    by: str
    exceeded: bool
    refused: bool
    quoted: bytes


def between(start: Times, end: Times) -> tuple[int, str] | None:
    """Nanoseconds from one moment to another by the best clock that took both, and whose it is."""
    if start.hardware and end.hardware:
        return end.hardware - start.hardware, "hardware"
    if start.kernel and end.kernel:
        return end.kernel - start.kernel, "kernel"
    return None


@dataclass(slots=True)
class StampSocket:
    """A bound UDP socket.

    Attributes:
        stamped: whether the kernel tells times; else there are those of this process only.
    """

    socket: socket.socket
    address: str
    port: int
    stamped: bool
    ip: _Family
    numbered: int = 0

    @classmethod
    def bind(cls, address: str, port: int) -> "StampSocket":
        """Open one at an address of this host.

        Raises:
            OSError: the address is not of this host, or the port is taken.
        """
        ip = _V6 if ":" in address else _V4
        opened = socket.socket(ip.family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            opened.setsockopt(ip.level, ip.recverr, 1)
            opened.bind((address, port))
        except OSError:
            opened.close()
            raise
        stamped = True
        try:
            opened.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _RX | _TX)
        except OSError:
            stamped = False
        return cls(opened, address, port, stamped, ip)

    def send(self, data: bytes, address: str, port: int, *, ttl: int | None = None) -> int | None:
        """Send; the packet's number, as `Sent` will tell it, or None where the kernel refused."""
        ancillary = [(self.ip.level, self.ip.hops, struct.pack("@i", ttl))] if ttl else []
        for _ in range(2):  # an ICMP error of an earlier packet is told at the next call, once
            try:
                if ancillary:
                    self.socket.sendmsg([data], ancillary, 0, (address, port))
                else:
                    self.socket.sendto(data, (address, port))
            except OSError as error:
                if error.errno not in _LATE_ERRORS:
                    break
                continue
            self.numbered += 1
            return self.numbered - 1
        self._renumber()
        return None

    def _renumber(self) -> None:
        """A packet that was refused may have had a number: begin anew with both counts."""
        if self.stamped:
            self.socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, (_RX | _TX) & ~_OPT_ID)
            self.socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _RX | _TX)
            self.numbered = 0

    def receive(self) -> Heard | None:
        """The next packet; None where none waits."""
        while True:
            try:
                data, ancillary, _, (address, port, *_) = self.socket.recvmsg(512, 128)
            except BlockingIOError:
                return None
            except OSError:  # an ICMP error of an earlier packet
                continue
            return Heard(data, address, port, _times(ancillary) or Times(0, 0))

    def trouble(self) -> Sent | Refusal | None:
        """The next of the error queue: when a packet left, or what ICMP says of one; None where nothing waits."""
        while True:
            try:
                quoted, ancillary, _, name = self.socket.recvmsg(512, 512, _MSG_ERRQUEUE)
            except OSError:
                return None
            times = _times(ancillary)
            for level, kind, data in ancillary:
                if (level, kind) != (self.ip.level, self.ip.recverr) or len(data) < _ERROR.size:
                    continue
                _, origin, icmp, code, _, _, number = _ERROR.unpack_from(data)
                if origin == _ORIGIN_STAMP and times is not None:
                    return Sent(number, times)
                by = data[_ERROR.size :][self.ip.by]
                if origin == self.ip.icmp and name and len(by) == self.ip.by.stop - self.ip.by.start:
                    refused = (icmp, code) == self.ip.closed
                    told = socket.inet_ntop(self.ip.family, by)
                    return Refusal(name[0], name[1], told, icmp == self.ip.exceeded, refused, quoted)

    def close(self) -> None:
        """Give the port back."""
        with suppress(OSError):
            self.socket.close()


def _times(ancillary: list[tuple[int, int, bytes]]) -> Times | None:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPING and len(data) >= _TIMES.size:
            cells = _TIMES.unpack_from(data)
            return Times(cells[0] * _BILLION + cells[1], cells[4] * _BILLION + cells[5])
    return None
