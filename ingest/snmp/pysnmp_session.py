"""A session with one agent over pysnmp: communities over its light architecture, version 3 over its whole engine."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from pysnmp.hlapi.v1arch import asyncio as v1arch
from pysnmp.hlapi.v3arch import asyncio as v3arch
from pysnmp.proto.rfc1902 import Null, ObjectIdentifier

from ingest.snmp.users import SnmpUser

__all__ = ["Answer", "CommunitySession", "Session", "UserSession"]

_AUTH = {
    None: v3arch.USM_AUTH_NONE,
    "md5": v3arch.USM_AUTH_HMAC96_MD5,
    "sha1": v3arch.USM_AUTH_HMAC96_SHA,
    "sha224": v3arch.USM_AUTH_HMAC128_SHA224,
    "sha256": v3arch.USM_AUTH_HMAC192_SHA256,
    "sha384": v3arch.USM_AUTH_HMAC256_SHA384,
    "sha512": v3arch.USM_AUTH_HMAC384_SHA512,
}
_PRIV = {
    None: v3arch.USM_PRIV_NONE,
    "des": v3arch.USM_PRIV_CBC56_DES,
    "aes128": v3arch.USM_PRIV_CFB128_AES,
    "aes192": v3arch.USM_PRIV_CFB192_AES_BLUMENTHAL,
    "aes256": v3arch.USM_PRIV_CFB256_AES_BLUMENTHAL,
}
_PRIV_CISCO = {"aes192": v3arch.USM_PRIV_CFB192_AES, "aes256": v3arch.USM_PRIV_CFB256_AES}

_HEARD = "rfc3414.processIncomingMsg"
"""pysnmp's name for the moment at which a version 3 message was taken for authentic."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        error: what pysnmp found wrong, silence included; None for an answer.
        status: name of the agent's error status; "" for none.
        rows: OID and value as pysnmp has it.
    """

    error: Exception | None
    status: str
    rows: list[tuple[str, Any]]


class Session(Protocol):
    """Sends one request and waits for its answer."""

    async def ask(self, command: str, oids: Sequence[str], repetitions: int = 0) -> Answer:
        """`command` is "get", "next" or "bulk"."""
        ...

    def engine_id(self) -> bytes | None:
        """Version 3's engine identifier, once it has answered."""
        ...

    def close(self) -> None:
        """Free the socket."""
        ...


class CommunitySession:
    """Versions 1 and 2c."""

    def __init__(self, address: str, port: int, community: str, version: str, timeout_s: float) -> None:
        self._at, self._timeout_s = (address, port), timeout_s
        self._community = v1arch.CommunityData(community, mpModel=0 if version == "1" else 1)
        self._dispatcher = v1arch.SnmpDispatcher()
        self._target: Any = None

    async def ask(self, command: str, oids: Sequence[str], repetitions: int = 0) -> Answer:
        """Send and wait."""
        if self._target is None:
            kind = v1arch.Udp6TransportTarget if ":" in self._at[0] else v1arch.UdpTransportTarget
            self._target = await kind.create(self._at, timeout=self._timeout_s, retries=0)
        send = getattr(v1arch, f"{command}_cmd")
        counts = (0, repetitions) if command == "bulk" else ()
        return _answer(
            await send(self._dispatcher, self._community, self._target, *counts, *_bindings(oids), lookupMib=False)
        )

    def engine_id(self) -> None:
        """Communities have none."""

    def close(self) -> None:
        """Free the socket."""
        with suppress(TypeError):  # pysnmp 7.1 tells a request in flight so with an argument too few
            self._dispatcher.close()


class UserSession:
    """Version 3."""

    def __init__(self, address: str, port: int, user: SnmpUser, timeout_s: float) -> None:
        self._at, self._timeout_s = (address, port), timeout_s
        self._user = _usm(user)
        self._context = v3arch.ContextData(contextName=user.context.encode())
        self._engine = v3arch.SnmpEngine()
        self._engine.observer.register_observer(self._heard, _HEARD)
        self._engine_id: bytes | None = None
        self._target: Any = None

    async def ask(self, command: str, oids: Sequence[str], repetitions: int = 0) -> Answer:
        """Send and wait."""
        if self._target is None:
            kind = v3arch.Udp6TransportTarget if ":" in self._at[0] else v3arch.UdpTransportTarget
            self._target = await kind.create(self._at, timeout=self._timeout_s, retries=0)
        send = getattr(v3arch, f"{command}_cmd")
        counts = (0, repetitions) if command == "bulk" else ()
        parties = (self._engine, self._user, self._target, self._context)
        return _answer(await send(*parties, *counts, *_bindings(oids), lookupMib=False))

    def engine_id(self) -> bytes | None:
        """Of the last message that was taken for authentic."""
        return self._engine_id

    def close(self) -> None:
        """Free the socket."""
        self._engine.close_dispatcher()

    def _heard(self, _engine: object, _point: str, seen: dict[str, Any], _context: object) -> None:
        self._engine_id = bytes(seen["securityEngineId"]) or None


def _usm(user: SnmpUser) -> Any:
    cisco = user.key_expansion == "cisco" and user.priv_protocol in _PRIV_CISCO
    return v3arch.UsmUserData(
        user.name,
        user.auth_password or None,
        user.priv_password or None,
        authProtocol=_AUTH[user.auth_protocol],
        privProtocol=_PRIV_CISCO[user.priv_protocol] if cisco and user.priv_protocol else _PRIV[user.priv_protocol],
    )


def _bindings(oids: Sequence[str]) -> list[tuple[ObjectIdentifier, Null]]:
    return [(ObjectIdentifier(oid), Null("")) for oid in oids]


def _answer(raw: tuple[Any, Any, Any, Any]) -> Answer:
    error, status, _, rows = raw
    return Answer(error, status.prettyPrint() if status else "", [(str(name), value) for name, value in rows])
