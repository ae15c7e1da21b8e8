"""From a target of the configuration to a transport: names are resolved and credentials read here."""

import asyncio
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.config import Target
from ingest.errors import ConfigError, TransportError
from ingest.snmp.transport import Cell, Column, Transport

if TYPE_CHECKING:
    from ingest.snmp.gufo import GufoTransport
    from ingest.snmp.pysnmp_engine import PysnmpTransport

__all__ = ["Connection", "connect", "resolve"]


@dataclass
class Connection:
    """A transport that knows whether its device ever answered."""

    engine: Transport
    answered: bool = False

    async def walk(self, oid: str, expect: int = 0) -> Column:
        """As the engine walks."""
        cells = await self.engine.walk(oid, expect)
        self.answered = True
        return cells

    async def get(self, oids: Iterable[str]) -> dict[str, Cell]:
        """As the engine gets."""
        cells = await self.engine.get(oids)
        self.answered = True
        return cells

    def engine_id(self) -> bytes | None:
        """SNMPv3's engine identifier; the poller names devices that share one."""
        return self.engine.engine_id()

    def close(self) -> None:
        """Free the engine's socket."""
        self.engine.close()


async def connect(target: Target) -> Connection:
    """Make the engine that a target asks for, or the one that can do what it asks for; nothing is sent yet.

    Raises:
        ConfigError: no credentials, or not a target of SNMP.
        TransportError: the name cannot be resolved.
    """
    options = target.snmp
    if target.protocol != "snmp" or options is None:
        msg = f"{target.device} is asked over gNMI: this is for SNMP's targets"
        raise ConfigError(msg)
    user = options.read_user()
    community = "" if user else options.read_community()
    address = await resolve(target.address, target.port)
    engine = _engine(options.engine_to_use)
    return Connection(
        engine(
            address,
            target.port,
            community,
            options.version,
            options.timeout_s,
            options.retries,
            options.max_repetitions,
            user,
        )
    )


def _engine(name: str) -> "type[GufoTransport | PysnmpTransport]":
    if name == "gufo":
        from ingest.snmp.gufo import GufoTransport

        return GufoTransport
    from ingest.snmp.pysnmp_engine import PysnmpTransport  # a quarter of a second that gufo's users need not pay

    return PysnmpTransport


async def resolve(address: str, port: int) -> str:
    """An IP literal: gufo-snmp takes nothing else.

    Raises:
        TransportError: the name cannot be resolved.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(address, port, type=socket.SOCK_DGRAM)
    except OSError as error:
        msg = f"cannot resolve {address!r}: {error.strerror or error}"
        raise TransportError(msg) from None
    return str(found[0][4][0])
