"""SNMP v1 and v2c over pysnmp, the second engine: pure Python, slower by two orders, for what gufo-snmp cannot do."""

from dataclasses import dataclass, field
from typing import Any

from pysnmp.hlapi.v1arch.asyncio import (
    CommunityData,
    SnmpDispatcher,
    UdpTransportTarget,
    bulk_cmd,
    next_cmd,
)
from pysnmp.proto.rfc1902 import Null, ObjectIdentifier
from pysnmp.proto.rfc1905 import EndOfMibView, NoSuchInstance, NoSuchObject

from ingest.errors import TransportError
from ingest.transport import Cell, Column, Repetitions, WalkGuard

__all__ = ["PysnmpTransport"]

_TOO_BIG = 1


@dataclass
class PysnmpTransport:
    """Walks one device; attributes as those of `GufoTransport`."""

    address: str
    port: int
    community: str = field(repr=False)
    version: str = "2c"
    timeout_s: float = 3.0
    retries: int = 2
    max_repetitions: int = 25

    def __post_init__(self) -> None:
        self._repetitions = Repetitions(self.max_repetitions)
        self._dispatcher: SnmpDispatcher | None = None
        self._target: UdpTransportTarget | None = None

    async def walk(self, oid: str) -> Column:
        """All cells below `oid`."""
        guard = WalkGuard(oid)
        last = oid
        while True:
            rows = await self._ask(last)
            for found, value in rows:
                if isinstance(value, EndOfMibView) or not self._take(guard, found, value):
                    return guard.cells
                last = found
            if not rows:
                return guard.cells

    def _take(self, guard: WalkGuard, oid: str, value: Any) -> bool:
        if isinstance(value, NoSuchObject | NoSuchInstance | Null):
            return False
        return guard.take(oid, _cell(value))

    async def _ask(self, oid: str) -> list[tuple[str, Any]]:
        """One answer's rows after `oid`; fewer are asked for when the device falls silent or finds them too big."""
        for asked in self._repetitions.attempts(self.retries):
            error, status, rows = await self._request(oid, asked)
            if error is None and not status:
                self._repetitions.worked(asked)
                return [(str(name), value) for name, value in rows]
            if status and int(status) != _TOO_BIG:
                if self.version == "1":
                    return []  # noSuchName is version 1's end of the MIB
                msg = f"{self.address}:{self.port}: {status.prettyPrint()}"
                raise TransportError(msg)
        msg = f"no answer from {self.address}:{self.port}"
        raise TransportError(msg)

    async def _request(self, oid: str, max_repetitions: int) -> tuple[Any, Any, Any]:
        if self._target is None:
            self._dispatcher = SnmpDispatcher()
            self._target = await UdpTransportTarget.create((self.address, self.port), timeout=self.timeout_s, retries=0)
        auth = CommunityData(self.community, mpModel=0 if self.version == "1" else 1)
        at = (ObjectIdentifier(oid), Null(""))
        if self.version == "1":
            error, status, _, rows = await next_cmd(self._dispatcher, auth, self._target, at, lookupMib=False)
        else:
            error, status, _, rows = await bulk_cmd(
                self._dispatcher, auth, self._target, 0, max_repetitions, at, lookupMib=False
            )
        return error, status, rows

    def close(self) -> None:
        """Free the socket."""
        if self._dispatcher is not None:
            self._dispatcher.close()
            self._dispatcher = self._target = None


def _cell(value: Any) -> Cell:
    """A value of pysnmp as a plain one."""
    match type(value).__name__:
        case "ObjectIdentifier" | "ObjectIdentity" | "IpAddress":
            return str(value.prettyPrint())
        case "OctetString" | "Opaque" | "Bits":
            return bytes(value)
        case _:
            return int(value)
