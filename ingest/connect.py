"""From a target of the configuration to a transport: names are resolved and credentials read here."""

import asyncio
import socket
from dataclasses import dataclass

from ingest.config import SnmpOptions, Target
from ingest.errors import ConfigError, TransportError
from ingest.transport import Column, Transport

__all__ = ["Connection", "connect"]


@dataclass
class Connection:
    """A transport that knows whether its device ever answered."""

    engine: Transport
    answered: bool = False

    async def walk(self, oid: str) -> Column:
        """As the engine walks."""
        cells = await self.engine.walk(oid)
        self.answered = True
        return cells

    def close(self) -> None:
        """Free the engine's socket."""
        self.engine.close()


async def connect(target: Target) -> Connection:
    """Make the engine that a target asks for; nothing is sent yet.

    Raises:
        ConfigError: no credentials, or a protocol that is not in this release.
        TransportError: the name cannot be resolved.
    """
    options = target.snmp
    if target.protocol != "snmp" or options is None:
        msg = 'protocol = "gnmi" is not in this release; it polls "snmp"'
        raise ConfigError(msg)
    community = options.read_community()
    address = await _resolve(target.address, target.port)
    return Connection(_ENGINES[options.engine](address, target.port, community, options))


def _gufo(address: str, port: int, community: str, options: SnmpOptions) -> Transport:
    from ingest.snmp_gufo import GufoTransport

    return GufoTransport(
        address, port, community, options.version, options.timeout_s, options.retries, options.max_repetitions
    )


def _pysnmp(address: str, port: int, community: str, options: SnmpOptions) -> Transport:
    from ingest.snmp_pysnmp import PysnmpTransport  # a quarter of a second that gufo's users need not pay

    return PysnmpTransport(
        address, port, community, options.version, options.timeout_s, options.retries, options.max_repetitions
    )


_ENGINES = {"gufo": _gufo, "pysnmp": _pysnmp}


async def _resolve(address: str, port: int) -> str:
    """An IP literal: gufo-snmp takes nothing else."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(address, port, type=socket.SOCK_DGRAM)
    except OSError as error:
        msg = f"cannot resolve {address!r}: {error.strerror or error}"
        raise TransportError(msg) from None
    return str(found[0][4][0])
