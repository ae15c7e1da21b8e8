"""Hears syslog over UDP (a datagram a message) and TCP (RFC 6587: messages behind their length, or line by line).

Only messages that say something of a port are kept, and of them only so many: whoever floods the socket fills nothing.
"""

import asyncio
import contextlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ingest.errors import ConfigError
from ingest.syslog.messages import Said, said
from ingest.syslog.options import SyslogOptions

__all__ = ["Heard", "Listener"]

_COUNTED: Final = re.compile(rb"(\d{1,7}) (?=<)")
_CHUNK: Final = 65_536
_IDLE_S: Final = 86_400.0
"""A sender that has nothing to say for a day has gone."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A message, who sent it, and when it came."""

    said: Said
    source: str
    received: datetime


class Listener:
    """Both sockets, and what came since it was taken last.

    Attributes:
        messages: that came, whatever they said.
        dropped: that would have been kept, had there been room.
    """

    def __init__(self, options: SyslogOptions) -> None:
        self._options = options
        self._waiting: list[Heard] = []
        self._datagrams: asyncio.DatagramTransport | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()
        self.messages = self.dropped = 0

    async def open(self) -> None:
        """Listen from now on.

        Raises:
            ConfigError: an address cannot be had.
        """
        loop, options = asyncio.get_running_loop(), self._options
        try:
            port = f"udp_port {options.udp_port}"
            if options.udp_port is not None:
                where = (options.host, options.udp_port)
                self._datagrams, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self), local_addr=where)
            port = f"tcp_port {options.tcp_port}"
            if options.tcp_port is not None:
                self._server = await asyncio.start_server(self._connected, options.host, options.tcp_port)
        except OSError as error:
            await self.close()
            msg = f"[syslog]: {port} on {options.host}: {error.strerror or error}"
            raise ConfigError(msg) from None

    async def close(self) -> None:
        """Listen no more; what came can still be taken."""
        if self._datagrams is not None:
            self._datagrams.close()
        if self._server is not None:
            self._server.close()
            for writer in list(self._connections):
                writer.close()
            await self._server.wait_closed()
        self._datagrams = self._server = None

    def take(self) -> list[Heard]:
        """What waits, each once."""
        taken, self._waiting = self._waiting, []
        return taken

    def hear(self, raw: bytes, source: str) -> None:
        """Take a message."""
        self.messages += 1
        text = raw[: self._options.max_message_bytes].decode("utf-8", "replace").strip("\0\r\n ")
        found = said(text)
        if found is None:
            return
        if len(self._waiting) >= self._options.max_waiting:
            self.dropped += 1
            return
        self._waiting.append(Heard(found, source, datetime.now(UTC)))

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = str(writer.get_extra_info("peername", ("",))[0])
        if len(self._connections) >= self._options.max_connections:
            writer.close()
            return
        self._connections.add(writer)
        try:
            await self._read(reader, source)
        except (OSError, TimeoutError):
            pass  # a sender that is gone
        finally:
            self._connections.discard(writer)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader, source: str) -> None:
        held, skips = b"", False
        while chunk := await asyncio.wait_for(reader.read(_CHUNK), _IDLE_S):
            messages, held = _split(held + chunk)
            for number, message in enumerate(messages):
                if not (skips and number == 0):
                    self.hear(message, source)
            skips = skips and not messages
            if len(held) > self._options.max_message_bytes + _CHUNK:  # a line without end: its beginning is its message
                if not skips:
                    self.hear(held, source)
                held, skips = b"", True
        if held and not skips:
            self.hear(held, source)


def _split(raw: bytes) -> tuple[list[bytes], bytes]:
    """Whole messages, and what is left of one that has not come whole."""
    found: list[bytes] = []
    while raw:
        if counted := _COUNTED.match(raw):
            end = counted.end() + int(counted[1])
            if len(raw) < end:
                break
            found.append(raw[counted.end() : end])
            raw = raw[end:].lstrip(b"\r\n")
            continue
        line, ended, rest = raw.partition(b"\n")
        if not ended:
            break
        if line.strip():
            found.append(line)
        raw = rest
    return found, raw


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        """A datagram is a message."""
        self._listener.hear(data, str(addr[0]))
