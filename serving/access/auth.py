"""Who is asking, and what that allows; and where the service may be bound.

Tokens are looked up in memory, by their hash; the database is asked for them once in two seconds at most, so that a
revoked one is refused within that time. The environment may name one more, for the time before there are any.
"""

import asyncio
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Self

from serving.access.tokens import BOOTSTRAP, Scope, Token, TokenStore, digest
from serving.errors import OperatorError, ProblemError, ScopeError, ServingError, StoreError, TokenError

__all__ = ["Caller", "OperatorToken", "TokenBook", "allow", "bearer", "check_bind", "is_loopback"]

_VARIABLE: Final = "FORELIGHT_OPERATOR_TOKEN"
_FILE_VARIABLE: Final = "FORELIGHT_OPERATOR_TOKEN_FILE"
_SHORTEST: Final = 16
"""Characters; 16 random ones of base64 are 96 bits, out of reach of guessing over a network."""
_CHECK_EVERY_S: Final = 2.0
_TRUSTED_S: Final = 60.0
"""How long tokens are taken from memory while the database is away: a revocation could not be seen."""


@dataclass(frozen=True, slots=True)
class OperatorToken:
    """The hash of the environment's token; the token itself is not kept."""

    digest: str = field(repr=False)

    @classmethod
    def of(cls, token: str) -> Self:
        """Keep a token's hash.

        Raises:
            ServingError: the token is too short to keep anybody out.
        """
        if len(token) < _SHORTEST:
            msg = f"the operator token has {len(token)} characters; it needs {_SHORTEST} at least"
            raise ServingError(msg)
        return cls(digest(token))

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Self | None:
        """The token of ``FORELIGHT_OPERATOR_TOKEN`` or of the file that ``…_FILE`` names; None where neither is set.

        Raises:
            ServingError: the file cannot be read, or the token is too short.
        """
        if token := env.get(_VARIABLE, ""):
            return cls.of(token)
        if not (path := env.get(_FILE_VARIABLE, "")):
            return None
        try:
            return cls.of(Path(path).read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            msg = f"{_FILE_VARIABLE} names {path}, which cannot be read: {error}"
            raise ServingError(msg) from error


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever presented a valid token.

    Attributes:
        name: the token's; what the caller changes is noted under it.
        device: site and device that it may push samples of; None: any.
    """

    name: str
    scope: Scope
    token_id: str | None = None
    device: tuple[str, str] | None = None

    def speaks_for(self, site: str, device: str) -> None:
        """See that it may push samples of a device.

        Raises:
            ScopeError: its token is another device's.
        """
        if self.device is not None and self.device != (site, device):
            own = f"{self.device[1]} of site {self.device[0]}"
            msg = f"token {self.name} speaks for {own} alone, not for {device} of {site}"
            raise ScopeError(msg, scope=str(self.scope), needed=str(Scope.INGEST))


class TokenBook:
    """The valid tokens in memory.

    Args:
        store: where they are kept.
        bootstrap: the environment's, which may do everything.
        clock: what is now.
        monotonic: seconds that only grow; tests hand in their own.
    """

    def __init__(
        self,
        store: TokenStore,
        bootstrap: OperatorToken | None,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._bootstrap = {} if bootstrap is None else {bootstrap.digest: Caller(BOOTSTRAP, Scope.ADMIN)}
        self._clock = clock
        self._monotonic = monotonic
        self._known: Mapping[str, Token] = {}
        self._read_s = -math.inf
        self._tried_s = -math.inf
        self._lock = asyncio.Lock()

    async def caller(self, text: str) -> Caller | None:
        """Who has this token; None where it is none of ours, has expired or was revoked.

        Raises:
            StoreError: the tokens cannot be read, and were not lately.
        """
        return await self.caller_of(digest(text))

    async def caller_of(self, hashed: str) -> Caller | None:
        """As `caller`, by the token's hash.

        Raises:
            StoreError: the tokens cannot be read, and were not lately.
        """
        if (found := self._bootstrap.get(hashed)) is not None:
            return found
        token = (await self._tokens()).get(hashed)
        if token is None or not token.valid(self._clock()):
            return None
        bound = (token.site or "default", token.device) if token.device is not None else None
        return Caller(token.name, token.scope, token.token_id, bound)

    async def is_empty(self) -> bool:
        """Whether nobody could present a valid one."""
        now = self._clock()
        return not self._bootstrap and not any(token.valid(now) for token in (await self._tokens()).values())

    async def _tokens(self) -> Mapping[str, Token]:
        if self._monotonic() >= self._tried_s + _CHECK_EVERY_S:
            async with self._lock:
                if self._monotonic() >= self._tried_s + _CHECK_EVERY_S:
                    await self._read()
        return self._known

    async def _read(self) -> None:
        began_s = self._monotonic()
        try:
            self._known = await asyncio.to_thread(self._store.by_digest)
        except StoreError:
            if began_s >= self._read_s + _TRUSTED_S:
                raise
        else:
            self._read_s = began_s
        self._tried_s = began_s


def bearer(authorization: str) -> str | None:
    """The token of an ``Authorization`` header; None where it holds none.

    >>> bearer("Bearer abc"), bearer("Basic abc")
    ('abc', None)
    """
    scheme, _, presented = authorization.partition(" ")
    return presented.strip() or None if scheme.lower() == "bearer" else None


async def allow(caller: Caller | ProblemError | None, needed: Scope, book: TokenBook) -> Caller:
    """The caller, where its token allows what is asked for.

    Raises:
        TokenError: no valid token was presented.
        ScopeError: the token allows less.
        OperatorError: there is no token at all.
        StoreError: the tokens cannot be read.
    """
    if isinstance(caller, ProblemError):
        raise caller
    if caller is None:
        if await book.is_empty():
            msg = f"there is no token: `forelight token create` makes one, or set {_VARIABLE} where the service runs"
            raise OperatorError(msg)
        msg = "present a valid token as `Authorization: Bearer …`"
        raise TokenError(msg)
    if not caller.scope.allows(needed):
        msg = f"token {caller.name} has the scope {caller.scope}; this needs {needed}"
        raise ScopeError(msg, scope=str(caller.scope), needed=str(needed))
    return caller


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("leaf01")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_bind(host: str, *, has_token: bool) -> None:
    """Refuse to be reached from elsewhere without a token.

    Raises:
        ServingError: the address is not loopback and nobody has a token.
    """
    if not has_token and not is_loopback(host):
        msg = (
            f"binding {host} lets others in: make a token first (`forelight token create`), "
            f"or set {_VARIABLE} (or {_FILE_VARIABLE}), or bind 127.0.0.1"
        )
        raise ServingError(msg)
