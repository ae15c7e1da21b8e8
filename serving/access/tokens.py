"""API tokens: made, listed and revoked in the database, which holds their hashes only.

A token is 256 random bits behind a name of its own, so a plain SHA-256 of it can neither be guessed nor turned back.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import Engine, insert, or_, select, update

from serving.access.tables import tokens
from serving.alarms import utc_now
from serving.database import reading, writing
from serving.errors import ServingError

__all__ = ["BOOTSTRAP", "Scope", "Token", "TokenStore", "digest"]

_PREFIX: Final = "flt"  # scanners for leaked secrets find it by this
BOOTSTRAP: Final = "bootstrap"
"""Name under which the token of the environment acts; no other has it."""


class Scope(StrEnum):
    """What a token allows; each scope allows what those before it do, and `ingest` nothing but to push samples."""

    READ = "read"
    OPERATE = "operate"
    ADMIN = "admin"
    INGEST = "ingest"

    def allows(self, needed: "Scope") -> bool:
        """Whether whoever has this scope may do what needs another.

        >>> Scope.OPERATE.allows(Scope.READ), Scope.OPERATE.allows(Scope.ADMIN)
        (True, False)
        >>> Scope.OPERATE.allows(Scope.INGEST), Scope.INGEST.allows(Scope.READ), Scope.READ.allows(Scope.INGEST)
        (True, False, False)
        """
        if Scope.INGEST in (self, needed):
            return self in (needed, Scope.OPERATE, Scope.ADMIN)
        order = list(Scope)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is kept of a token.

    Attributes:
        token_id: in the token itself and no secret: it tells which one was found where it should not be.
        name: whoever uses it; changes are noted under it.
        expires_at: None where it never does.
        site, device: the one device that it may push samples of; None: any.
    """

    token_id: str
    name: str
    scope: Scope
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str | None = None
    site: str | None = None
    device: str | None = None

    def valid(self, now: datetime) -> bool:
        """Neither expired nor revoked."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class TokenStore:
    """The tokens of a database that is migrated.

    Args:
        engine: the alarm store's.
        clock: what is now.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._engine = engine
        self._clock = clock

    def create(
        self, name: str, scope: Scope, *, who: str, expires_at: datetime | None, device: tuple[str, str] | None = None
    ) -> tuple[Token, str]:
        """Make a token; its text is given here and never again.

        Args:
            name: whoever will use it.
            scope: what it allows.
            who: makes it.
            expires_at: None: never.
            device: site and device that it may speak for, of a token that only pushes samples.

        Raises:
            ServingError: the name is none, the time has passed, or a device is given with another scope.
        """
        now = self._clock()
        if not (name.isprintable() and 0 < len(name) <= tokens.c.name.type.length) or name == BOOTSTRAP:  # type: ignore[attr-defined]  # it is a String
            msg = f"{name!r} cannot be a token's name: 1 to 100 printable characters, and not {BOOTSTRAP!r}"
            raise ServingError(msg)
        if device is not None and not all(each.isprintable() and each for each in device):
            msg = f"{device[1]!r} at site {device[0]!r} is no host: name it as its samples do"
            raise ServingError(msg)
        if expires_at is not None and expires_at <= now:
            msg = f"a token that expired at {expires_at.isoformat()} would open nothing"
            raise ServingError(msg)
        if device is not None and scope is not Scope.INGEST:
            msg = f"a token is bound to a device with the scope {Scope.INGEST}: {scope} reaches beyond any device"
            raise ServingError(msg)
        token_id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        text = f"{_PREFIX}_{token_id}_{secret}"
        row: dict[str, object] = {"token_id": token_id, "name": name, "scope": scope.value, "digest": digest(text)}
        row |= {"created_at": now, "created_by": who, "expires_at": expires_at}
        row |= {} if device is None else {"site": device[0], "device": device[1]}
        with writing(self._engine) as connection:
            connection.execute(insert(tokens).values(row))
            made = connection.execute(select(tokens).where(tokens.c.token_id == token_id)).mappings().one()
        return _token(made), text

    def tokens(self) -> tuple[Token, ...]:
        """All that were ever made, in the order of their making."""
        with reading(self._engine) as connection:
            found = connection.execute(select(tokens).order_by(tokens.c.created_at, tokens.c.token_id)).mappings()
            return tuple(_token(row) for row in found)

    def by_digest(self) -> dict[str, Token]:
        """Those that are not revoked, by the hash of their text."""
        with reading(self._engine) as connection:
            found = connection.execute(select(tokens).where(tokens.c.revoked_at.is_(None))).mappings()
            return {row["digest"]: _token(row) for row in found}

    def any_valid(self) -> bool:
        """Whether somebody can get in."""
        now = self._clock()
        return any(token.valid(now) for token in self.tokens())

    def revoke(self, which: str, *, who: str) -> tuple[Token, ...]:
        """Revoke a token by its id, or all of a name; one that was revoked before stays as it was.

        Raises:
            ServingError: there is none.
        """
        named = or_(tokens.c.token_id == which, tokens.c.name == which)
        change = update(tokens).where(named, tokens.c.revoked_at.is_(None))
        with writing(self._engine) as connection:
            connection.execute(change.values(revoked_at=self._clock(), revoked_by=who))
            found = connection.execute(select(tokens).where(named)).mappings().all()
        if not found:
            msg = f"there is no token with the id or name {which!r}: `forelight token list` shows them"
            raise ServingError(msg)
        return tuple(_token(row) for row in found)


def digest(text: str) -> str:
    """The hash under which a token is kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _token(row: Mapping[Any, Any]) -> Token:
    values = {name: row[name] for name in Token.__slots__}
    return Token(**values | {"scope": Scope(row["scope"])})
