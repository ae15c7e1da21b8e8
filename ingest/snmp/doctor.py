"""Why a device does not answer over SNMP, told as far as its agent lets on.

Agents are silent to a wrong community and to what they cannot decrypt, but a version 3 engine tells its identifier to
anybody, and reports a wrong user name, security level or digest. So this asks a few things more, one at a time.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import get_args

from pysnmp.proto import errind
from pysnmp.proto.rfc1905 import NoSuchInstance, NoSuchObject

from ingest.config import SnmpOptions, Target
from ingest.errors import ConfigError, TransportError
from ingest.snmp.ber import engine_id_in
from ingest.snmp.connect import resolve
from ingest.snmp.pysnmp_session import Answer, CommunitySession, Session, UserSession
from ingest.snmp.users import AuthProtocol, KeyExpansion, PrivProtocol, SnmpUser

__all__ = ["explain_silence"]

_SYS_UP_TIME = "1.3.6.1.2.1.1.3.0"

_WHO_ARE_YOU = bytes.fromhex(
    "303e 020103"
    " 3011 0204 464c0001 0203 00ffe3 040104 020103"  # reportable, the user-based security model
    " 0410 300e 0400 020100 020100 0400 0400 0400"  # no engine, no user
    " 3014 0400 0400 a00e 0204 464c0001 020100 020100 3000"
)
"""RFC 3414, 4: the request without engine and user that every version 3 engine answers with its identifier."""

_GUESS_S = 1.0
"""How long a guess waits for its answer."""

_ALIVE = "it answers now: packets were lost on the way, or answers that are too large for it (lower max_repetitions)"


async def explain_silence(target: Target) -> str:
    """One line for whoever runs `forelight collect --explain`.

    Raises:
        ConfigError: the target is not asked over SNMP, or its secrets cannot be read.
    """
    options = target.snmp
    if options is None:
        msg = f"{target.device} is not asked over SNMP"
        raise ConfigError(msg)
    user, where = options.read_user(), f"{target.address}:{target.port}"
    try:
        at = (await resolve(target.address, target.port), target.port)
    except TransportError as error:
        return str(error)
    try:
        engine = await _engine_id(at, options.timeout_s)
    except OSError as error:
        reason = "nothing listens on that UDP port" if isinstance(error, ConnectionError) else error.strerror
        return f"{where}: {reason}: SNMP is off there, or the address or port is wrong"
    if user is None:
        return f"{where}: {await _explain_community(at, options, answers_v3=engine is not None)}"
    if engine is None:
        return (
            f"{where}: no SNMPv3 engine answers, and they tell their engine ID to anybody: the address or port is "
            "wrong, something filters on the way, or version 3 is off"
        )
    return f"{where}: {await _explain_user(_Agent(at, options.timeout_s), user)} (engine ID {engine.hex()})"


async def _explain_community(at: tuple[str, int], options: SnmpOptions, *, answers_v3: bool) -> str:
    community = options.read_community()
    for version in (options.version, "1" if options.version == "2c" else "2c"):
        answer = await _ask(CommunitySession(*at, community, version, options.timeout_s))
        if answer.error is None and _shows_nothing(answer):
            return "the agent answers this community, but its view shows it nothing"
        if answer.error is None:
            return _ALIVE if version == options.version else f'it answers version "{version}" only'
    if answers_v3:
        return "SNMP runs there, but the community is wrong, or this host is not on the agent's access list"
    return (
        "silence: the address or port is wrong, something filters on the way, SNMP is off, or the community is wrong "
        "(agents do not answer those)"
    )


@dataclass(frozen=True)
class _Agent:
    """Who is asked as one user after the other."""

    at: tuple[str, int]
    timeout_s: float

    async def ask(self, user: SnmpUser) -> Answer:
        """Patiently."""
        return await _ask(UserSession(*self.at, user, self.timeout_s))

    async def guess(self, user: SnmpUser) -> Answer:
        """Once, and not for long: silence is the likely answer."""
        return await _ask(UserSession(*self.at, user, min(self.timeout_s, _GUESS_S)), times=1)


async def _explain_user(agent: _Agent, user: SnmpUser) -> str:
    answer = await agent.ask(user)
    match answer.error:
        case None if answer.status == "authorizationError":
            said = f"may see nothing at level {user.level} or in context {user.context!r}"
        case None if _shows_nothing(answer):
            said = "is answered, but the view that the agent has for it shows nothing"
        case None:
            return _ALIVE
        case errind.UnknownUserName():
            said = "is unknown to the agent"
        case errind.UnsupportedSecurityLevel():
            said = f"is known to the agent, but not for {user.level}"
        case errind.WrongDigest() | errind.AuthenticationFailure():
            said = await _explain_digest(user, agent)
        case errind.RequestTimedOut() if user.context and not (await agent.guess(replace(user, context=""))).error:
            said = f"is right, but the agent has no context {user.context!r}"
        case errind.RequestTimedOut() if user.priv_protocol:
            said = await _explain_encryption(user, agent)
        case error:
            said = f"gets no answer: {error}"
    return f"user {user.name!r} {said}"


async def _explain_digest(user: SnmpUser, agent: _Agent) -> str:
    for other in get_args(AuthProtocol):
        if other == user.auth_protocol:
            continue
        answer = await agent.guess(replace(user, auth_protocol=other, priv_protocol=None))
        if not isinstance(answer.error, errind.WrongDigest | errind.RequestTimedOut | errind.AuthenticationFailure):
            return f'has the right password, but auth_protocol is "{other}" there'
    return "is known to the agent, but the authentication password is wrong"


async def _explain_encryption(user: SnmpUser, agent: _Agent) -> str:
    """Silence to a known user: if he is believed without encryption, that is what is wrong."""
    answer = await agent.ask(replace(user, priv_protocol=None))
    if isinstance(answer.error, errind.RequestTimedOut):
        return "gets no answer: packets are lost on the way, or the agent's access list drops them"
    for other in get_args(PrivProtocol):
        for expansion in get_args(KeyExpansion) if other in {"aes192", "aes256"} else (user.key_expansion,):
            changed = replace(user, priv_protocol=other, key_expansion=expansion)
            if changed != user and (await agent.guess(changed)).error is None:
                fix = f'key_expansion = "{expansion}"' if other == user.priv_protocol else f'priv_protocol = "{other}"'
                return f"has the right passwords, but the agent wants {fix}"
    return "is believed, but not understood: the privacy password, protocol or key_expansion is wrong"


def _shows_nothing(answer: Answer) -> bool:
    """Every agent knows how long it has been up, unless it may not say."""
    return not answer.status and all(isinstance(value, NoSuchObject | NoSuchInstance) for _, value in answer.rows)


async def _ask(session: Session, times: int = 2) -> Answer:
    """One GET, sent up to so many times; the session is used up."""
    try:
        answer = await session.ask("get", [_SYS_UP_TIME])
        while isinstance(answer.error, errind.RequestTimedOut) and times > 1:
            times -= 1
            answer = await session.ask("get", [_SYS_UP_TIME])
        return answer
    finally:
        session.close()


async def _engine_id(at: tuple[str, int], timeout_s: float) -> bytes | None:
    """The identifier of the version 3 engine there; None for silence, and for another answer.

    Raises:
        OSError: the host cannot be reached, or says that nothing listens.
    """
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[bytes] = loop.create_future()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Ear(heard), remote_addr=at)
    try:
        for _ in range(2):
            transport.sendto(_WHO_ARE_YOU)
            done, _ = await asyncio.wait([heard], timeout=timeout_s)
            if done:
                return engine_id_in(heard.result())
        return None
    finally:
        transport.close()


class _Ear(asyncio.DatagramProtocol):
    """Hands the first datagram, or what the host says instead, to whoever waits."""

    def __init__(self, heard: "asyncio.Future[bytes]") -> None:
        self._heard = heard

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002 - asyncio's signature
        if not self._heard.done():
            self._heard.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self._heard.done():
            self._heard.set_exception(exc)
